#include "statistics.hpp"

#include <array>
#include <cmath>
#include <concepts>
#include <limits>

#include "rows.hpp"

namespace headrace::detail {
namespace {

constexpr std::int64_t lanes = 8;

template <class T>
bool is_nan(T v) {
  if constexpr (std::floating_point<T>)
    return std::isnan(v);
  else
    return false;
}

// Calls f(row, step, n) for every row of a tensor of rank 1 or more, of an arithmetic type.
template <class F>
void each_row(const Tensor& values, F&& f) {
  const Tensor t = arithmetic_form(values.rank() == 0 ? values.unsqueeze(0) : values);
  visit_arithmetic(t.dtype(), [&](auto zero) {
    const auto* p = t.data<decltype(zero)>();
    const int last = t.rank() - 1;
    for_each_row(t.shape(), t.strides(),
                 [&](const auto&, std::int64_t a) { f(p + a, t.strides()[last], t.shape()[last]); });
  });
}

double joined(const std::array<double, lanes>& s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// The sum of g(x) over all elements; element i of a row goes to sum i % 8.
template <class G>
double sum_of(const Tensor& values, G&& g) {
  std::array<double, lanes> sums{};
  each_row(values, [&](const auto* row, std::int64_t step, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
      for (std::int64_t l = 0; l < lanes; ++l)
        sums[static_cast<std::size_t>(l)] += g(static_cast<double>(row[(i + l) * step]));
    for (std::int64_t l = 0; i < n; ++i, ++l)
      sums[static_cast<std::size_t>(l)] += g(static_cast<double>(row[i * step]));
  });
  return joined(sums);
}

}  // namespace

Extremes extremes(const Tensor& values) {
  Extremes e{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  each_row(values, [&](const auto* row, std::int64_t step, std::int64_t n) {
    auto low = row[0], high = row[0];
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = row[i * step];
      low = v < low || is_nan(low) ? v : low;
      high = v > high || is_nan(high) ? v : high;
    }
    if (static_cast<double>(low) < e.min) e.min = static_cast<double>(low);
    if (static_cast<double>(high) > e.max) e.max = static_cast<double>(high);
  });
  if (e.min > e.max) e.min = e.max = std::numeric_limits<double>::quiet_NaN();
  return e;
}

Moments moments(const Tensor& values, bool nonzero) {
  Moments m;
  m.count =
      nonzero ? static_cast<std::int64_t>(sum_of(values, [](double x) { return x != 0 ? 1.0 : 0.0; })) : values.numel();
  if (m.count == 0) return m;
  const auto n = static_cast<double>(m.count);
  m.mean = sum_of(values, [](double x) { return x; }) / n;  // zeros add nothing
  const double mean = m.mean;
  m.variance = nonzero ? sum_of(values, [mean](double x) { return x != 0 ? (x - mean) * (x - mean) : 0.0; }) / n
                       : sum_of(values, [mean](double x) { return (x - mean) * (x - mean); }) / n;
  return m;
}

}  // namespace headrace::detail
