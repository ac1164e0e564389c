// Stored voxels to tensor elements: conversion, scaling and the turn from first-axis-fastest to last-axis-fastest.
// Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <headrace/tensor/dtype.hpp>
#include <optional>
#include <span>
#include <string>

namespace headrace::detail {

// Slabs of a multiple of line_bytes / (element size) slices are written in whole cache lines.
inline constexpr std::size_t line_bytes = 64;

struct VoxelConversion {
  DType from = DType::u8;
  DType to = DType::f32;
  bool scaled = false;
  double slope = 1;
  double inter = 0;
};

// A box of a volume of n[0] x n[1] x n[2] voxels as it lies in the file: all of axis 0, rows [row, row + rows) of axis
// 1, slices [slice, slice + slices) of axis 2.
struct VoxelSlab {
  std::size_t n[3];
  std::size_t row, rows;
  std::size_t slice, slices;
};

// Converts the slab's voxels, which lie at `from` in file order and native byte order, into the volume at `to`, which
// is in C order. Returns false if some value does not fit an integer type (then what was written is unspecified).
bool copy_voxels(const VoxelConversion& conversion, const VoxelSlab& slab, const std::byte* from, std::byte* to);

// The first of `count` stored values that does not fit, in file order.
struct Misfit {
  std::size_t index;
  std::string value;
};
std::optional<Misfit> find_misfit(const VoxelConversion& conversion, const std::byte* from, std::size_t count);

// Reverses the bytes of each element.
void swap_elements(std::span<std::byte> bytes, std::size_t element);

}  // namespace headrace::detail
