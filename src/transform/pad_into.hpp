// Padding into given memory: what the pads and zooms share.
#pragma once

#include <headrace/tensor/tensor.hpp>
#include <headrace/transform/spatial_pad.hpp>

namespace headrace::detail {

// `from` (channel first, any layout, with voxels) into the middle of `to` (contiguous, same type): `before` voxels in
// front on each spatial axis, the rest behind; what lies outside by the mode.
void pad_into(const Tensor& from, const Tensor& to, const Shape& before, PadMode mode, double value);

// Mode reflect reaches n - 1 voxels beyond an axis of n. Throws std::invalid_argument naming the op and what.
void check_reach(const Shape& image, const Shape& before, const Shape& after, PadMode mode, const char* op,
                 const std::string& what);

}  // namespace headrace::detail
