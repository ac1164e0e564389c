// Walking two strided layouts row by row.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/tensor/shape.hpp>

namespace headrace::detail {

// Calls row(offset in a, offset in b) for every row (the last axis) in C order, offsets in elements. Every size is at
// least 1 and the rank is at least 1.
template <class F>
void for_each_row(const Shape& shape, const Shape& a, const Shape& b, F&& row) {
  const int outer = shape.rank() - 1;
  std::array<std::int64_t, max_rank> index{};
  std::int64_t ia = 0, ib = 0;
  for (;;) {
    row(ia, ib);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      ia += a[d];
      ib += b[d];
      if (++index[k] < shape[d]) break;
      ia -= a[d] * shape[d];
      ib -= b[d] * shape[d];
      index[k] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace headrace::detail
