// Values as text: for people in the manner of NumPy's print, for programs as JSON.
#ifndef TESSERA_INSPECT_VALUES_TEXT_H_
#define TESSERA_INSPECT_VALUES_TEXT_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "tessera/inspect/values.h"

namespace tessera::inspect {

// Takes the next piece of a text that may be long.
using TextSink = absl::FunctionRef<void(std::string_view)>;

inline constexpr int kTextWidth = 75;

// What numpy.array2string says with floatmode='unique', broken into lines of at most `width`
// characters where elements allow; without an end of line.  Types of ml_dtypes are written as those
// of NumPy are.
std::string ValuesText(const Values& values, int width = kTextWidth);

// Nested lists; a scalar is a value alone.  Numbers are the shortest that are read back as the same
// element; NaN and infinities are the strings "NaN", "Infinity" and "-Infinity", a complex number
// is a list of its halves, a bool is true or false.  REQUIRES: all of the values are held.
void WriteValuesJson(const Values& values, TextSink sink);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_VALUES_TEXT_H_
