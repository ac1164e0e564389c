// sin and cos. The argument is reduced with integers (Payne and Hanek 1983): the product with the right 192 digits of
// 2/pi, modulo 4, so that every finite argument is as good as a small one.
#include <headrace/random/math.hpp>

#include "double_double.hpp"
#include "math_tables.hpp"

namespace headrace::math {

namespace {

using namespace detail;
__extension__ using uint128 = unsigned __int128;

struct Reduced {
  DoubleDouble angle;      // in [-pi/4, pi/4]
  unsigned quarter_turns;  // modulo 4
};

// 64 digits of 2/pi from binary place `first` (1 = the first place after the point).
std::uint64_t digits_of_two_over_pi(int first) {
  const unsigned at = static_cast<unsigned>(first - 1);
  const unsigned word = at / 64, bit = at % 64;
  if (bit == 0) return two_over_pi[word];
  return (two_over_pi[word] << bit) | (two_over_pi[word + 1] >> (64 - bit));
}

// For finite x >= pi/4.
Reduced reduce(double x) {
  const std::uint64_t bits = to_bits(x);
  const int exponent = static_cast<int>(bits >> 52) - 1075;  // x = mantissa * 2^exponent
  const std::uint64_t mantissa = (bits & 0xFFFFFFFFFFFFF) | (std::uint64_t{1} << 52);
  // Places up to exponent - 2 only contribute multiples of 4 quarter turns.
  const int first = exponent > 2 ? exponent - 1 : 1;
  const uint128 low = uint128{mantissa} * digits_of_two_over_pi(first + 128);
  const uint128 middle = uint128{mantissa} * digits_of_two_over_pi(first + 64) + (low >> 64);
  const uint128 high = uint128{mantissa} * digits_of_two_over_pi(first) + (middle >> 64);
  // The product's point is `point` bits above its lowest bit. Move it to bit 254 of 256: 2 bits of quarter turns above,
  // and keep the top 128 bits.
  const int shift = 254 - (first + 191 - exponent);  // 9..64
  const uint128 top = high;
  const uint128 next = (uint128{static_cast<std::uint64_t>(middle)} << 64) | static_cast<std::uint64_t>(low);
  const uint128 turns = (top << shift) | (next >> (128 - shift));

  const uint128 rounded = (turns + (uint128{1} << 125)) >> 126;
  uint128 part = turns - (rounded << 126);  // two's complement, in [-2^125, 2^125)
  const bool below = (part >> 127) != 0;
  if (below) part = uint128{0} - part;
  if (part == 0) return {{0, 0}, static_cast<unsigned>(rounded) & 3};
  const auto part_high = static_cast<std::uint64_t>(part >> 64);
  const int zeros =
      part_high != 0 ? std::countl_zero(part_high) : 64 + std::countl_zero(static_cast<std::uint64_t>(part));
  part <<= zeros;
  const double sign = below ? -1 : 1;
  const double f = sign * static_cast<double>(static_cast<std::int64_t>(part >> 75)) * power_of_two(75 - 126 - zeros);
  const double g = sign * static_cast<double>(static_cast<std::int64_t>((part >> 22) & ((uint128{1} << 53) - 1))) *
                   power_of_two(22 - 126 - zeros);
  const DoubleDouble product = two_product(f, half_pi_high);
  return {fast_two_sum(product.high, product.low + (f * half_pi_low + g * half_pi_high)),
          static_cast<unsigned>(rounded) & 3};
}

// Taylor's series on [-pi/4, pi/4]; the first terms apart, so that only they round at the size of the result.
double sin_core(DoubleDouble r) {
  const double x = r.high, z = x * x;
  const double series =
      z * (1.0 / 120 +
           z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                                       z * (1.0 / 6227020800 + z * (-1.0 / 1307674368000 +
                                                                                    z * (1.0 / 355687428096000)))))));
  return x + (r.low * (1 - 0.5 * z) + x * z * (-1.0 / 6 + series));
}

double cos_core(DoubleDouble r) {
  const double x = r.high, z = x * x;
  const double series =
      z * z *
      (1.0 / 24 +
       z * (-1.0 / 720 +
            z * (1.0 / 40320 +
                 z * (-1.0 / 3628800 +
                      z * (1.0 / 479001600 +
                           z * (-1.0 / 87178291200 + z * (1.0 / 20922789888000 - z * (1.0 / 6402373705728000))))))));
  const double half = 0.5 * z;
  const double main = 1 - half;
  return main + (((1 - main) - half) + (series - x * r.low));
}

constexpr double quarter_pi = 0x1.921fb54442d18p-1;

}  // namespace

SinCos sincos(double x) {
  const double size = magnitude(x);
  if (!(size < infinity)) {
    const double nan = x - x;
    return {nan, nan};
  }
  if (size < 0x1p-27) return {x, 1};  // also keeps -0 and the subnormals
  if (size <= quarter_pi) return {sin_core({x, 0}), cos_core({x, 0})};
  const Reduced reduced = reduce(size);
  const double s = sin_core(reduced.angle), c = cos_core(reduced.angle);
  const double sign = negative(x) ? -1 : 1;
  switch (reduced.quarter_turns) {
    case 0:
      return {sign * s, c};
    case 1:
      return {sign * c, -s};
    case 2:
      return {sign * -s, -c};
    default:
      return {sign * -c, s};
  }
}

double sin(double x) { return sincos(x).sin; }
double cos(double x) { return sincos(x).cos; }

}  // namespace headrace::math
