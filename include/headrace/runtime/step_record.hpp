// StepRecord: everything that threads share about one binding of one step to one slot, kept with the slot.
//
// Invariants
//   I1  A record is bound to a new step only when its last count is down; so a thread that holds an uncounted item or
//       part may use the record and the slot, and one that does not may touch nothing but an item's word.
//   I2  An item's word is {ticket, parts left}. It is open while parts are left. Claiming a part is a compare-exchange
//       that takes one part off; the ticket in it makes a claim from an earlier binding fail.
//   I3  A word with the item's own ticket and nothing left is used up: all claimed, or void. Opening it fails.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "headrace/lockfree/cache_line.hpp"
#include "headrace/runtime/job.hpp"

namespace headrace::detail {

/// {ticket modulo 2^50, parts left}: compared for equality only, so the ticket may wrap.
class PartWord {
 public:
  static constexpr int left_bits = 14;
  static_assert(max_parts == (1u << left_bits) - 1);

  static constexpr std::uint64_t make(std::uint64_t ticket, unsigned left) noexcept {
    return ticket << left_bits | left;
  }
  static constexpr unsigned left(std::uint64_t word) noexcept { return static_cast<unsigned>(word) & max_parts; }
  static constexpr bool is_of(std::uint64_t word, std::uint64_t ticket) noexcept {
    return (word ^ make(ticket, 0)) >> left_bits == 0;
  }
};

template <template <class> class Atom>
struct alignas(cache_line) ItemRecord {
  // A word that no ticket has: the first binding of any slot has a smaller ticket than this.
  Atom<std::uint64_t> word{PartWord::make(~std::uint64_t{0}, 0)};
  Atom<std::uint32_t> unfinished{0};  // parts whose run is not over
  std::uint32_t parts = 0;            // written by the opener before the word
  const void* opener = nullptr;       // the opener's thread, likewise
};

template <class Slot, template <class> class Atom>
struct alignas(cache_line) StepRecord {
  template <class MakeSlot>
  StepRecord(MakeSlot&& make_slot, std::uint16_t number, unsigned batch)
      : index(number), items(std::make_unique<ItemRecord<Atom>[]>(batch)), slot(make_slot()) {}

  static constexpr std::uint32_t nothing_refused = ~std::uint32_t{0};

  const std::uint16_t index;                     // the slot's number
  std::uint64_t step = 0;                        // written when bound
  unsigned count = 0;                            // items of this step; written when bound
  Atom<std::uint32_t> unfinished{0};             // items not complete
  Atom<std::uint32_t> refused{nothing_refused};  // the lowest item with too many parts
  std::unique_ptr<ItemRecord<Atom>[]> items;
  Slot slot;
};

}  // namespace headrace::detail
