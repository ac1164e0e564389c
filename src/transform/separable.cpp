#include "separable.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "pointwise.hpp"
#include "weighted_rows.hpp"

namespace headrace::detail {
namespace {

// Output o is the sum of weights[first[o] ...) times inputs from[o], from[o] + 1, ...
template <class T>
struct AxisWeights {
  std::vector<std::int64_t> from, first;
  std::vector<T> weights;
};

template <class T>
AxisWeights<T> axis_weights(std::int64_t n, std::int64_t m, ResizeMode mode, bool align_corners) {
  AxisWeights<T> a;
  const double scale = static_cast<double>(n) / static_cast<double>(m);
  for (std::int64_t o = 0; o < m; ++o) {
    a.first.push_back(static_cast<std::int64_t>(a.weights.size()));
    if (mode == ResizeMode::area) {
      const std::int64_t begin = o * n / m, end = ((o + 1) * n + m - 1) / m;
      a.from.push_back(begin);
      for (std::int64_t i = begin; i < end; ++i)
        a.weights.push_back(static_cast<T>(1.0 / static_cast<double>(end - begin)));
    } else {
      const auto at = static_cast<double>(o);
      const double x = align_corners ? (m == 1 ? 0 : at * static_cast<double>(n - 1) / static_cast<double>(m - 1))
                                     : std::max((at + 0.5) * scale - 0.5, 0.0);
      const std::int64_t i = std::min(static_cast<std::int64_t>(x), n - 1);
      const double t = i + 1 < n ? x - static_cast<double>(i) : 0;
      a.from.push_back(i);
      a.weights.push_back(static_cast<T>(1 - t));
      if (i + 1 < n) a.weights.push_back(static_cast<T>(t));
    }
  }
  a.first.push_back(static_cast<std::int64_t>(a.weights.size()));
  return a;
}

// The index of the nearest input, in the float32 arithmetic that the definition is in.
std::vector<std::int64_t> nearest_index(std::int64_t n, std::int64_t m, bool exact) {
  std::vector<std::int64_t> index;
  const float scale = static_cast<float>(n) / static_cast<float>(m);
  for (std::int64_t o = 0; o < m; ++o) {
    const float x = (static_cast<float>(o) + (exact ? 0.5f : 0.0f)) * scale;
    index.push_back(std::min(static_cast<std::int64_t>(x), n - 1));
  }
  return index;
}

void nearest_into(const Tensor& from, const Tensor& to, bool exact) {
  const int rank = from.rank() - 1;
  std::array<std::vector<std::int64_t>, 4> maps;
  for (int d = 0; d < rank; ++d)
    maps[static_cast<std::size_t>(d)] = nearest_index(from.size(d + 1), to.size(d + 1), exact);
  const auto& along = maps[static_cast<std::size_t>(rank - 1)];
  const std::int64_t step = from.strides()[rank];
  visit_dtype(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = from.data<T>();
    T* out = own_data<T>(to);
    for_each_row(to.shape(), to.strides(), [&](const auto& index, std::int64_t at) {
      std::int64_t start = index[0] * from.strides()[0];
      for (int d = 1; d < rank; ++d) {
        const auto i = static_cast<std::size_t>(index[static_cast<std::size_t>(d)]);
        start += maps[static_cast<std::size_t>(d - 1)][i] * from.strides()[d];
      }
      for (std::size_t i = 0; i < along.size(); ++i)
        out[at + static_cast<std::int64_t>(i)] = in[start + along[i] * step];
    });
  });
}

// One axis (0 is the first spatial one) of a contiguous image, into another one.
template <class T>
void resample_axis(const T* in, T* out, const Shape& shape, int axis, std::int64_t m, ResizeMode mode,
                   bool align_corners) {
  const std::int64_t n = shape[axis + 1];
  const AxisWeights<T> a = axis_weights<T>(n, m, mode, align_corners);
  std::int64_t before = 1, behind = 1;
  for (int d = 0; d <= axis; ++d) before *= shape[d];
  for (int d = axis + 2; d < shape.rank(); ++d) behind *= shape[d];
  if (behind > 1) {
    std::vector<const T*> rows;
    for (std::int64_t b = 0; b < before; ++b)
      for (std::int64_t o = 0; o < m; ++o) {
        const auto k = static_cast<std::size_t>(o);
        const std::int64_t count = a.first[k + 1] - a.first[k];
        rows.clear();
        for (std::int64_t i = 0; i < count; ++i) rows.push_back(in + (b * n + a.from[k] + i) * behind);
        weighted_rows(rows.data(), a.weights.data() + a.first[k], count, behind, out + (b * m + o) * behind);
      }
    return;
  }
  for (std::int64_t b = 0; b < before; ++b) {
    const T* row = in + b * n;
    T* to = out + b * m;
    for (std::int64_t o = 0; o < m; ++o) {
      const auto k = static_cast<std::size_t>(o);
      const T* w = a.weights.data() + a.first[k];
      const T* x = row + a.from[k];
      T sum = x[0] * w[0];
      for (std::int64_t i = 1; i < a.first[k + 1] - a.first[k]; ++i) sum = sum + x[i] * w[i];
      to[o] = sum;
    }
  }
}

}  // namespace

ResizeMode mode_for(ResizeMode mode, DType dtype) noexcept {
  if (mode != ResizeMode::by_dtype) return mode;
  return is_floating(dtype) ? ResizeMode::area : ResizeMode::nearest;
}

void resize_into(Sample& sample, const Tensor& from, const Tensor& to, ResizeMode mode, bool align_corners) {
  mode = mode_for(mode, from.dtype());
  if (mode == ResizeMode::nearest || mode == ResizeMode::nearest_exact)
    return nearest_into(from, to, mode == ResizeMode::nearest_exact);
  const DType computed = computed_in(from.dtype());
  Shape shape = from.shape();
  Tensor now = from.dtype() == computed && from.is_contiguous() ? from : sample.scratch(computed, shape);
  if (now.raw() != from.raw()) for_each_computed_row(from, now, [](auto*, std::int64_t, std::int64_t) {});
  int left = 0;
  for (int d = 1; d < shape.rank(); ++d) left += shape[d] != to.size(d);
  for (int d = 1; d < shape.rank(); ++d) {
    if (shape[d] == to.size(d)) continue;
    Shape next_shape = shape;
    next_shape[d] = to.size(d);
    const bool last = --left == 0 && to.dtype() == computed;
    const Tensor next = last ? to : sample.scratch(computed, next_shape);
    visit_dtype(computed, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        resample_axis<T>(now.data<T>(), own_data<T>(next), shape, d - 1, to.size(d), mode, align_corners);
    });
    shape = next_shape;
    now = next;
  }
  if (now.raw() == to.raw()) return;
  // The stored type: integers rounded half to even (adding and taking 1.5 * 2^52 away, in double), then saturated.
  Tensor target = to;
  if (is_floating(to.dtype())) return target.copy_from(now);
  const Tensor whole = sample.scratch(DType::f64, now.shape());
  const float* in = now.data<float>();
  double* out = own_data<double>(whole);
  for (std::int64_t i = 0; i < now.numel(); ++i) {
    const double x = static_cast<double>(in[i]);
    out[i] = std::fabs(x) < 0x1p51 ? (x + 0x1.8p52) - 0x1.8p52 : x;
  }
  target.copy_from(whole);
}

Affine resize_map(const Shape& from, const Shape& to, bool align_corners) {
  Affine map;
  for (int d = 0; d < from.rank(); ++d) {
    const auto n = static_cast<double>(from[d]), m = static_cast<double>(to[d]);
    if (align_corners) {
      map(d, d) = to[d] > 1 ? (n - 1) / (m - 1) : n;  // one voxel: it stands for the whole axis
    } else {
      map(d, d) = n / m;
      map(d, 3) = (n / m - 1) / 2;
    }
  }
  return map;
}

}  // namespace headrace::detail
