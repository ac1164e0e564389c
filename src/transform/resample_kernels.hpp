// Kernels over one output row, for one channel: the interior, where every neighbour is inside, and the edges.
//
// Both give the same bits where both apply: the split is a matter of speed only. No operation may be contracted.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "transform/resample_grid.hpp"

namespace headrace::detail {

inline double blend(double a, double b, double t) noexcept { return a * (1 - t) + b * t; }

// The nearest value of T: integers half to even and clamped.
template <class T>
T from_double(double v) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else {
    constexpr double lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr double too_large =
        2 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);  // exact: a power of two
    if (v > -0x1p51 && v < 0x1p51) v = round_even(v);
    if (v >= too_large) return std::numeric_limits<T>::max();
    return v > lowest ? static_cast<T>(v) : std::numeric_limits<T>::lowest();
  }
}

// Aligned: only axis 2 moves along the row (a map without rotation or shear).
template <int Axes, bool Aligned, class T>
void linear_interior(const ResampleGrid& g, const ResampleRow& row, const T* in, T* out, Span span) noexcept {
  const std::int64_t s0 = g.in_stride[0];
  const std::int64_t s1 = g.in_stride[1];
  const std::int64_t s2 = g.in_stride[2];
  const double b0 = row.base[0], b1 = row.base[1], b2 = row.base[2];
  const double d0 = row.step[0], d1 = row.step[1], d2 = row.step[2];
  for (std::int64_t o = span.first; o < span.last; ++o) {
    const auto along = static_cast<double>(o);
    const double x1 = Aligned ? b1 : b1 + d1 * along;
    const double x2 = b2 + d2 * along;
    const auto i1 = static_cast<std::int64_t>(x1);  // inside, so truncation is floor
    const auto i2 = static_cast<std::int64_t>(x2);
    const double t1 = x1 - static_cast<double>(i1);
    const double t2 = x2 - static_cast<double>(i2);
    const T* p = in + i1 * s1 + i2 * s2;
    const auto plane = [&](const T* q) {
      const double near = blend(static_cast<double>(q[0]), static_cast<double>(q[s2]), t2);
      const double far = blend(static_cast<double>(q[s1]), static_cast<double>(q[s1 + s2]), t2);
      return blend(near, far, t1);
    };
    if constexpr (Axes == 3) {
      const double x0 = Aligned ? b0 : b0 + d0 * along;
      const auto i0 = static_cast<std::int64_t>(x0);
      const double t0 = x0 - static_cast<double>(i0);
      p += i0 * s0;
      out[o] = from_double<T>(blend(plane(p), plane(p + s0), t0));
    } else {
      out[o] = from_double<T>(plane(p));
    }
  }
}

// Two neighbours on one axis: offsets that are always readable, and whether each is inside.
struct Taps {
  std::int64_t offset[2] = {0, 0};
  bool inside[2] = {true, false};
  double t = 0;
};

// False when neither neighbour is inside.
inline bool make_taps(double x, std::int64_t n, std::int64_t stride, Taps& taps) noexcept {
  if (!(x > -1 && x < static_cast<double>(n))) return false;
  auto i = static_cast<std::int64_t>(x);
  if (x < static_cast<double>(i)) --i;
  taps.t = x - static_cast<double>(i);
  taps.inside[0] = i >= 0;
  taps.inside[1] = i + 1 < n;
  taps.offset[0] = taps.inside[0] ? i * stride : 0;
  taps.offset[1] = taps.inside[1] ? (i + 1) * stride : 0;
  return true;
}

template <int Axes, class T>
T linear_edge_voxel(const ResampleGrid& g, const ResampleRow& row, const T* in, std::int64_t o) noexcept {
  Taps taps[3];
  for (std::size_t d = 3 - Axes; d < 3; ++d) {
    const double x = fold(row.x(d, o), g.in_size[d], g.padding, g.align_corners);
    if (!make_taps(x, g.in_size[d], g.in_stride[d], taps[d])) return T{};
  }
  double planes[2] = {0, 0};
  for (int a = 0; a < (Axes == 3 ? 2 : 1); ++a) {
    double lines[2];
    for (int b = 0; b < 2; ++b) {
      double values[2];
      for (int c = 0; c < 2; ++c) {
        const bool inside = taps[0].inside[a] && taps[1].inside[b] && taps[2].inside[c];
        const T value = in[taps[0].offset[a] + taps[1].offset[b] + taps[2].offset[c]];
        values[c] = inside ? static_cast<double>(value) : 0.0;
      }
      lines[b] = blend(values[0], values[1], taps[2].t);
    }
    planes[a] = blend(lines[0], lines[1], taps[1].t);
  }
  return from_double<T>(Axes == 3 ? blend(planes[0], planes[1], taps[0].t) : planes[0]);
}

template <int Axes, class T>
void linear_edge(const ResampleGrid& g, const ResampleRow& row, const T* in, T* out, Span span) noexcept {
  for (std::int64_t o = span.first; o < span.last; ++o) out[o] = linear_edge_voxel<Axes>(g, row, in, o);
}

// W: an unsigned word of the element's size; nothing but bits is moved.
template <int Axes, class W>
void nearest_interior(const ResampleGrid& g, const ResampleRow& row, const W* in, W* out, Span span) noexcept {
  for (std::int64_t o = span.first; o < span.last; ++o) {
    std::int64_t offset = 0;
    for (std::size_t d = 3 - Axes; d < 3; ++d)
      offset += static_cast<std::int64_t>(round_even(row.x(d, o))) * g.in_stride[d];
    out[o] = in[offset];
  }
}

template <int Axes, class W>
void nearest_edge(const ResampleGrid& g, const ResampleRow& row, const W* in, W* out, Span span) noexcept {
  for (std::int64_t o = span.first; o < span.last; ++o) {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t d = 3 - Axes; d < 3; ++d) {
      const double x = fold(row.x(d, o), g.in_size[d], g.padding, g.align_corners);
      // bounds before rounding and casting: a coordinate may be anything with zeros
      const bool near = x > -1 && x < static_cast<double>(g.in_size[d]);
      const auto i = near ? static_cast<std::int64_t>(round_even(x)) : -1;
      inside = inside && i >= 0 && i < g.in_size[d];
      offset += i * g.in_stride[d];
    }
    out[o] = inside ? in[offset] : W{0};
  }
}

}  // namespace headrace::detail
