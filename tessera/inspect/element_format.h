// How elements are written so that columns of them line up, in the manner of NumPy.
#ifndef TESSERA_INSPECT_ELEMENT_FORMAT_H_
#define TESSERA_INSPECT_ELEMENT_FORMAT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tessera/core/dtype.h"

namespace tessera::inspect {

class ElementFormat {
 public:
  virtual ~ElementFormat() = default;

  // Of the same width for every element.
  virtual std::string Text(const std::byte* element) const = 0;
};

// Fits all of `elements`.  Floats have as many digits as tell them from their neighbours, an
// exponent where a plain number would be long, and lined up points.  `scalar`: there is one element
// and no column.
std::unique_ptr<ElementFormat> MakeElementFormat(DType dtype, std::span<const std::byte> elements,
                                                 bool scalar);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_ELEMENT_FORMAT_H_
