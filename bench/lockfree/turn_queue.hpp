// A peer: a queue of turns, the kind of rigtorp's MPMCQueue, written from its idea. Position p uses cell p % capacity
// in its turn p / capacity; a cell counts 2 * turn when it may be written and 2 * turn + 1 when it may be read. Not
// lock-free: a thread that stalls between taking its position and turning the cell holds up everyone who comes to that
// cell a lap later; and `try` answers "full" or "empty" when it meets such a cell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bench {

template <class T>
class TurnQueue {
 public:
  explicit TurnQueue(std::size_t capacity) : capacity_(capacity), cells_(new Cell[capacity]) {}

  bool try_push(T&& item) noexcept {
    std::uint64_t p = tail_.load(std::memory_order_acquire);
    for (;;) {
      Cell& cell = cells_[p % capacity_];
      if (cell.turn.load(std::memory_order_acquire) == p / capacity_ * 2) {
        if (tail_.compare_exchange_strong(p, p + 1)) {
          cell.item = std::move(item);
          cell.turn.store(p / capacity_ * 2 + 1, std::memory_order_release);
          return true;
        }
      } else {
        const std::uint64_t before = std::exchange(p, tail_.load(std::memory_order_acquire));
        if (p == before) return false;
      }
    }
  }
  bool try_pop(T& item) noexcept {
    std::uint64_t p = head_.load(std::memory_order_acquire);
    for (;;) {
      Cell& cell = cells_[p % capacity_];
      if (cell.turn.load(std::memory_order_acquire) == p / capacity_ * 2 + 1) {
        if (head_.compare_exchange_strong(p, p + 1)) {
          item = std::move(cell.item);
          cell.turn.store(p / capacity_ * 2 + 2, std::memory_order_release);
          return true;
        }
      } else {
        const std::uint64_t before = std::exchange(p, head_.load(std::memory_order_acquire));
        if (p == before) return false;
      }
    }
  }

 private:
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> turn{0};
    T item{};
  };
  const std::size_t capacity_;
  std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace bench
