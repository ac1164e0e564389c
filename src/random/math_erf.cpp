// erf. Below 1/2 its Taylor series at 0; above, the Taylor series at the nearest multiple of 1/16, whose coefficients
// follow from the recurrence of e^(-(c+t)^2 + c^2) = sum b_n t^n:  (n + 1) b_(n+1) = -2 c b_n - 2 b_(n-1).
#include <headrace/random/math.hpp>

#include "double_double.hpp"
#include "math_tables.hpp"

namespace headrace::math {

namespace {

using namespace detail;

double erf_near_zero(double x) {
  const double z = x * x;
  double sum = erf_series[13];
  for (int n = 12; n >= 0; --n) sum = sum * z + erf_series[n];
  return x + x * sum;
}

// For 0.5 <= x <= 6.
double erf_by_table(double x) {
  const int j = static_cast<int>(x * 16 + 0.5);
  const double c = j / 16.0;
  const double t = x - c;  // exact, |t| <= 1/32
  const ErfEntry& entry = erf_table[j - erf_first];
  constexpr int terms = 11;
  constexpr double reciprocal[terms + 1] = {0,       1.0,     1.0 / 2, 1.0 / 3, 1.0 / 4,  1.0 / 5,
                                            1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11};
  double before = 1, b = -2 * c, power = t * t, sum = t;
  for (int n = 1; n < terms; ++n) {  // b = b_n, power = t^(n+1)
    sum += b * reciprocal[n + 1] * power;
    const double next = (-2 * c * b - 2 * before) * reciprocal[n + 1];
    before = b;
    b = next;
    power *= t;
  }
  return entry.high + (entry.low + entry.slope * sum);
}

}  // namespace

double erf(double x) {
  if (x != x) return x;
  const double size = magnitude(x);
  // So small that x times the rounded 2/sqrt(pi) is the answer, and that the series would meet subnormals.
  if (size < 0x1p-500)
    return size < 0x1p-1000 ? (x * 0x1p100 + x * 0x1p100 * erf_series[0]) * 0x1p-100 : x + x * erf_series[0];
  if (size < 0.5) return erf_near_zero(x);
  const double value = size <= 6 ? erf_by_table(size) : 1;
  return negative(x) ? -value : value;
}

}  // namespace headrace::math
