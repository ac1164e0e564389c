// One element from one type to another: the rules of Tensor::to().
//
// Floats to integers: toward zero, clamped, NaN becomes 0. Integers: clamped. To f16 and bf16: one rounding to nearest
// even, done on the bits, so that neither the host's rounding mode nor an intermediate float has a say.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <headrace/tensor/dtype.hpp>
#include <limits>
#include <type_traits>
#include <utility>

namespace headrace::detail {

inline float to_float(Half h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu, fraction = h.bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact, and normal or zero
  return sign ? -magnitude : magnitude;
}
inline float to_float(BFloat16 b) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }

// binary64 -> a 16-bit format of the given split, rounded to nearest even.
template <int ExponentBits, int FractionBits>
std::uint16_t narrow_float(double v) noexcept {
  static_assert(1 + ExponentBits + FractionBits == 16);
  constexpr std::uint32_t infinity = ((1u << ExponentBits) - 1) << FractionBits;
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 15;
  const auto exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff)
    return static_cast<std::uint16_t>(sign | infinity | (fraction ? 1u << (FractionBits - 1) : 0u));

  // The exponent field the result would have; from 0 down the result is subnormal and loses further bits.
  const int field = exponent - 1023 + ((1 << (ExponentBits - 1)) - 1);
  const int shift = 52 - FractionBits + (field < 1 ? 1 - field : 0);
  if (exponent == 0 || shift > 53) return static_cast<std::uint16_t>(sign);  // below half of the smallest subnormal
  const std::uint64_t value = fraction | (std::uint64_t{1} << 52);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1), rest = value & (2 * half - 1);
  std::uint64_t kept = value >> shift;
  kept += rest > half || (rest == half && (kept & 1));
  // A normal `kept` carries the implicit bit, which counts the exponent up by one; so does a carry out of the rounding.
  const std::uint64_t result = (static_cast<std::uint64_t>(field < 1 ? 0 : field - 1) << FractionBits) + kept;
  return static_cast<std::uint16_t>(sign | (result < infinity ? static_cast<std::uint32_t>(result) : infinity));
}

// A double that rounds to 16-bit formats as v does. Beyond 2^53 the bits that a double cannot hold are or-ed into its
// last one (rounding to odd), which keeps a value just off a tie off the tie.
template <class From>
double sticky_double(From v) noexcept {
  if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
    bool negative = false;
    auto magnitude = static_cast<std::uint64_t>(v);
    if constexpr (std::is_signed_v<From>) {
      negative = v < 0;
      if (negative) magnitude = 0 - magnitude;
    }
    constexpr std::uint64_t low = 0x7ff;
    if (magnitude >> 53) magnitude = (magnitude & ~low) | ((magnitude & low) ? low + 1 : 0);
    const auto d = static_cast<double>(magnitude);
    return negative ? -d : d;
  } else {
    return static_cast<double>(v);
  }
}

template <class To, class From>
To convert(From v) noexcept {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return convert<To>(to_float(v));
  else if constexpr (std::is_same_v<To, Half>)
    return {narrow_float<5, 10>(sticky_double(v))};
  else if constexpr (std::is_same_v<To, BFloat16>)
    return {narrow_float<8, 7>(sticky_double(v))};
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(v);
  else if constexpr (std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    // 2^digits is exact in both formats, so the comparisons are too.
    const From upper = static_cast<From>(std::uint64_t{1} << (Limits::digits - 1)) * From{2};
    const From lower = Limits::is_signed ? -upper : From{0};
    if (std::isnan(v)) return To{0};
    if (v >= upper) return Limits::max();
    if (v <= lower) return Limits::min();
    return static_cast<To>(v);
  } else {
    if (std::cmp_greater(v, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (std::cmp_less(v, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  }
}

}  // namespace headrace::detail
