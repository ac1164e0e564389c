// Numbers as text for messages and notes, the same in every locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace headrace::detail {

// The shortest text that reads back as the same double; "nan", "inf", "-inf".
inline std::string number(double v) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

inline std::string hex_byte(std::uint8_t b) {
  constexpr char digits[] = "0123456789abcdef";
  return {digits[b >> 4], digits[b & 15]};
}

}  // namespace headrace::detail
