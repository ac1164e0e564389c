// A random word as a normal deviate: which tail probability a word means, and one double's arithmetic for the formulas.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace headrace::detail {

/// A tail probability below this goes through normal_tail, the others through normal_central: AS 241's |p| > 0.425.
inline constexpr double normal_tail_below = 0.075;

struct ScalarArithmetic {
  using V = double;
  V set(double x) const { return x; }
  V add(V a, V b) const { return a + b; }
  V sub(V a, V b) const { return a - b; }
  V mul(V a, V b) const { return a * b; }
  V div(V a, V b) const { return a / b; }
  V sqrt(V a) const { return std::sqrt(a); }
  bool any_above(V a, double limit) const { return a > limit; }
  V if_above(V a, double limit, V yes, V no) const { return a > limit ? yes : no; }
  /// x = m * 2^k with m in [0.707, 1.415); returns k, for positive normal x.
  V split(V x, V& m) const {
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t offset = bits - log_origin;
    m = std::bit_cast<double>(bits - (offset & exponent_mask));
    return static_cast<double>(offset >> 52);
  }
  static constexpr std::int64_t log_origin = 0x3FE6A09E00000000;
  static constexpr std::int64_t exponent_mask = -(std::int64_t{1} << 52);
};

#include "normal_formulas.inc"

/// The tail probability of a word or of two: the middle of one of 2^31 (2^52) equal slices of (0, 1/2); exact.
/// The lowest bit is the sign.
inline double normal_q(std::uint32_t word) { return (2.0 * (word >> 1) + 1) * 0x1p-33; }
inline double normal_q(std::uint64_t word) {
  return (2.0 * static_cast<double>(static_cast<std::int64_t>(word >> 12)) + 1) * 0x1p-54;
}

/// The standard normal deviate of a word (32 or 64 bits).
template <class Word>
inline double normal_deviate(Word word) {
  const double q = normal_q(word);
  const double z =
      q < normal_tail_below ? normal_tail(ScalarArithmetic{}, q) : normal_central(ScalarArithmetic{}, 0.5 - q);
  return (word & 1) != 0 ? -z : z;
}

}  // namespace headrace::detail
