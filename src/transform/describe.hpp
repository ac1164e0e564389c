// Texts of option types that only a few ops have, beside those of options.hpp.
#pragma once

#include <headrace/transform/options.hpp>
#include <optional>
#include <string>

namespace headrace::detail {

inline std::string option_text(DType dtype) { return option_text(name_of(dtype)); }

// The value, or null where there is none.
template <class T>
std::string optional_text(const std::optional<T>& value) {
  return value ? option_text(*value) : "null";
}

}  // namespace headrace::detail
