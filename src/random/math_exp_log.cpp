// exp, log and pow. One core each for exp and log in double-double, so that pow keeps 66 bits of the logarithm and all
// three end within 0.52 units in the last place.
#include <headrace/random/math.hpp>

#include "double_double.hpp"
#include "math_tables.hpp"

namespace headrace::math {

namespace {

using namespace detail;

// log x for finite x > 0, relative error below 2^-65.
// x = 2^k m with m in [0.6875, 1.375); c near 1/m from the table, short enough that r = m c - 1 is exact in two parts;
// log x = k ln 2 - log c + (r - r^2/2 + r^3/3 - ...).
DoubleDouble log_parts(double x) {
  std::uint64_t bits = to_bits(x);
  int k = 0;
  if (bits < (std::uint64_t{1} << 52)) {  // subnormal
    bits = to_bits(x * 0x1p52);
    k = -52;
  }
  constexpr std::uint64_t origin = 0x3FE6000000000000;  // 0.6875
  const std::uint64_t offset = bits - origin;
  k += static_cast<int>(static_cast<std::int64_t>(offset) >> 52);
  const std::uint64_t m_bits = bits - (offset & (std::uint64_t{0xFFF} << 52));
  const LogEntry& entry = log_table[(offset >> 45) & 127];

  const double m_high = from_bits(m_bits & ~std::uint64_t{0xFFFFFFFF});
  const double m_low = from_bits(m_bits) - m_high;
  const DoubleDouble r = two_sum(m_high * entry.inverse - 1, m_low * entry.inverse);

  const double kd = k;
  const DoubleDouble first = two_sum(kd * ln2_high + entry.log_high, r.high);
  const DoubleDouble square = two_product(r.high, r.high);
  const DoubleDouble second = two_sum(first.high, -0.5 * square.high);
  const double z = r.high;
  const double series =
      z * square.high *
      (1.0 / 3 +
       z * (-1.0 / 4 +
            z * (1.0 / 5 + z * (-1.0 / 6 + z * (1.0 / 7 + z * (-1.0 / 8 + z * (1.0 / 9 - z * (1.0 / 10))))))));
  const double small =
      (kd * ln2_low + entry.log_low) + (r.low - (0.5 * square.low + r.high * r.low)) + first.low + second.low;
  return fast_two_sum(second.high, small + series);
}

// e^(high + low) for -746 <= high <= 710, relative error below 2^-60 before the last rounding.
double exp_of(double high, double low) {
  constexpr double round_to_integer = 0x1.8p52;
  const double shifted = high * exp_inverse_step + round_to_integer;
  const double steps = shifted - round_to_integer;
  const int n = static_cast<int>(steps);
  const double r = (high - steps * exp_step_high) + (low - steps * exp_step_low);
  const double p = r + r * r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))));
  const ExpEntry& entry = exp_table[n & 127];
  const double y = entry.high + (entry.low + entry.high * p);
  const int k = n >> 7;
  // Two factors where the result may overflow or be subnormal, so that the last product alone rounds.
  if (k > 1000) return y * power_of_two(1000) * power_of_two(k - 1000);
  if (k < -1000) return y * power_of_two(-1000) * power_of_two(k + 1000);
  return y * power_of_two(k);
}

constexpr double overflow_from = 710;
constexpr double underflow_from = -746;

enum class Integer { No, Even, Odd };

Integer integer_kind(double y) {
  const double size = magnitude(y);
  if (size >= 0x1p53) return Integer::Even;
  const auto whole = static_cast<std::int64_t>(size);
  if (static_cast<double>(whole) != size) return Integer::No;
  return (whole & 1) != 0 ? Integer::Odd : Integer::Even;
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > overflow_from) return infinity;
  if (x < underflow_from) return 0;
  return exp_of(x, 0);
}

double log(double x) {
  if (x != x || x == infinity) return x;
  if (x == 0) return -infinity;
  if (x < 0) return from_bits(0x7FF8000000000000);
  return log_parts(x).high;
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const double base = magnitude(x);
  if (magnitude(y) == infinity) {
    if (base == 1) return 1;
    return (base > 1) == (y > 0) ? infinity : 0;
  }
  const Integer kind = integer_kind(y);
  const double sign = negative(x) && kind == Integer::Odd ? -1 : 1;
  if (base == 0 || base == infinity) return (base == 0) == (y < 0) ? sign * infinity : sign * 0.0;
  if (x < 0 && kind == Integer::No) return from_bits(0x7FF8000000000000);
  if (base == 1) return sign;

  // Beyond these the result is 1, 0 or infinity whatever the base; within, the products below are exact in two parts.
  if (magnitude(y) > 0x1p64) return (base > 1) == (y > 0) ? sign * infinity : sign * 0.0;
  if (magnitude(y) < 0x1p-65) return sign;
  const DoubleDouble log_base = log_parts(base);
  const DoubleDouble product = two_product(y, log_base.high);
  if (product.high > overflow_from) return sign * infinity;
  if (product.high < underflow_from) return sign * 0.0;
  return sign * exp_of(product.high, product.low + y * log_base.low);
}

}  // namespace headrace::math
