// Walking strided tensors row by row (a row is the last axis), in C order.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/tensor/tensor.hpp>

namespace headrace::detail {

// Calls row(index, offset a, offset b) for every row: index over the axes before the last one, offsets in elements.
// A tensor without elements has no rows.
template <class F>
void for_each_row(const Shape& shape, const Shape& strides_a, const Shape& strides_b, F&& row) {
  if (shape.rank() == 0 || shape.numel() == 0) return;
  std::array<std::int64_t, max_rank> index{};
  std::int64_t a = 0, b = 0;
  for (;;) {
    row(index, a, b);
    int d = shape.rank() - 2;
    for (; d >= 0; --d) {
      std::int64_t& i = index[static_cast<std::size_t>(d)];
      a += strides_a[d];
      b += strides_b[d];
      if (++i < shape[d]) break;
      a -= strides_a[d] * shape[d];
      b -= strides_b[d] * shape[d];
      i = 0;
    }
    if (d < 0) return;
  }
}
template <class F>
void for_each_row(const Shape& shape, const Shape& strides, F&& row) {
  for_each_row(shape, strides, strides,
               [&](const std::array<std::int64_t, max_rank>& index, std::int64_t a, std::int64_t) { row(index, a); });
}

// The elements of a tensor that the caller owns (fresh from Sample::output, or found writable), without copy-on-write:
// a batch slot may hold a handle of its own, and the write is meant for exactly that memory.
inline std::byte* own_bytes(const Tensor& t) { return const_cast<std::byte*>(t.raw()); }
template <class T>
T* own_data(const Tensor& t) {
  return const_cast<T*>(t.data<T>());
}

// Half formats as f32; everything else as it is.
inline Tensor arithmetic_form(const Tensor& t) {
  return t.dtype() == DType::f16 || t.dtype() == DType::bf16 ? t.to(DType::f32) : t;
}

}  // namespace headrace::detail
