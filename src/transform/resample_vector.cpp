#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/resample_vector.cpp"  // read again for every instruction set
#include <hwy/foreach_target.h>
// Highway's own order: foreach_target first.
#include <hwy/highway.h>

#include <algorithm>

#include "transform/resample_vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace headrace::detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using DFloat = hn::Rebind<float, D>;
using DOffset = hn::Rebind<std::int32_t, D>;

V coordinate(const ResampleRow& row, std::size_t axis, V along) {
  const D d;
  return hn::Add(hn::Set(d, row.base[axis]), hn::Mul(hn::Set(d, row.step[axis]), along));
}

// Offsets are sums of whole numbers below 2^53: exact in double. Leading axes that the image lacks have stride 0.
void linear_taps_kernel(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                        ResampleChunk& chunk) {
  const D d;
  const DOffset di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V iota = hn::Iota(d, 0);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const V along = hn::Add(hn::Set(d, static_cast<double>(first + i)), iota);
    V offset = hn::Zero(d);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const V x = coordinate(row, axis, along);
      const V whole = hn::Floor(x);
      hn::Store(hn::Sub(x, whole), d, chunk.t[axis] + i);
      offset = hn::Add(offset, hn::Mul(whole, hn::Set(d, static_cast<double>(g.in_stride[axis]))));
    }
    hn::Store(hn::DemoteTo(di, offset), di, chunk.offset + i);
  }
}

void nearest_taps_kernel(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                         ResampleChunk& chunk) {
  const D d;
  const DOffset di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V iota = hn::Iota(d, 0);
  const V shift = hn::Set(d, 0x1.8p52);  // half to even, as in round_even
  for (std::int64_t i = 0; i < count; i += lanes) {
    const V along = hn::Add(hn::Set(d, static_cast<double>(first + i)), iota);
    V offset = hn::Zero(d);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const V whole = hn::Sub(hn::Add(coordinate(row, axis, along), shift), shift);
      offset = hn::Add(offset, hn::Mul(whole, hn::Set(d, static_cast<double>(g.in_stride[axis]))));
    }
    hn::Store(hn::DemoteTo(di, offset), di, chunk.offset + i);
  }
}

void blend_pairs_kernel(ResampleChunk& chunk, int axes, std::int64_t count, float* out) {
  const D d;
  const DFloat df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V one = hn::Set(d, 1.0);
  const int lines = axes == 3 ? 4 : 2;
  for (int line = 0; line < lines; ++line)  // the lanes beyond the last voxel
    std::fill(chunk.pairs[line] + 2 * count, chunk.pairs[line] + 2 * (count + resample_padding), 0.0f);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const V t2 = hn::Load(d, chunk.t[2] + i);
    const V s2 = hn::Sub(one, t2);
    const auto line = [&](int n) HWY_ATTR {
      hn::Vec<DFloat> near, far;
      hn::LoadInterleaved2(df, chunk.pairs[n] + 2 * i, near, far);
      return hn::Add(hn::Mul(hn::PromoteTo(d, near), s2), hn::Mul(hn::PromoteTo(d, far), t2));
    };
    const V t1 = hn::Load(d, chunk.t[1] + i);
    const V s1 = hn::Sub(one, t1);
    V value = hn::Add(hn::Mul(line(0), s1), hn::Mul(line(1), t1));
    if (axes == 3) {
      const V t0 = hn::Load(d, chunk.t[0] + i);
      const V other = hn::Add(hn::Mul(line(2), s1), hn::Mul(line(3), t1));
      value = hn::Add(hn::Mul(value, hn::Sub(one, t0)), hn::Mul(other, t0));
    }
    const auto rounded = hn::DemoteTo(df, value);
    if (i + lanes <= count) {
      hn::StoreU(rounded, df, out + i);
    } else {
      HWY_ALIGN float rest[hn::MaxLanes(df)];
      hn::Store(rounded, df, rest);
      std::copy(rest, rest + (count - i), out + i);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::detail {

HWY_EXPORT(linear_taps_kernel);
HWY_EXPORT(nearest_taps_kernel);
HWY_EXPORT(blend_pairs_kernel);

void linear_taps(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                 ResampleChunk& chunk) {
  HWY_DYNAMIC_DISPATCH(linear_taps_kernel)(g, row, first, count, chunk);
}
void nearest_taps(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                  ResampleChunk& chunk) {
  HWY_DYNAMIC_DISPATCH(nearest_taps_kernel)(g, row, first, count, chunk);
}
void blend_pairs(ResampleChunk& chunk, int axes, std::int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(blend_pairs_kernel)(chunk, axes, count, out);
}

}  // namespace headrace::detail
#endif
