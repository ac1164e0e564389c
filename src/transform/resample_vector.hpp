// The vectorised part of the sampler, dispatched at run time to the widest instruction set there is: coordinates,
// offsets and blending, over a chunk of one row's interior. Voxels are fetched in between by plain loads, which serve
// elements of every size (gathers exist for 32 and 64 bits only). Every lane does the steps of the scalar kernels, so
// the width cannot change a bit.
#pragma once

#include <cstdint>

#include "transform/resample_grid.hpp"

namespace headrace::detail {

inline constexpr std::int64_t resample_chunk = 128;  // voxels at a time: the buffers stay in the first-level cache
inline constexpr std::int64_t resample_padding = 8;  // whole vectors are read and written

struct ResampleChunk {
  alignas(64) std::int32_t offset[resample_chunk + resample_padding];  // of the first neighbour, or the nearest voxel
  alignas(64) double t[3][resample_chunk + resample_padding];          // between the neighbours on each axis
  // the two neighbours along axis 2, for each of the four lines through the cell (axis 0 slowest)
  alignas(64) float pairs[4][2 * (resample_chunk + resample_padding)];
};

// Whether every offset inside the image fits ResampleChunk::offset.
inline bool offsets_fit(const ResampleGrid& g) noexcept {
  double reach = 0;
  for (std::size_t d = 0; d < 3; ++d)
    reach += static_cast<double>(g.in_size[d] - 1) * std::fabs(static_cast<double>(g.in_stride[d]));
  return reach < 0x1p31;
}

// Fills offset and t for the voxels [first, first + count) of a row, count <= resample_chunk.
void linear_taps(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                 ResampleChunk& chunk);
// Fills offset.
void nearest_taps(const ResampleGrid& g, const ResampleRow& row, std::int64_t first, std::int64_t count,
                  ResampleChunk& chunk);
// Blends pairs by t; with two axes only the first two lines count.
void blend_pairs(ResampleChunk& chunk, int axes, std::int64_t count, float* out);

}  // namespace headrace::detail
