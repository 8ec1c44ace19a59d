#include "tessera/core/box.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera {

absl::StatusOr<Box> Box::Make(DimsView origin, DimsView shape) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  if (origin.size() != shape.size()) {
    return InvalidArgument("box origin ", ShapeText(origin), " and shape ", ShapeText(shape),
                           " differ in rank");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t end = 0;
    if (__builtin_add_overflow(origin[i], shape[i], &end)) {
      return InvalidArgument("box origin ", ShapeText(origin), " with shape ", ShapeText(shape),
                             ": the end of dimension ", i, " does not fit 63 bits");
    }
  }
  Box box;
  box.origin_.assign(origin.begin(), origin.end());
  box.shape_.assign(shape.begin(), shape.end());
  return box;
}

Box Box::Whole(DimsView shape) {
  Box box;
  box.origin_.assign(shape.size(), 0);
  box.shape_.assign(shape.begin(), shape.end());
  return box;
}

bool Box::empty() const { return std::find(shape_.begin(), shape_.end(), 0) != shape_.end(); }

std::string Box::Text() const {
  std::string text = "[";
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ',';
    text += Concat(begin(i), ":", end(i));
  }
  return text + "]";
}

Box Intersect(const Box& a, const Box& b) {
  TESSERA_CHECK(a.rank() == b.rank());
  Box result = a;
  for (int i = 0; i < a.rank(); ++i) {
    const int64_t begin = std::max(a.begin(i), b.begin(i));
    const int64_t end = std::min(a.end(i), b.end(i));
    result.origin_[i] = begin;
    result.shape_[i] = std::max<int64_t>(0, end - begin);
  }
  return result;
}

Box Cover(const Box& a, const Box& b) {
  TESSERA_CHECK(a.rank() == b.rank());
  if (a.empty()) return b;
  if (b.empty()) return a;
  Box result = a;
  for (int i = 0; i < a.rank(); ++i) {
    const int64_t begin = std::min(a.begin(i), b.begin(i));
    result.origin_[i] = begin;
    result.shape_[i] = std::max(a.end(i), b.end(i)) - begin;
  }
  return result;
}

absl::StatusOr<Box> Translate(const Box& box, DimsView offset) {
  TESSERA_CHECK(static_cast<size_t>(box.rank()) == offset.size());
  Dims origin = box.origin_;
  for (int i = 0; i < box.rank(); ++i) {
    if (__builtin_add_overflow(origin[i], offset[i], &origin[i])) {
      return InvalidArgument("box ", box.Text(), " moved by ", ShapeText(offset),
                             ": the origin of dimension ", i, " does not fit 63 bits");
    }
  }
  return Box::Make(origin, box.shape_);
}

Box RelativeTo(const Box& box, DimsView origin) {
  TESSERA_CHECK(static_cast<size_t>(box.rank()) == origin.size());
  Box result = box;
  for (int i = 0; i < box.rank(); ++i) result.origin_[i] -= origin[i];
  return result;
}

bool Contains(const Box& outer, const Box& inner) {
  TESSERA_CHECK(outer.rank() == inner.rank());
  if (inner.empty()) return true;
  for (int i = 0; i < outer.rank(); ++i) {
    if (inner.begin(i) < outer.begin(i) || inner.end(i) > outer.end(i)) return false;
  }
  return true;
}

}  // namespace tessera
