// A made-up abdomen: something with the shape, the values and the geometry of a CT scan with a labelled spleen, so that
// pipelines have foreground, background, air and noise to work on. It teaches a network nothing.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/sample/affine.hpp>
#include <headrace/tensor/tensor.hpp>

namespace headrace::tool {

struct Phantom {
  Tensor image;  // i16 [1, x, y, z], Hounsfield-like
  Tensor label;  // u8 [1, x, y, z], 1 in the spleen
  Affine affine;
};

struct PhantomOptions {
  std::array<std::int64_t, 3> shape{128, 128, 64};
  // Each size is made larger by a random part of it, up to this much.
  double vary = 0;
  double noise = 15;  // standard deviation
};

// A function of its arguments: every number comes from the random stream of (seed, item).
Phantom make_phantom(const PhantomOptions& options, std::uint64_t seed, std::uint64_t item);

}  // namespace headrace::tool
