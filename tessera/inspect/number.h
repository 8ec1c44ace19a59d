// Numbers as elements of arrays have them, and the shortest text that means the same element.
#ifndef TESSERA_INSPECT_NUMBER_H_
#define TESSERA_INSPECT_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "tessera/core/dtype.h"

namespace tessera::inspect {

// Integers keep all of their 64 bits, which a double does not have.
using Number = std::variant<int64_t, uint64_t, double>;

double AsDouble(const Number& number);

// The element at `element`, of any dtype but a complex one: a double for floats, an int64_t for
// bool and signed integers, a uint64_t for unsigned ones.
Number NumberAt(DType dtype, const std::byte* element);

// The float type of a complex dtype's two halves; any other dtype itself.
DType PartDType(DType dtype);

// digits[0].digits[1]digits[2]... * 10^exponent.
struct Decimal {
  bool negative = false;
  std::string digits;  // at least one; no zeros at the end, but for zero itself
  int exponent = 0;
};

// The fewest digits that give `value` back when they are read as an element of `dtype`.
// REQUIRES: `value` is finite and one that the float type `dtype` has.
Decimal ShortestDecimal(double value, DType dtype);

// As people write a float: "0.1", "1e-07", "nan", "-inf"; as ShortestDecimal has it.
std::string FloatText(double value, DType dtype);

// A number of an array of `dtype`, as FloatText or in all digits.
std::string NumberText(const Number& number, DType dtype);

// The same as a JSON value.  JSON has no NaN and no infinities: these are the strings "NaN",
// "Infinity" and "-Infinity".
std::string JsonText(const Number& number, DType dtype);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_NUMBER_H_
