// A set of voxels as a bitmap with rank and select: 1 bit (and 1/8 bit of index) per voxel instead of the 8 bytes per
// member of an index array, shared and never copied.
//
// Invariants: bit v stands for the voxel with C-order linear index v over the spatial axes; immutable after
// construction. select(k), the k-th member in ascending order, takes O(log n) (a search over counts per 512 voxels,
// then one word). Thread-safety: const, any number of readers.
#pragma once

#include <cstdint>
#include <headrace/tensor/shape.hpp>
#include <vector>

namespace headrace {

class VoxelSet {
 public:
  VoxelSet() = default;
  // An empty set over the given spatial shape; fill it word by word (bit b of word w is voxel 64*w + b), then it is
  // frozen. Bits beyond the last voxel must be 0: throws std::invalid_argument otherwise, and for a wrong number of
  // words.
  VoxelSet(const Shape& spatial, std::vector<std::uint64_t> words);

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t size() const noexcept { return count_; }  // members
  bool empty() const noexcept { return count_ == 0; }
  std::uint64_t voxels() const noexcept { return voxels_; }  // members or not
  bool contains(std::uint64_t voxel) const noexcept { return (words_[voxel / 64] >> (voxel % 64)) & 1; }

  // The linear index of the k-th member, k < size(). Throws std::out_of_range.
  std::uint64_t select(std::uint64_t k) const;
  // Members below `voxel`.
  std::uint64_t rank(std::uint64_t voxel) const noexcept;
  const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  std::size_t bytes() const noexcept { return (words_.size() + blocks_.size()) * 8; }

 private:
  static constexpr std::uint64_t words_per_block = 8;
  Shape shape_;
  std::uint64_t voxels_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> blocks_;  // blocks_[b]: members before block b; one more entry than blocks
};

}  // namespace headrace
