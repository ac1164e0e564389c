// Activity: workers that come and go without ever missing work (the coming-and-going word of the engine).
//
// What it is. One word {tick, active workers}. New work adds a tick. A worker reads the word, looks for work, and
// leaves by a compare-exchange from the very value it read: if anything came in between, the exchange fails and it
// looks again. So "I found nothing and am gone" and "here is work, is anyone there?" cannot pass each other unseen.
//
// Invariants
//   I1  active == launches granted by announce() or join() and not ended by leave() or withdraw(); at most the limit.
//   I2  Every announce() changes the tick, after the work was made findable.
//   I3  A worker that left had looked after the last tick before its leaving, and found nothing.
//
// Without the tick (a worker that leaves by a plain decrement) work is lost only in a rare interleaving that no stress
// test met; the scripted schedule in tests/lockfree and the Promela model do.
#pragma once
#include <atomic>
#include <cstdint>

#include "headrace/lockfree/cache_line.hpp"

namespace headrace::detail {

template <template <class> class Atom = std::atomic>
class Activity {
 public:
  /// What a worker read before it looked.
  using Seen = std::uint64_t;

  /// Before looking for work. Progress: wait-free.
  [[nodiscard]] Seen look() const noexcept {
    // [A1] acquire, from [H1]: the work announced by the tick that is seen here is found by the look that follows.
    return word_.load(std::memory_order_acquire);
  }

  /// New work is there. True: the caller must launch one worker. Progress: lock-free.
  [[nodiscard]] bool announce(unsigned limit) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange decides
    for (;;) {
      const bool start = active_of(word) < limit;
      // [H1] acq_rel, with [A1], [H2]: the work was made findable before the tick.
      if (word_.compare_exchange_weak(word, word + one_tick + (start ? one_active : 0), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return start;
      }
    }
  }

  /// More work was seen than one worker does. True: the caller must launch one worker. Progress: lock-free.
  [[nodiscard]] bool join(unsigned limit) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange decides
    while (active_of(word) < limit) {
      // relaxed: publishes nothing; the worker that is launched reads the word itself.
      if (word_.compare_exchange_weak(word, word + one_active, std::memory_order_relaxed, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Leaves if nothing was announced since `seen`. False: look again. Progress: wait-free.
  [[nodiscard]] bool leave(Seen seen) noexcept {
    // [H2] acq_rel, with [H1]: second in the word's order it fails and looks again; first, the announcer finds one
    // worker fewer and launches.
    return word_.compare_exchange_strong(seen, seen - one_active, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  /// A granted launch did not happen. Progress: wait-free.
  void withdraw() noexcept {
    word_.fetch_sub(one_active, std::memory_order_relaxed);  // relaxed: a count; publishes nothing
  }

  /// Workers launched and not gone. Progress: wait-free.
  [[nodiscard]] unsigned active() const noexcept {
    return active_of(word_.load(std::memory_order_relaxed));  // relaxed: a snapshot
  }
  /// Has anything been announced since `seen`? Progress: wait-free.
  [[nodiscard]] bool changed(Seen seen) const noexcept {
    return word_.load(std::memory_order_relaxed) != seen;  // relaxed: a hint; look() follows
  }

 private:
  static constexpr std::uint64_t one_active = 1;
  static constexpr std::uint64_t one_tick = std::uint64_t{1} << 16;
  static constexpr unsigned active_of(std::uint64_t word) noexcept { return static_cast<unsigned>(word & 0xFFFF); }

  // Layout: bits 63..16 tick, bits 15..0 active workers.
  alignas(cache_line) Atom<std::uint64_t> word_{0};
};

// Ordering table
//   | pair      | publishes                    | who relies on it          | why not weaker                      |
//   | H1 -> A1  | the work behind the tick     | a worker's look           | relaxed: sees the tick but not the  |
//   |           |                              |                           | work, and leaves                    |
//   | H1 <-> H2 | announcing before or after a | the announcer, the leaver | one RMW order decides; a store on   |
//   |           | leaving                      |                           | either side loses the start         |

}  // namespace headrace::detail
