#include "tessera/inspect/values_text.h"

#include <algorithm>
#include <memory>

#include "tessera/core/status.h"
#include "tessera/inspect/element_format.h"
#include "tessera/inspect/number.h"

namespace tessera::inspect {
namespace {

constexpr std::string_view kDots = "...";

// Puts brackets around elements, and breaks lines.
class Layout {
 public:
  Layout(const Values& values, int width)
      : values_(values),
        width_(static_cast<size_t>(std::max(1, width))),
        strides_(RowMajorStrides(values.held, DTypeBytes(values.dtype))),
        format_(MakeElementFormat(values.dtype, values.bytes(), values.shape.empty())) {}

  std::string Text() const { return TextOf(values_.elements.get(), 0, 1, width_); }

 private:
  // Of the part that begins at `data` and has the dimensions from `dimension` on; lines after the
  // first begin with `indent` spaces.
  std::string TextOf(const std::byte* data, size_t dimension, size_t indent, size_t width) const {
    if (dimension == values_.shape.size()) return format_->Text(data);
    const bool last = dimension + 1 == values_.shape.size();
    const std::string inside =
        last ? Line(data, dimension, indent, width) : Rows(data, dimension, indent, width);
    return Concat("[", inside.substr(indent), "]");
  }

  std::string Rows(const std::byte* data, size_t dimension, size_t indent, size_t width) const {
    const std::string margin(indent, ' ');
    const std::string between(values_.shape.size() - dimension - 1, '\n');
    std::string text;
    for (int64_t i = 0; i < values_.held[dimension]; ++i) {
      if (i > 0) text += between;
      if (GapAt(dimension, i)) text += Concat(margin, kDots, between);
      text += margin;
      text += TextOf(data + i * strides_[dimension], dimension + 1, indent + 1, width - 1);
    }
    return text;
  }

  std::string Line(const std::byte* data, size_t dimension, size_t indent, size_t width) const {
    std::string text;
    std::string line(indent, ' ');
    for (int64_t i = 0; i < values_.held[dimension]; ++i) {
      if (i > 0) line += ' ';
      if (GapAt(dimension, i)) {
        Extend(text, line, kDots, indent, width - 1);
        line += ' ';
      }
      Extend(text, line, format_->Text(data + i * strides_[dimension]), indent, width - 1);
    }
    return text + line;
  }

  static void Extend(std::string& text, std::string& line, std::string_view word, size_t indent,
                     size_t width) {
    if (line.size() + word.size() > width && line.size() > indent) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += Concat(line, "\n");
      line.assign(indent, ' ');
    }
    line += word;
  }

  bool GapAt(size_t dimension, int64_t i) const {
    return i == kEdge && values_.held[dimension] < values_.shape[dimension];
  }

  const Values& values_;
  const size_t width_;
  const Dims strides_;
  const std::unique_ptr<ElementFormat> format_;
};

class JsonWriter {
 public:
  JsonWriter(const Values& values, TextSink sink)
      : values_(values),
        sink_(sink),
        strides_(RowMajorStrides(values.held, DTypeBytes(values.dtype))) {}

  void Write() {
    WritePart(values_.elements.get(), 0);
    sink_(text_);
  }

 private:
  static constexpr size_t kEnough = size_t{1} << 16;

  void WritePart(const std::byte* data, size_t dimension) {
    if (dimension == values_.shape.size()) return WriteElement(data);
    text_ += '[';
    for (int64_t i = 0; i < values_.shape[dimension]; ++i) {
      if (i > 0) text_ += ',';
      WritePart(data + i * strides_[dimension], dimension + 1);
    }
    text_ += ']';
    if (text_.size() < kEnough) return;
    sink_(text_);
    text_.clear();
  }

  void WriteElement(const std::byte* data) {
    const DType dtype = values_.dtype;
    const DType part = PartDType(dtype);
    if (dtype == DType::kBool) {
      text_ += *data == std::byte{0} ? "false" : "true";
    } else if (part != dtype) {
      const std::byte* imaginary = data + DTypeBytes(part);
      text_ += Concat("[", JsonText(NumberAt(part, data), part), ",",
                      JsonText(NumberAt(part, imaginary), part), "]");
    } else {
      text_ += JsonText(NumberAt(dtype, data), dtype);
    }
  }

  const Values& values_;
  TextSink sink_;
  const Dims strides_;
  std::string text_;
};

}  // namespace

std::string ValuesText(const Values& values, int width) {
  // NumPy tells no empty array from another.
  if (values.elements == nullptr) return "[]";
  return Layout(values, width).Text();
}

void WriteValuesJson(const Values& values, TextSink sink) { JsonWriter(values, sink).Write(); }

}  // namespace tessera::inspect
