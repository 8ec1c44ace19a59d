// The keyword arguments of a Python function, as C++ wants them.
#ifndef TESSERA_PYTHON_OPTION_READER_H_
#define TESSERA_PYTHON_OPTION_READER_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_object.h"

namespace tessera::python {

// What a Python programmer calls the type.
template <typename T>
inline constexpr std::string_view kPythonName = "something else";
template <>
inline constexpr std::string_view kPythonName<bool> = "a bool";
template <>
inline constexpr std::string_view kPythonName<int64_t> = "an int of at most 64 bits";
template <>
inline constexpr std::string_view kPythonName<double> = "a float";
template <>
inline constexpr std::string_view kPythonName<std::string> = "a str";
template <>
inline constexpr std::string_view kPythonName<std::vector<std::string>> = "a list of str";
template <>
inline constexpr std::string_view kPythonName<nanobind::bytes> = "bytes";
template <>
inline constexpr std::string_view kPythonName<nanobind::dict> = "a dict";

// The value as a T; a TypeError that begins with `name` if it is none.
template <typename T>
T CastOption(std::string_view name, nanobind::handle value) {
  T result;
  if (!nanobind::try_cast<T>(value, result)) {
    const auto type = nanobind::cast<std::string>(nanobind::inst_name(value));
    RaiseTypeError(name, Concat(kPythonName<T>, " is expected, not ", type));
  }
  return result;
}

// What is None is as if it were not given.
class OptionReader {
 public:
  explicit OptionReader(const nanobind::dict& given) : given_(given) {}

  std::optional<nanobind::object> Find(const char* name) const {
    if (!given_.contains(name)) return std::nullopt;
    nanobind::object value = nanobind::borrow(given_[name]);
    if (value.is_none()) return std::nullopt;
    return value;
  }

  template <typename T>
  std::optional<T> FindAs(const char* name) const {
    const auto value = Find(name);
    if (!value.has_value()) return std::nullopt;
    return CastOption<T>(name, *value);
  }

  template <typename T>
  T Get(const char* name, T otherwise) const {
    const auto value = Find(name);
    return value.has_value() ? CastOption<T>(name, *value) : otherwise;
  }

  std::optional<KeptObject> Function(const char* name) const {
    const auto value = Find(name);
    if (!value.has_value()) return std::nullopt;
    if (PyCallable_Check(value->ptr()) == 0) {
      const auto type = nanobind::cast<std::string>(nanobind::inst_name(*value));
      RaiseTypeError(name, Concat("a function is expected, not ", type));
    }
    return KeptObject(*value);
  }

 private:
  const nanobind::dict& given_;
};

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_OPTION_READER_H_
