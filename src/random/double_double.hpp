// Error-free steps on doubles: a sum or a product as the rounded result and its exact error, with +, -, * only
// (Dekker 1971, Knuth TAOCP 2, 4.2.2). Only for sources compiled with -ffp-contract=off.
#pragma once

#include <bit>
#include <cstdint>

namespace headrace::math::detail {

struct DoubleDouble {
  double high;
  double low;
};

inline double from_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::uint64_t to_bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline double magnitude(double x) { return from_bits(to_bits(x) & ~(std::uint64_t{1} << 63)); }
inline bool negative(double x) { return (to_bits(x) >> 63) != 0; }

inline constexpr double infinity = __builtin_huge_val();

/// 2^e for -1022 <= e <= 1023.
inline double power_of_two(int e) { return from_bits(static_cast<std::uint64_t>(e + 1023) << 52); }

/// a + b exactly, for any a and b.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// a + b exactly, where |a| >= |b| or a == 0.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a * b exactly, for |a|, |b| < 2^996 and a product above 2^-969.
inline DoubleDouble two_product(double a, double b) {
  constexpr double splitter = 134217729;  // 2^27 + 1
  const double at = a * splitter, bt = b * splitter;
  const double ah = at - (at - a), bh = bt - (bt - b);
  const double al = a - ah, bl = b - bh;
  const double product = a * b;
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

}  // namespace headrace::math::detail
