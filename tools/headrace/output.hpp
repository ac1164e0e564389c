// JSON on standard output. File names and header texts need not be UTF-8: what is not is replaced, never an error.
#pragma once

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace headrace::tool {

inline void print_json(const nlohmann::ordered_json& j) {
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// JSON has no NaN and no infinity: they become null.
inline nlohmann::ordered_json json_number(double v) {
  return std::isfinite(v) ? nlohmann::ordered_json(v) : nlohmann::ordered_json();
}

}  // namespace headrace::tool
