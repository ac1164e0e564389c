#include <algorithm>
#include <bit>
#include <headrace/sample/voxel_set.hpp>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

// The position of the k-th set bit of a word (k < popcount): halves, so that no instruction beyond popcount is needed.
unsigned select_in_word(std::uint64_t word, unsigned k) noexcept {
  unsigned position = 0;
  for (unsigned width = 32; width > 0; width /= 2) {
    const auto below = static_cast<unsigned>(std::popcount(word & ((std::uint64_t{1} << width) - 1)));
    if (k >= below) {
      k -= below;
      word >>= width;
      position += width;
    }
  }
  return position;
}

}  // namespace

VoxelSet::VoxelSet(const Shape& spatial, std::vector<std::uint64_t> words)
    : shape_(spatial), voxels_(static_cast<std::uint64_t>(spatial.numel())), words_(std::move(words)) {
  if (words_.size() != (voxels_ + 63) / 64)
    throw std::invalid_argument(std::to_string(words_.size()) + " words given for a voxel set of shape " +
                                spatial.str());
  if (voxels_ % 64 != 0 && (words_.back() >> (voxels_ % 64)) != 0)
    throw std::invalid_argument("a voxel set of shape " + spatial.str() + " has bits beyond its last voxel");
  blocks_.reserve(words_.size() / words_per_block + 2);
  for (std::size_t w = 0; w < words_.size(); ++w) {
    if (w % words_per_block == 0) blocks_.push_back(count_);
    count_ += static_cast<std::uint64_t>(std::popcount(words_[w]));
  }
  blocks_.push_back(count_);
}

std::uint64_t VoxelSet::select(std::uint64_t k) const {
  if (k >= count_)
    throw std::out_of_range("member " + std::to_string(k) + " asked of a voxel set of " + std::to_string(count_));
  // The last block whose count is <= k.
  const auto block =
      static_cast<std::size_t>(std::upper_bound(blocks_.begin(), blocks_.end(), k) - blocks_.begin()) - 1;
  std::uint64_t left = k - blocks_[block];
  for (std::size_t w = block * words_per_block;; ++w) {
    const auto members = static_cast<std::uint64_t>(std::popcount(words_[w]));
    if (left < members) return w * 64 + select_in_word(words_[w], static_cast<unsigned>(left));
    left -= members;
  }
}

std::uint64_t VoxelSet::rank(std::uint64_t voxel) const noexcept {
  voxel = std::min(voxel, voxels_);
  const std::uint64_t word = voxel / 64, block = word / words_per_block;
  std::uint64_t n = blocks_.empty() ? 0 : blocks_[block];
  for (std::uint64_t w = block * words_per_block; w < word; ++w)
    n += static_cast<std::uint64_t>(std::popcount(words_[w]));
  if (voxel % 64)
    n += static_cast<std::uint64_t>(std::popcount(words_[word] & ((std::uint64_t{1} << (voxel % 64)) - 1)));
  return n;
}

}  // namespace headrace
