#include <algorithm>
#include <cstring>
#include <headrace/transform/resample.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "transform/resample_grid.hpp"
#include "transform/resample_kernels.hpp"
#include "transform/resample_vector.hpp"

namespace headrace {
namespace {

using detail::ResampleGrid;
using detail::ResampleRow;
using detail::Span;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("resample: " + what); }

void check(const Tensor& in, const Tensor& out, const Affine& map) {
  const int rank = in.rank() - 1;
  if (rank < 1 || rank > 3)
    refuse("the input has shape " + in.shape().str() + ", but expected a channel axis and 1 to 3 spatial axes");
  if (out.dtype() != in.dtype())
    refuse("the output is " + std::string(name_of(out.dtype())) + ", but expected the input's " +
           std::string(name_of(in.dtype())));
  if (out.rank() != in.rank() || out.size(0) != in.size(0))
    refuse("the output has shape " + out.shape().str() + ", but expected the rank and channels of " + in.shape().str());
  if (out.numel() > 0 && in.numel() == 0) refuse("the input " + in.shape().str() + " has no voxel to sample");
  if (!out.is_contiguous()) refuse("the output must be contiguous");
  if (out.storage().read_only()) refuse("the output is read-only");
  if (out.overlaps(in)) refuse("input and output share memory");
  if (!map.finite()) refuse("the map is not finite: " + map.str());
}

ResampleGrid make_grid(const Tensor& in, const Tensor& out, const Affine& map, const ResampleOptions& options) {
  ResampleGrid g;
  const int rank = in.rank() - 1;
  const int lead = 3 - rank;  // axes of size 1 in front
  g.channels = in.size(0);
  g.in_channel_stride = in.strides()[0];
  for (int d = 0; d < rank; ++d) {
    const auto to = static_cast<std::size_t>(lead + d);
    g.in_size[to] = in.size(d + 1);
    g.out_size[to] = out.size(d + 1);
    g.in_stride[to] = in.strides()[d + 1];
    for (int e = 0; e < rank; ++e) g.map[to][static_cast<std::size_t>(lead + e)] = map(d, e);
    g.map[to][3] = map(d, 3);
  }
  g.padding = options.padding_mode;
  g.align_corners = options.align_corners;
  return g;
}

// Calls row(row, first output element of the row, span of its interior) for every row, per channel.
template <int Axes, bool Strict, class T, class Kernel>
void for_rows(const ResampleGrid& g, const T* in, T* out, const Kernel& kernel) {
  const std::int64_t plane = g.out_size[1] * g.out_size[2];
  const std::int64_t volume = g.out_size[0] * plane;
  for (std::int64_t o0 = 0; o0 < g.out_size[0]; ++o0) {
    for (std::int64_t o1 = 0; o1 < g.out_size[1]; ++o1) {
      const ResampleRow row = detail::row_of(g, o0, o1);
      const Span inner = detail::interior<Strict>(g, row, 3 - Axes);
      for (std::int64_t c = 0; c < g.channels; ++c)
        kernel(row, in + c * g.in_channel_stride, out + c * volume + o0 * plane + o1 * g.out_size[2], inner);
    }
  }
}

// Fetches the pairs of one line through the cells of a chunk: both neighbours in one load where they lie side by side.
void fetch_pairs(const float* in, const detail::ResampleChunk& chunk, std::int64_t stride, std::int64_t count,
                 float* pairs) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(pairs + 2 * i, in + chunk.offset[i], 2 * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    pairs[2 * i] = in[chunk.offset[i]];
    pairs[2 * i + 1] = in[chunk.offset[i] + stride];
  }
}

template <int Axes>
void linear_interior_chunks(const ResampleGrid& g, const ResampleRow& row, const float* in, float* out, Span span) {
  detail::ResampleChunk chunk;
  for (std::int64_t o = span.first; o < span.last; o += detail::resample_chunk) {
    const std::int64_t count = std::min(detail::resample_chunk, span.last - o);
    detail::linear_taps(g, row, o, count, chunk);
    for (std::size_t line = 0; line < (Axes == 3 ? 4 : 2); ++line) {
      const auto n = static_cast<std::int64_t>(line);
      fetch_pairs(in + n / 2 * g.in_stride[0] + n % 2 * g.in_stride[1], chunk, g.in_stride[2], count,
                  chunk.pairs[line]);
    }
    detail::blend_pairs(chunk, Axes, count, out + o);
  }
}

template <class W>
void nearest_interior_chunks(const ResampleGrid& g, const ResampleRow& row, const W* in, W* out, Span span) {
  detail::ResampleChunk chunk;
  for (std::int64_t o = span.first; o < span.last; o += detail::resample_chunk) {
    const std::int64_t count = std::min(detail::resample_chunk, span.last - o);
    detail::nearest_taps(g, row, o, count, chunk);
    for (std::int64_t i = 0; i < count; ++i) out[o + i] = in[chunk.offset[i]];
  }
}

template <int Axes, class T>
void linear(const ResampleGrid& g, const T* in, T* out) {
  const bool aligned = g.map[0][2] == 0 && g.map[1][2] == 0;
  [[maybe_unused]] const bool chunks = detail::offsets_fit(g);
  for_rows<Axes, true>(g, in, out, [&](const ResampleRow& row, const T* from, T* to, Span inner) {
    detail::linear_edge<Axes>(g, row, from, to, {0, inner.first});
    detail::linear_edge<Axes>(g, row, from, to, {inner.last, g.out_size[2]});
    if constexpr (std::is_same_v<T, float>)
      if (chunks) return linear_interior_chunks<Axes>(g, row, from, to, inner);
    if (aligned)
      detail::linear_interior<Axes, true>(g, row, from, to, inner);
    else
      detail::linear_interior<Axes, false>(g, row, from, to, inner);
  });
}

template <int Axes, class W>
void nearest(const ResampleGrid& g, const W* in, W* out) {
  const bool chunks = detail::offsets_fit(g);
  for_rows<Axes, false>(g, in, out, [&](const ResampleRow& row, const W* from, W* to, Span inner) {
    detail::nearest_edge<Axes>(g, row, from, to, {0, inner.first});
    detail::nearest_edge<Axes>(g, row, from, to, {inner.last, g.out_size[2]});
    if (chunks)
      nearest_interior_chunks(g, row, from, to, inner);
    else
      detail::nearest_interior<Axes>(g, row, from, to, inner);
  });
}

template <class W>
void nearest_words(const ResampleGrid& g, bool flat, const std::byte* in, std::byte* out) {
  const auto* from = reinterpret_cast<const W*>(in);
  auto* to = reinterpret_cast<W*>(out);
  flat ? nearest<2>(g, from, to) : nearest<3>(g, from, to);
}

}  // namespace

void resample(const Tensor& in, Tensor& out, const Affine& map, const ResampleOptions& options) {
  check(in, out, map);
  if (out.numel() == 0) return;
  const bool is_nearest =
      options.mode == Interpolation::nearest || (options.mode == Interpolation::by_dtype && !is_floating(in.dtype()));
  if (!is_nearest && size_of(in.dtype()) == 2 && is_floating(in.dtype())) {
    // half types: storage formats only, so through float
    const Tensor wide = in.to(DType::f32);
    Tensor result = Tensor::empty(DType::f32, out.shape());
    resample(wide, result, map, options);
    out.copy_from(result);
    return;
  }
  const ResampleGrid g = make_grid(in, out, map, options);
  const bool flat = in.rank() < 4;
  // the destination is the caller's even when its storage is shared (patches of one slot): no copy-on-write
  auto* to = const_cast<std::byte*>(out.raw());
  if (!is_nearest) {
    visit_arithmetic(in.dtype(), [&]<class T>(T) {
      const auto* source = reinterpret_cast<const T*>(in.raw());
      flat ? linear<2>(g, source, reinterpret_cast<T*>(to)) : linear<3>(g, source, reinterpret_cast<T*>(to));
    });
    return;
  }
  switch (size_of(in.dtype())) {
    case 1:
      return nearest_words<std::uint8_t>(g, flat, in.raw(), to);
    case 2:
      return nearest_words<std::uint16_t>(g, flat, in.raw(), to);
    case 4:
      return nearest_words<std::uint32_t>(g, flat, in.raw(), to);
    default:
      return nearest_words<std::uint64_t>(g, flat, in.raw(), to);
  }
}

}  // namespace headrace
