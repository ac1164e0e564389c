// Geometry of one resampling, shared by all kernels: sizes, strides, the map, rows, spans and padding.
//
// Images of one and two spatial axes are held as three with leading axes of size 1, so that axis 2 is always the row.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <headrace/transform/options.hpp>

namespace headrace::detail {

struct ResampleGrid {
  std::array<std::int64_t, 3> in_size{1, 1, 1};
  std::array<std::int64_t, 3> out_size{1, 1, 1};
  std::array<std::int64_t, 3> in_stride{};  // in elements
  std::int64_t channels = 0;
  std::int64_t in_channel_stride = 0;
  std::array<std::array<double, 4>, 3> map{};  // map[d]: input axis d from output axes 0..2 and 1
  Padding padding = Padding::border;
  bool align_corners = false;
};

// The input coordinates of one output row: x_d(o) = base[d] + step[d] * o. Monotone in o, rounding included.
struct ResampleRow {
  std::array<double, 3> base;
  std::array<double, 3> step;

  double x(std::size_t d, std::int64_t o) const noexcept { return base[d] + step[d] * static_cast<double>(o); }
};

inline ResampleRow row_of(const ResampleGrid& g, std::int64_t o0, std::int64_t o1) noexcept {
  ResampleRow row;
  for (std::size_t d = 0; d < 3; ++d) {
    row.base[d] = (g.map[d][0] * static_cast<double>(o0) + g.map[d][1] * static_cast<double>(o1)) + g.map[d][3];
    row.step[d] = g.map[d][2];
  }
  return row;
}

struct Span {
  std::int64_t first;
  std::int64_t last;  // one past
};

// The first o in [0, m] for which `beyond(o)` holds, for a predicate that is false up to somewhere and true from there
// on; `guess` is where it should be but for rounding.
template <class Predicate>
std::int64_t first_where(double guess, std::int64_t m, const Predicate& beyond) noexcept {
  std::int64_t o = guess > 0 ? (guess < static_cast<double>(m) ? static_cast<std::int64_t>(guess) : m) : 0;
  while (o > 0 && beyond(o - 1)) --o;
  while (o < m && !beyond(o)) ++o;
  return o;
}

// Where a row needs no padding. Strict (linear): 0 <= x < n-1 on every axis in `axes`, so that floor(x) and the voxel
// after it are inside. Otherwise (nearest): 0 <= x <= n-1. The decision is made on the very coordinates that the
// kernels compute.
template <bool Strict>
Span interior(const ResampleGrid& g, const ResampleRow& row, std::size_t first_axis) noexcept {
  const std::int64_t m = g.out_size[2];
  Span span{0, m};
  for (std::size_t d = first_axis; d < 3; ++d) {
    const auto last = static_cast<double>(g.in_size[d] - 1);
    const auto low = [&](std::int64_t o) { return row.x(d, o) >= 0; };
    const auto high = [&](std::int64_t o) { return Strict ? row.x(d, o) < last : row.x(d, o) <= last; };
    if (low(0) && high(0) && low(m - 1) && high(m - 1)) continue;
    std::int64_t from = 0;
    std::int64_t to = m;
    if (row.step[d] > 0) {
      from = first_where((0 - row.base[d]) / row.step[d], m, low);
      to = first_where((last - row.base[d]) / row.step[d], m, [&](std::int64_t o) { return !high(o); });
    } else if (row.step[d] < 0) {
      from = first_where((last - row.base[d]) / row.step[d], m, high);
      to = first_where((0 - row.base[d]) / row.step[d], m, [&](std::int64_t o) { return !low(o); });
    } else {
      return {0, 0};  // the same coordinate all along, and it is outside
    }
    if (from > span.first) span.first = from;
    if (to < span.last) span.last = to;
  }
  if (span.first >= span.last) return {0, 0};
  return span;
}

// floor for v >= 0 without a library call.
inline double floor_positive(double v) noexcept {
  return v < 0x1p52 ? static_cast<double>(static_cast<std::int64_t>(v)) : v;
}

// x mirrored to and fro between `from` and `from + length`.
inline double reflect(double x, double from, double length) noexcept {
  const double t = std::fabs(x - from);
  const double k = floor_positive(t / length);
  const double f = t - k * length;
  const bool odd = k - 2 * floor_positive(k / 2) != 0;
  return (odd ? length - f : f) + from;
}

// The coordinate that padding makes of x on an axis of size n: inside [0, n-1], except with zeros, which leaves it.
// A NaN (from coordinates beyond the range of double) becomes 0.
inline double fold(double x, std::int64_t n, Padding padding, bool align_corners) noexcept {
  const auto last = static_cast<double>(n - 1);
  if (padding == Padding::zeros || (x >= 0 && x <= last)) return x;
  if (padding == Padding::reflection) {
    if (!align_corners)
      x = reflect(x, -0.5, static_cast<double>(n));
    else if (n > 1)
      x = reflect(x, 0, last);
  }
  return x > 0 ? (x < last ? x : last) : 0;
}

// Half to even, for |x| < 2^51; exact under -ffp-contract=off in the default rounding mode, and needs no library call.
inline double round_even(double x) noexcept {
  constexpr double shift = 0x1.8p52;
  return (x + shift) - shift;
}

}  // namespace headrace::detail
