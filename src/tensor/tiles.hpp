// A copy that turns axes: the destination's rows run across the source's.
//
// Element by element such a copy touches a new cache line of the source for every element, and has lost it from the
// cache before it comes back for its neighbour. Here a strip of one cache line of the destination's rows is written at
// a time, along the source's own dense axis, in squares that are turned in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <headrace/tensor/shape.hpp>

#include "rows.hpp"
#include "transpose.hpp"

namespace headrace::detail {

// The axis along which the source is dense, where going square by square pays: -1 where the last axis is that axis,
// where there is none, and where it is the last but one and the source's lines stay in the first-level cache from one
// row to the next (then a plain loop is as fast or faster; single bytes gain all the same).
template <class Word>
int dense_axis(const Shape& shape, const Shape& from) {
  constexpr std::int64_t lines_that_stay = 256;
  const int last = from.rank() - 1;
  if (std::abs(from[last]) == 1) return -1;
  for (int d = 0; d < last; ++d)
    if (std::abs(from[d]) == 1) return sizeof(Word) > 1 && d == last - 1 && shape[last] <= lines_that_stay ? -1 : d;
  return -1;
}

// to[index] = from[index] for two layouts (strides in elements, every size at least 1); `dense` is dense_axis(from).
template <class Word>
void copy_tiles(const Word* from, Word* to, const Shape& shape, const Shape& from_strides, const Shape& to_strides,
                int dense) {
  constexpr auto lanes = static_cast<std::int64_t>(VectorOf<Word>::lanes), side = 4 * lanes;
  const int last = shape.rank() - 1;
  const std::int64_t across = shape[dense], along = shape[last];
  const std::int64_t from_along = from_strides[last], to_along = to_strides[last];
  std::int64_t to_across = to_strides[dense];
  if (from_strides[dense] < 0) {  // walked from its other end, the source runs upwards
    from -= across - 1;
    to += (across - 1) * to_across;
    to_across = -to_across;
  }
  // The planes: every axis but these two. A last axis of one element lets for_each_row visit them all.
  Shape planes, a, b;
  for (int d = 0; d < last; ++d) {
    if (d == dense) continue;
    planes.push_back(shape[d]);
    a.push_back(from_strides[d]);
    b.push_back(to_strides[d]);
  }
  planes.push_back(1);
  a.push_back(1);
  b.push_back(1);
  for_each_row(planes, a, b, [&](std::int64_t ia, std::int64_t ib) {
    for (std::int64_t j = 0; j < along; j += side) {
      const std::int64_t columns = std::min(side, along - j);
      const Word* source = from + ia + j * from_along;
      Word* target = to + ib + j * to_along;
      const auto one_by_one = [&](std::int64_t i, std::int64_t rows_end, std::int64_t first, std::int64_t end) {
        for (; i < rows_end; ++i)
          for (std::int64_t c = first; c < end; ++c) target[i * to_across + c * to_along] = source[c * from_along + i];
      };
      const std::int64_t squares = to_along == 1 ? columns / lanes * lanes : 0;
      std::int64_t i = 0;
      for (; i + lanes <= across; i += lanes) {
        for (std::int64_t c = 0; c < squares; c += lanes)
          transpose_square(source + c * from_along + i, from_along, target + i * to_across + c, to_across);
        one_by_one(i, i + lanes, squares, columns);
      }
      one_by_one(i, across, 0, columns);
    }
  });
}

}  // namespace headrace::detail
