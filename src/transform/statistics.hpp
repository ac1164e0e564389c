// Minimum, maximum, mean and standard deviation of a tensor's elements: the same bits whatever the strides and the
// vector width (eight running sums per row, joined in a fixed order, in double).
#pragma once

#include <cstdint>
#include <headrace/tensor/tensor.hpp>

namespace headrace::detail {

struct Extremes {
  double min = 0;
  double max = 0;
};
// NaN does not count; both are NaN where nothing else is there.
Extremes extremes(const Tensor& values);

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population: divided by count
  std::int64_t count = 0;
};
// Of all elements, or of those that are not 0. NaN makes NaN. Without elements: zeros.
Moments moments(const Tensor& values, bool nonzero = false);

}  // namespace headrace::detail
