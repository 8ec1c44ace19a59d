// Tensors of any library that speaks DLPack, as NumPy's arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/core/status.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/numpy.h"
#include "tessera/python/py_object.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

// DLPack's own numbers of element types, which the header here may be too old to name.
enum Code : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E3m4 = 7,
  kFloat8E4m3 = 8,
  kFloat8E4m3b11fnuz = 9,
  kFloat8E4m3fn = 10,
  kFloat8E4m3fnuz = 11,
  kFloat8E5m2 = 12,
  kFloat8E5m2fnuz = 13,
  kFloat8E8m0fnu = 14,
};

std::optional<DType> WideType(uint8_t code, uint8_t bits) {
  switch (code * 256 + bits) {
    case kInt * 256 + 8:
      return DType::kInt8;
    case kInt * 256 + 16:
      return DType::kInt16;
    case kInt * 256 + 32:
      return DType::kInt32;
    case kInt * 256 + 64:
      return DType::kInt64;
    case kUInt * 256 + 8:
      return DType::kUint8;
    case kUInt * 256 + 16:
      return DType::kUint16;
    case kUInt * 256 + 32:
      return DType::kUint32;
    case kUInt * 256 + 64:
      return DType::kUint64;
    case kFloat * 256 + 16:
      return DType::kFloat16;
    case kFloat * 256 + 32:
      return DType::kFloat32;
    case kFloat * 256 + 64:
      return DType::kFloat64;
    case kBfloat * 256 + 16:
      return DType::kBfloat16;
    case kComplex * 256 + 64:
      return DType::kComplex64;
    case kComplex * 256 + 128:
      return DType::kComplex128;
    case kBool * 256 + 8:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

std::optional<DType> TypeOf(const nb::dlpack::dtype& type) {
  if (type.lanes != 1) return std::nullopt;
  if (type.bits != 8) return WideType(type.code, type.bits);
  switch (type.code) {
    case kFloat8E3m4:
      return DType::kFloat8E3m4;
    case kFloat8E4m3b11fnuz:
      return DType::kFloat8E4m3b11fnuz;
    case kFloat8E4m3fn:
      return DType::kFloat8E4m3fn;
    case kFloat8E4m3fnuz:
      return DType::kFloat8E4m3fnuz;
    case kFloat8E5m2:
      return DType::kFloat8E5m2;
    case kFloat8E5m2fnuz:
      return DType::kFloat8E5m2fnuz;
    case kFloat8E8m0fnu:
      return DType::kFloat8E8m0fnu;
    default:
      return WideType(type.code, type.bits);
  }
}

// Looks at the tensor's memory and keeps it.
nb::object FromDlpack(const nb::ndarray<nb::ro>& tensor) {
  const std::optional<DType> dtype = TypeOf(tensor.dtype());
  if (!dtype.has_value()) {
    RaiseTypeError("", Concat("elements of DLPack's type ", int{tensor.dtype().code}, " with ",
                              int{tensor.dtype().bits}, " bits cannot be saved"));
  }
  if (tensor.device_type() != nb::device::cpu::value) {
    throw nb::buffer_error("it is not in host memory");
  }
  ConstStridedView view;
  view.data = static_cast<const std::byte*>(tensor.data());
  view.element_bytes = DTypeBytes(*dtype);
  for (size_t i = 0; i < tensor.ndim(); ++i) {
    view.shape.push_back(static_cast<int64_t>(tensor.shape(i)));
    view.strides.push_back(tensor.stride(i) * view.element_bytes);
  }
  auto kept = std::make_shared<nb::ndarray<nb::ro>>(tensor);
  return NumpyOf(view, *dtype, std::move(kept), false);
}

}  // namespace

void BindDlpack(nb::module_& module) {
  module.def("from_dlpack", &FromDlpack, nb::arg("tensor"),
             "A NumPy array that looks at the memory of a tensor on the host.");
}

}  // namespace tessera::python
