// Sampler: the order of an epoch as a function, (epoch, position) -> {dataset index, stream item}.
//
// The stream item addresses the item's random numbers: the dataset index where an epoch visits each item at most once,
// the position where it may come again (so that repeats differ). Being a function, any position of any epoch is reached
// at once, at any dataset size; nothing is stored but a key.
//
// A sampler of one's own: the number of positions per epoch and a pure, thread-safe function that makes the order of an
// epoch. What an order needs to be fast (a table, a key schedule) is made once per epoch, not per item.
// Thread-safety: const.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace {

struct SampledItem {
  std::uint64_t index = 0;
  std::uint64_t stream_item = 0;
};

// The order of one epoch: position -> item. Const and thread-safe.
using EpochOrder = std::function<SampledItem(std::uint64_t position)>;

class Sampler {
 public:
  // Item i at position i.
  static Sampler sequential(std::uint64_t items);
  // A seeded permutation of each epoch (docs/streams.md).
  static Sampler shuffled(std::uint64_t items, std::uint64_t seed);
  // The listed indices, in that order or shuffled. Where an index comes twice, positions are the stream items.
  static Sampler subset(std::vector<std::uint64_t> indices, bool shuffle, std::uint64_t seed);
  // `describe` names the sampler in fingerprints. Throws std::invalid_argument for an empty function.
  Sampler(std::uint64_t size, std::function<EpochOrder(std::uint32_t epoch)> order, std::string describe);

  std::uint64_t size() const noexcept { return size_; }
  EpochOrder order(std::uint32_t epoch) const { return order_(epoch); }
  // order = this->order(epoch), using the memory of `order` again where it is an order of this sampler: the samplers
  // made above then allocate nothing. No copy of `order` may be in use on another thread.
  void reorder(std::uint32_t epoch, EpochOrder& order) const;
  SampledItem operator()(std::uint32_t epoch, std::uint64_t position) const { return order_(epoch)(position); }
  const std::string& describe() const noexcept { return describe_; }

 private:
  std::uint64_t size_;
  std::function<EpochOrder(std::uint32_t)> order_;
  // Turns an order of this sampler into another epoch's; false where it is none. Empty: always made anew.
  std::function<bool(std::uint32_t, EpochOrder&)> turn_;
  std::string describe_;
};

}  // namespace headrace
