// NumPy's arrays as views of memory, and views of memory as NumPy's arrays; nothing is copied.
//
// NumPy is not needed to build this, and imported when the first array is met.
#ifndef TESSERA_PYTHON_NUMPY_H_
#define TESSERA_PYTHON_NUMPY_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "tessera/core/dtype.h"
#include "tessera/core/strided.h"

namespace tessera::python {

// Adds the class of objects that arrays made here look at.
void BindMemory(nanobind::module_& module);

bool IsNumpyArray(nanobind::handle object);

// numpy.dtype of an element type; ml_dtypes has those that NumPy lacks.
nanobind::object NumpyDtype(DType dtype);

// The element type of a numpy.dtype in this machine's byte order; nullopt: we have none such.
std::optional<DType> DTypeOf(nanobind::handle numpy_dtype);

// The memory of an array whose dtype is DTypeOf(array.dtype).
ConstStridedView ViewOfNumpy(nanobind::handle array, DType dtype);

// An array that looks at `view` and keeps `owner`.
nanobind::object NumpyOf(const ConstStridedView& view, DType dtype,
                         std::shared_ptr<const void> owner, bool writable);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_NUMPY_H_
