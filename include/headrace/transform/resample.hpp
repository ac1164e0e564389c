// resample: the one sampler behind every op that moves voxels by an affine map (Spacing, RandAffine).
//
//   out[c, o] = in[c] at the input index  x = map * o
//
// in: channel first, one to three spatial axes, any strides (a cropped, flipped or permuted view of a cached volume is
// read where it lies). out: same element type, channels and rank, contiguous; written in place, whoever else holds its
// storage: it is the caller's, like a batch slot. Every element of out is written once and never read.
//
// When not to use it: for shifts by whole voxels, flips and axis swaps, which are views of a Tensor and cost nothing.
//
// Coordinates are double: x_d = ((m_d0*o_0 + m_d1*o_1) + m_d3) + m_d2*o_2, each operation rounded, never accumulated
// along a row. Outside of [0, n-1] the padding decides:
//   border      x is clamped to [0, n-1]
//   reflection  x is mirrored at -0.5 and n-0.5 (with align_corners: at 0 and n-1), then clamped
//   zeros       voxels outside the image count as 0
//
// linear: in double, axis 2 first, then 1, then 0, each step a*(1-t) + b*t, then one rounding to the element type;
// integers round half to even and are clamped to their range (64-bit integers are read as doubles: exact up to 2^53). A
// neighbour outside the image counts as 0 with whatever weight it has; NaN and infinities propagate from neighbours
// inside. Half types interpolate through float.
//
// nearest: round half to even on x, per axis; a copy of the bits, for every type.
//
// So the result is the same, bit for bit, on every compiler and processor.
//
// Errors: std::invalid_argument (shapes, types, an empty image, a map that is not finite, out not contiguous, read-only
// or overlapping in). Thread-safety: a pure function; different outs may be written at once. Wait-free; allocates
// nothing (linear on half types: one float copy of in and of out).
// Source: torch's grid_sample as MONAI 1.6.1 calls it; ties differ on purpose (half to even on the index).
#pragma once

#include <headrace/sample/affine.hpp>
#include <headrace/tensor/tensor.hpp>
#include <headrace/transform/options.hpp>

namespace headrace {

struct ResampleOptions {
  Interpolation mode = Interpolation::by_dtype;
  Padding padding_mode = Padding::border;
  bool align_corners = false;  // only where reflection mirrors
};

// `map` takes output voxels to input voxels; for images of R < 3 spatial axes only its first R rows and columns and the
// first R entries of its last column count.
void resample(const Tensor& in, Tensor& out, const Affine& map, const ResampleOptions& options = {});

}  // namespace headrace
