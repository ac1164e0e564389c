// A control for the freeze test: Vyukov's bounded queue (1024cores.net). Fast, simple, and not lock-free: a thread that
// stops between claiming a cell and publishing it blocks that cell, and with it everybody.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "headrace/lockfree/element.hpp"

namespace headrace::test {

template <template <class> class Atom = std::atomic>
class VyukovQueue {
 public:
  explicit VyukovQueue(std::size_t capacity) : capacity_(capacity), cells_(std::make_unique<Cell[]>(capacity)) {
    for (std::size_t i = 0; i < capacity; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
  }
  PushResult try_push(std::uint64_t value) noexcept {
    std::uint64_t position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position % capacity_];
      const std::uint64_t sequence = cell.sequence.load(std::memory_order_acquire);
      const auto difference = static_cast<std::int64_t>(sequence - position);
      if (difference < 0) return PushResult::full;
      if (difference > 0) {
        position = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_strong(position, position + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        cell.value = value;
        cell.sequence.store(position + 1, std::memory_order_release);  // stopped before this: blocks
        return PushResult::ok;
      }
    }
  }
  std::optional<std::uint64_t> try_pop() noexcept {
    std::uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position % capacity_];
      const std::uint64_t sequence = cell.sequence.load(std::memory_order_acquire);
      const auto difference = static_cast<std::int64_t>(sequence - (position + 1));
      if (difference < 0) return std::nullopt;
      if (difference > 0) {
        position = head_.load(std::memory_order_relaxed);
      } else if (head_.compare_exchange_strong(position, position + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        const std::uint64_t value = cell.value;
        cell.sequence.store(position + capacity_, std::memory_order_release);  // stopped before this: blocks
        return value;
      }
    }
  }

 private:
  struct Cell {
    Atom<std::uint64_t> sequence{0};
    std::uint64_t value = 0;
  };
  const std::size_t capacity_;
  std::unique_ptr<Cell[]> cells_;
  Atom<std::uint64_t> head_{0};
  Atom<std::uint64_t> tail_{0};
};

}  // namespace headrace::test
