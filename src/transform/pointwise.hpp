// What the intensity ops share: where results go, and walking over voxels in the type of the computation.
//
// Arithmetic is in float32, in float64 where the input is float64. Integers become float32 first. A result of another
// type is made in scratch memory and converted: integers truncate toward zero and saturate, NaN becomes 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <headrace/sample/sample.hpp>
#include <string_view>
#include <type_traits>

#include "rows.hpp"

namespace headrace::detail {

// The type that intensity ops compute in.
inline DType computed_in(DType own) noexcept { return own == DType::f64 ? DType::f64 : DType::f32; }

// Copies `from` into `to` (contiguous, of the computing type) and calls f(row, n, first) for every row: n elements of
// `to`, of which the first has the linear index `first` in C order. Both may be the same memory.
template <class F>
void for_each_computed_row(const Tensor& from, const Tensor& to, F&& f) {
  if (from.numel() == 0) return;
  if (from.rank() == 0) return for_each_computed_row(from.unsqueeze(0), to.unsqueeze(0), f);
  const Tensor source = arithmetic_form(from);
  visit_arithmetic(source.dtype(), [&](auto zero) {
    using From = decltype(zero);
    using C = std::conditional_t<std::is_same_v<From, double>, double, float>;
    const From* in = source.data<From>();
    C* out = own_data<C>(to);
    if (static_cast<const void*>(in) == static_cast<const void*>(out) && source.is_contiguous()) {
      // In place: pieces that stay in the first-level cache, whatever the shape.
      constexpr std::int64_t piece = 4096;
      for (std::int64_t i = 0; i < source.numel(); i += piece) f(out + i, std::min(piece, source.numel() - i), i);
      return;
    }
    const int last = source.rank() - 1;
    const std::int64_t n = source.shape()[last], step = source.strides()[last];
    std::int64_t first = 0;
    for_each_row(source.shape(), source.strides(), [&](const auto&, std::int64_t a) {
      C* row = out + first;
      if (step == 1)
        for (std::int64_t i = 0; i < n; ++i) row[i] = static_cast<C>(in[a + i]);
      else
        for (std::int64_t i = 0; i < n; ++i) row[i] = static_cast<C>(in[a + i * step]);
      f(row, n, first);
      first += n;
    });
  });
}

// Replaces the field by f of it, with elements of type `dtype`; f as above, and must not fail. In place where nobody
// else holds the voxels and the type stays; an op that announced Effect::rewrite writes in place only where nobody
// placed the field.
template <class F>
void rewrite_rows(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite, F&& f) {
  const Tensor& now = sample.get(field);
  const DType computed = computed_in(now.dtype());
  const bool in_place = now.dtype() == dtype && dtype == computed && now.writable() && now.is_contiguous() &&
                        !(announced_rewrite && sample.output_place());
  const Tensor from = now;
  const Tensor to = in_place ? from : sample.output(field, dtype, from.shape());
  if (dtype == computed) {
    for_each_computed_row(from, to, f);
  } else {
    const Tensor between = sample.scratch(computed, from.shape());
    for_each_computed_row(from, between, f);
    Tensor target = to;
    target.copy_from(between);
  }
  sample.set(field, to);
}

// Only the element type, where that is another: what a random op does to a field when its coin says no.
inline void rewrite_dtype(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite) {
  if (sample.get(field).dtype() != dtype)
    rewrite_rows(sample, field, dtype, announced_rewrite, [](auto*, std::int64_t, std::int64_t) {});
}

}  // namespace headrace::detail
