// Statistics for tests with fixed seeds: how far a count or a sample is from what it should be, in standard deviations.
// A limit of 4.5 fails a right generator about once in 10^5 seeds, and the seeds are fixed, so a failure is a change.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace headrace::test {

inline constexpr double sigma_limit = 4.5;

/// Wilson and Hilferty's normal deviate of a chi-square value.
inline double chi_square_deviate(double chi_square, double degrees) {
  const double v = 2 / (9 * degrees);
  return (std::cbrt(chi_square / degrees) - (1 - v)) / std::sqrt(v);
}

/// Chi-square of counts that should all be `expected`, as a normal deviate.
template <class Counts>
double uniformity_deviate(const Counts& counts, double expected) {
  double sum = 0;
  for (const auto count : counts) {
    const double difference = static_cast<double>(count) - expected;
    sum += difference * difference / expected;
  }
  return chi_square_deviate(sum, static_cast<double>(counts.size()) - 1);
}

/// Kolmogorov and Smirnov's sqrt(n) D of a sample against a distribution function; above 2.2 once in 8000.
template <class T, class Cdf>
double kolmogorov_smirnov(std::vector<T> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double largest = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(static_cast<double>(sample[i]));
    largest = std::max({largest, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return std::sqrt(n) * largest;
}

/// Correlation of two equally long samples, times sqrt(n): a normal deviate where they are independent.
template <class A, class B>
double correlation_deviate(const A& a, const B& b) {
  const auto n = static_cast<double>(a.size());
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    sa += x;
    sb += y;
    saa += x * x;
    sbb += y * y;
    sab += x * y;
  }
  return std::sqrt(n) * (sab - sa * sb / n) / std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
}

}  // namespace headrace::test
