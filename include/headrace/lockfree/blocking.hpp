// Blocking<Ring>: a ring whose push and pop wait, and can be closed and cancelled.
//
// What it is. The blocking form of MpmcRing and SpscRing, with the names and the close of the standard's concurrent
// queues (P0260): push and pop wait, try_push and try_pop do not, after close() pushes fail and pops go on until the
// queue is drained.
//
// When not to use it. Inside a task of a thread pool: a task that waits for room holds a worker.
// Where the waiting thread could do the work itself.
//
// Invariants
//   I1  An element whose push returned ok before a close is popped before any pop reports the end; no pop decides
//       "end" by an empty queue (the ring's drained() is the only judge). After cancel() elements may stay, and are
//       destroyed with the queue.
//   I2  Close and cancel are states: set once, looked at by every waiter after it has announced itself.
//   I3  A side's `asked` is set by whoever is about to sleep there, before its last look at the ring. It is 0 while
//       somebody sleeps only if one thread is under way that will look and then ask again: the one that was woken.
//   I4  A wait ends within EventCount::longest_sleep of its condition whatever happens; rescues() counts lost wakeups
//       and must stay 0.
//
// Algorithm: try; spin for a bounded time, the last part by yielding; then sleep on an event count. A push wakes a
// sleeping consumer only if one has asked, and takes the ask away, so that pushes that come before it runs cost
// nothing: the woken thread empties the queue, and on its way out wakes the next sleeper if there is still something to
// do. So one call into the kernel serves a batch of elements, and nobody is woken who did not ask. `wake_interval`
// makes batches on purpose: a thread that was woken a moment ago naps until the interval is over before it asks again.
// In a ring whose operations are sequentially consistent (MpmcRing) a push looks at `asked` by a load; else (SpscRing)
// by a read-modify-write, because a load may pass the publication (store buffering).
//
// Progress: try_push, try_pop and close as in the ring, plus at most one system call that does not block. push and pop
// block (park). A peer suspended between taking an ask and waking delays the sleeper at most longest_sleep.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "headrace/lockfree/backoff.hpp"
#include "headrace/lockfree/cache_line.hpp"
#include "headrace/lockfree/element.hpp"
#include "headrace/lockfree/event_count.hpp"

namespace headrace {

/// How a waiting operation spends its time before it sleeps.
struct BlockingOptions {
  /// Looks with a pause of the processor between them, 0 or more.
  unsigned spins = 4;
  /// Then looks with a yield to other threads between them, 0 or more.
  unsigned yields = 16;
  /// A thread is woken by a single element at most once in this time; in between it naps, and elements gather. Bounds
  /// the wake-ups per second, adds up to this (and the kernel's timer slack) to the latency of an element. 0: never
  /// naps.
  std::chrono::nanoseconds wake_interval = std::chrono::microseconds(50);
};

/// `Ring` is MpmcRing or SpscRing (then one thread pushes and one pops). `Atom` must be the ring's.
template <class Ring, template <class> class Atom = std::atomic>
class Blocking {
 public:
  using value_type = typename Ring::value_type;
  using Clock = std::chrono::steady_clock;

  /// A queue of exactly `capacity` elements; errors as the ring's.
  explicit Blocking(std::size_t capacity, BlockingOptions options = {}) : options_(options), ring_(capacity) {
    static_assert(offsetof(Side, asked) >= cache_line && sizeof(Side) == 2 * cache_line);
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

  /// Appends `value`, waiting for room. Never `full`; on `closed` the argument is as it was.
  /// Progress: blocks (parks) while the queue is full; a stalled consumer keeps it full.
  PushResult push(value_type&& value) noexcept { return push_until(std::move(value), Clock::time_point::max()); }
  PushResult push(const value_type& value) requires std::copy_constructible<value_type> {
    return push(value_type(value));
  }

  /// As push, but `full` when `deadline` (or the time) passed first. A deadline in the past never sleeps.
  PushResult push_until(value_type&& value, Clock::time_point deadline) noexcept {
    PushResult result = PushResult::full;
    wait(room_, items_, deadline, [&]() noexcept {
      result = cancelled() ? PushResult::closed : ring_.try_push(std::move(value));
      return result != PushResult::full;
    });
    if (result == PushResult::ok) wake(items_);
    return result;
  }
  PushResult push_for(value_type&& value, std::chrono::nanoseconds time) noexcept {
    return push_until(std::move(value), after(time));
  }
  PushResult push_until(const value_type& value,
                        Clock::time_point deadline) requires std::copy_constructible<value_type> {
    return push_until(value_type(value), deadline);
  }
  PushResult push_for(const value_type& value,
                      std::chrono::nanoseconds time) requires std::copy_constructible<value_type> {
    return push_for(value_type(value), time);
  }

  /// The oldest element, waiting for one. Nothing means the end: closed and drained, or cancelled.
  /// Progress: blocks (parks) while the queue is empty and open; a stalled producer keeps it empty.
  [[nodiscard]] std::optional<value_type> pop() noexcept { return pop_until(Clock::time_point::max()); }

  /// As pop, but nothing also when `deadline` (or the time) passed first; drained() tells which.
  [[nodiscard]] std::optional<value_type> pop_until(Clock::time_point deadline) noexcept {
    std::optional<value_type> value;
    wait(items_, room_, deadline, [&]() noexcept {
      if (cancelled()) return true;
      take(value);
      return value.has_value() || ring_.drained();
    });
    if (value) wake(room_);
    return value;
  }
  [[nodiscard]] std::optional<value_type> pop_for(std::chrono::nanoseconds time) noexcept {
    return pop_until(after(time));
  }

  /// As the ring's; wakes a consumer that has asked. Progress: the ring's, and at most one call that does not block.
  PushResult try_push(value_type&& value) noexcept {
    if (cancelled()) return PushResult::closed;
    const PushResult result = ring_.try_push(std::move(value));
    if (result == PushResult::ok) wake(items_);
    return result;
  }
  PushResult try_push(const value_type& value) requires std::copy_constructible<value_type> {
    if (cancelled()) return PushResult::closed;
    const PushResult result = ring_.try_push(value);
    if (result == PushResult::ok) wake(items_);
    return result;
  }

  /// As the ring's; wakes a producer that has asked. Progress: the ring's, and at most one call that does not block.
  [[nodiscard]] std::optional<value_type> try_pop() noexcept {
    std::optional<value_type> value;
    if (cancelled()) return value;
    take(value);
    if (value) wake(room_);
    return value;
  }

  /// No push succeeds any more; pops go on until the queue is drained. May be called again, from any thread; with a
  /// SpscRing by the producer (or when it has stopped). Progress: the ring's, and two calls that do not block.
  void close() noexcept {
    ring_.close();
    wake_all();
  }

  /// No push succeeds any more and every pop reports the end at once, whatever is left. From any thread, any number of
  /// times. An element whose push races with it may be lost (destroyed with the queue).
  /// Progress: the ring's, and two calls that do not block.
  void cancel() noexcept {
    // [C1] release, to [C2]: what was done before the cancel. That no waiter sleeps over it is the event count's part.
    cancelled_.store(true, std::memory_order_release);
    ring_.close();
    wake_all();
  }

  [[nodiscard]] bool closed() const noexcept { return cancelled() || ring_.closed(); }
  /// Nothing will ever be popped again. Once true, true for ever. Call as a consumer.
  [[nodiscard]] bool drained() noexcept { return cancelled() || ring_.drained(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.capacity(); }

  /// Calls into the kernel to sleep, and lost wakeups (must be 0). Relaxed snapshots.
  [[nodiscard]] std::uint64_t sleeps() const noexcept { return items_.events.sleeps() + room_.events.sleeps(); }
  [[nodiscard]] std::uint64_t rescues() const noexcept { return items_.events.rescues() + room_.events.rescues(); }

 private:
  // One side's sleepers. `asked` on a line of its own: every push (or pop) reads it.
  struct Side {
    EventCount<Atom> events;
    alignas(cache_line) Atom<std::uint32_t> asked{0};
    std::atomic<std::int64_t> last_wake{0};  // nanoseconds of Clock; a heuristic
  };

  static Clock::time_point after(std::chrono::nanoseconds time) noexcept {
    const auto now = Clock::now();
    return time >= Clock::time_point::max() - now ? Clock::time_point::max() : now + time;
  }

  bool cancelled() const noexcept {
    // [C2] acquire, from [C1]: whoever sees the cancel sees its reason.
    return cancelled_.load(std::memory_order_acquire);
  }

  void take(std::optional<value_type>& value) noexcept {
    if (auto taken = ring_.try_pop()) value.emplace(std::move(*taken));
  }

  // Returns when `done()` has said true, or at the deadline. `done` is a try at the ring.
  template <class Done>
  void wait(Side& mine, Side& other, Clock::time_point deadline, Done&& done) noexcept {
    if (done()) return;
    const bool in_time = deadline == Clock::time_point::max() || Clock::now() < deadline;
    if (in_time) {
      for (unsigned i = 0; i < options_.spins; ++i) {
        detail::pause_processor();
        if (done()) return;
      }
      for (unsigned i = 0; i < options_.yields; ++i) {
        std::this_thread::yield();
        if (done()) return;
      }
    }
    // Whoever naps on the other side can make this side's condition true. A napper missed here wakes by itself.
    if (other.events.waiters() != 0) other.events.notify_one();
    if (!(in_time && nap(mine, deadline, done))) {
      mine.events.await(
          [&]() noexcept {
            ask(mine);
            return done();
          },
          deadline);
    }
    if (options_.wake_interval.count() > 0)
      mine.last_wake.store(ticks(), std::memory_order_relaxed);  // relaxed: a guess
    pass_on(mine);
  }

  // Sleeps without having asked until wake_interval after the side's last wake-up. True when `done()` has said so.
  template <class Done>
  bool nap(Side& side, Clock::time_point deadline, Done&& done) noexcept {
    if (options_.wake_interval.count() <= 0) return false;
    // relaxed: a heuristic
    const auto rest =
        options_.wake_interval - std::chrono::nanoseconds(ticks() - side.last_wake.load(std::memory_order_relaxed));
    if (rest.count() <= 0 || (deadline != Clock::time_point::max() && Clock::now() + rest >= deadline)) return false;
    const auto key = side.events.prepare();
    if (done()) {
      side.events.cancel();
      return true;
    }
    side.events.wait(key, rest);
    return done();
  }
  static std::int64_t ticks() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  }

  void ask(Side& side) noexcept {
    if constexpr (Ring::sequential) {
      // [S1] seq_cst, with [S2], [S4]: the ask comes before the look that follows; either it is seen or the look sees.
      side.asked.store(1, std::memory_order_seq_cst);
    } else {
      // [S3] acq_rel, with [S4]: as [S1], decided by the order of one word.
      side.asked.exchange(1, std::memory_order_acq_rel);
    }
  }
  bool asked(Side& side) noexcept {
    if constexpr (Ring::sequential) {
      // [S2] seq_cst, with [S1]: after this thread's push or pop.
      return side.asked.load(std::memory_order_seq_cst) != 0;
    } else {
      return true;
    }
  }
  void wake(Side& side) noexcept {
    // [S4] acq_rel, with [S3], [S1]: takes the ask away; one of many wakers wins.
    if (asked(side) && side.asked.exchange(0, std::memory_order_acq_rel) != 0) side.events.notify_one();
  }

  // A thread that leaves the sleepers' side may carry the only wake-up: others that sleep must be asked for again, and
  // where something is left for them, woken.
  void pass_on(Side& side) noexcept {
    if (side.events.waiters() == 0) return;
    ask(side);
    const bool work = &side == &items_ ? !ring_.empty() || ring_.closed() : !ring_.full() || ring_.closed();
    if (work || cancelled()) wake(side);
  }

  void wake_all() noexcept {
    items_.events.notify_all();
    room_.events.notify_all();
  }

  const BlockingOptions options_;
  Atom<bool> cancelled_{false};
  Ring ring_;
  Side items_;  // consumers wait here
  Side room_;   // producers wait here
};

// clang-format off
// Ordering table
//   | pair             | publishes                       | who relies on it       | why not weaker                     |
//   | S1 <-> S2        | "asked" against the ring's      | every sleep on a       | acquire and release: both sides    |
//   | with the ring's  | entry                           | MpmcRing               | can miss (store buffering)         |
//   | N1, N2           |                                 |                        |                                    |
//   | S3 <-> S4        | "asked" against the ring's      | every sleep on a       | one word's order decides; a load   |
//   |                  | position                        | SpscRing               | in place of S4 may pass the store  |
//   | S1, S3 -> S4     | the announcement before the ask | the waker's look at    | relaxed: it could see no waiter    |
//   |                  |                                 | the event count        |                                    |
//   | C1 -> C2         | what was done before the cancel | who is told the end    | relaxed: it misses the reason      |
// clang-format on

}  // namespace headrace
