// The address of a random stream: which (seed, epoch, item, patch, op) a random word belongs to, and where it lies in
// Philox's 128-bit counter. Stream version 1; docs/streams.md has the layout for people who reimplement it.
//
//   key = (seed low, seed high)
//   c0  = block within the op, 32 bits: four words a block, 2^34 words an op
//   c1  = op, 16 bits | patch, 14 bits | two zero bits
//   c2  = item, low 32 bits
//   c3  = item, high 12 bits | epoch, 20 bits
//
// Each field has its own bits, so two different addresses share no block: that is the invariant everything else rests
// on. A value that does not fit is an error that names the field; it never wraps into another stream.
// The same words come out of cuRAND's Philox with subsequence = (c3, c2) and offset = 4 * (c1, c0), in words.
#pragma once

#include <cstdint>
#include <headrace/random/philox.hpp>

namespace headrace {

/// The version of the mapping from addresses to words. A changed mapping is a new version.
inline constexpr int stream_version = 1;

inline constexpr std::uint64_t max_stream_item = (std::uint64_t{1} << 44) - 1;
inline constexpr std::uint32_t max_stream_epoch = (std::uint32_t{1} << 20) - 1;
inline constexpr std::uint32_t max_stream_patch = 16382;
inline constexpr std::uint32_t max_stream_op = 0xFFFF;
inline constexpr std::uint64_t stream_words_per_op = std::uint64_t{1} << 34;

/// The patch number that stands for the item itself, before any patch of it exists.
inline constexpr std::uint32_t item_patch = 0x3FFF;

/// Ops from here on belong to the library; ops of a pipeline are numbered below.
inline constexpr std::uint32_t first_reserved_op = 0xFF00;
inline constexpr std::uint32_t op_shuffle = 0xFF00;        ///< the order of an epoch
inline constexpr std::uint32_t op_weighted_draw = 0xFF01;  ///< a weighted sampler's choice
inline constexpr std::uint32_t op_substitute = 0xFF02;     ///< which index stands in for a failed item
inline constexpr std::uint32_t op_mixing = 0xFF03;         ///< mixing of data sets or of samples

/// Names one stream. An aggregate: `StreamAddress{.seed = 7, .epoch = 3, .item = 41, .patch = 2, .op = 5}`.
struct StreamAddress {
  std::uint64_t seed = 0;            ///< any 64-bit value
  std::uint32_t epoch = 0;           ///< 0..max_stream_epoch
  std::uint64_t item = 0;            ///< 0..max_stream_item
  std::uint32_t patch = item_patch;  ///< 0..max_stream_patch, or item_patch
  std::uint32_t op = 0;              ///< 0..max_stream_op; a wide type, so that a number too large is seen, not cut

  friend constexpr bool operator==(const StreamAddress&, const StreamAddress&) = default;
};

namespace detail {
/// Throws std::out_of_range: "stream FIELD VALUE is out of range: expected 0..MAX".
[[noreturn]] void throw_stream_range(const char* field, std::uint64_t value, std::uint64_t max);
}  // namespace detail

/// Throws std::out_of_range naming the first field that does not fit; does nothing otherwise.
constexpr void check_stream_address(const StreamAddress& address) {
  if (address.epoch > max_stream_epoch) detail::throw_stream_range("epoch", address.epoch, max_stream_epoch);
  if (address.item > max_stream_item) detail::throw_stream_range("item", address.item, max_stream_item);
  if (address.patch > item_patch) detail::throw_stream_range("patch", address.patch, max_stream_patch);
  if (address.op > max_stream_op) detail::throw_stream_range("op", address.op, max_stream_op);
}

/// The Philox key of a seed.
constexpr PhiloxKey stream_key(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

/// The Philox counter of block `block` of the stream. Throws std::out_of_range like check_stream_address.
/// On a device: compute this once on the host with block 0, and set word[0] to the block wanted.
constexpr PhiloxBlock stream_counter(const StreamAddress& address, std::uint32_t block = 0) {
  check_stream_address(address);
  return {{block, address.op | (address.patch << 16), static_cast<std::uint32_t>(address.item),
           static_cast<std::uint32_t>(address.item >> 32) | (address.epoch << 12)}};
}

/// The inverse of stream_key and stream_counter: the address that a key and a counter belong to (the block is dropped).
constexpr StreamAddress stream_address(PhiloxKey key, PhiloxBlock counter) {
  return {.seed = key.word[0] | (std::uint64_t{key.word[1]} << 32),
          .epoch = counter.word[3] >> 12,
          .item = counter.word[2] | (std::uint64_t{counter.word[3] & 0xFFFu} << 32),
          .patch = (counter.word[1] >> 16) & 0x3FFFu,
          .op = counter.word[1] & 0xFFFFu};
}

}  // namespace headrace
