// Separable resampling of channel-first images: from n to m voxels per axis, axis after axis.
#pragma once

#include <headrace/sample/sample.hpp>
#include <headrace/transform/resize.hpp>

namespace headrace::detail {

// The size a by_dtype mode stands for.
ResizeMode mode_for(ResizeMode mode, DType dtype) noexcept;

// `from` at `size` voxels per spatial axis, into `to` (contiguous, from's type, that shape). Scratch memory from the
// sample. A size of 0 is not allowed.
void resize_into(Sample& sample, const Tensor& from, const Tensor& to, ResizeMode mode, bool align_corners);

// Input voxel of output voxel o: X o.
Affine resize_map(const Shape& from, const Shape& to, bool align_corners);

}  // namespace headrace::detail
