// EventCount: sleep until a condition that other threads make true, without a lock and without a lost wakeup.
//
// What it is. A waiter announces itself, looks at its condition once more, and only then sleeps; a notifier makes the
// condition true and then notifies. Both sides change the same 64-bit word, so one of them comes second and sees the
// other: either the waiter finds the condition true, or the notifier finds the waiter. (The idea of Vyukov's and
// folly's event counts; that a separate flag read by a plain load is *not* enough is store buffering.)
//
// When not to use it. Where the waiter could do the work itself; where a condition changes millions of times a second
// with somebody always asleep (each notify is then a system call).
//
// Invariants
//   I1  waiters == announcements not yet ended by cancel() or wait().
//   I2  The epoch changes with every notify and with nothing else; it may wrap (32 bits).
//   I3  A sleep ends within `longest_sleep` whatever happens. A sleep that ended by time, found its condition true and
//       saw no notify is a *rescue*: a lost wakeup somewhere. Tests require 0.
//
// The epoch is the word the kernel compares, so a notify between announcement and sleep makes the sleep return at once.
// A notifier touches the word once; waking uses its address only.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <type_traits>

#include "headrace/lockfree/cache_line.hpp"
#include "headrace/lockfree/futex.hpp"

namespace headrace {

template <template <class> class Atom = std::atomic>
class EventCount {
 public:
  using Clock = std::chrono::steady_clock;

  /// The longest one sleep lasts before the condition is looked at again.
  static constexpr std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds(100);

  /// What the waiter saw when it announced itself.
  struct Key {
    std::uint32_t epoch;
  };

  /// `first_epoch` lets a test start next to the wrap.
  explicit EventCount(std::uint32_t first_epoch = 0) noexcept : word_(std::uint64_t{first_epoch} << 32) {
    static_assert(alignof(EventCount) == cache_line && sizeof(EventCount) == cache_line, "neighbours keep away");
  }
  EventCount(const EventCount&) = delete;
  EventCount& operator=(const EventCount&) = delete;

  /// Announces a waiter. Must be followed by a look at the condition, then by cancel() or wait().
  /// Progress: wait-free.
  [[nodiscard]] Key prepare() noexcept {
    // [H1] acq_rel, with [H2], [H3]: the announcement. Second in the word's order: the look that follows sees what the
    // notifier wrote before [H2]. First: [H2] sees this waiter.
    return Key{epoch_of(word_.fetch_add(one_waiter, std::memory_order_acq_rel))};
  }

  /// Ends an announcement without sleeping. Progress: wait-free.
  void cancel() noexcept {
    word_.fetch_sub(one_waiter, std::memory_order_relaxed);  // relaxed: a count; publishes nothing
  }

  /// Sleeps until a notify that came after `key`, or `at_most`; then ends the announcement. True when notified.
  /// Progress: blocks (parks), at most `at_most`.
  bool wait(Key key, std::chrono::nanoseconds at_most) noexcept {
    const auto until = Clock::now() + at_most;
    bool notified = true;
    // [A1] acquire, from [H2]: the epoch that ends the sleep brings what was written before the notify.
    while (epoch_of(word_.load(std::memory_order_acquire)) == key.epoch) {
      sleeps_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
      if (!detail::Futex<Atom>::wait(word_, key.epoch, at_most)) {
        // [A2] acquire, from [H2]: as [A1]; a notify and the end of the time may coincide.
        notified = epoch_of(word_.load(std::memory_order_acquire)) != key.epoch;
        break;
      }
      at_most = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(until - Clock::now()));
    }
    cancel();
    return notified;
  }

  /// Wakes one waiter, or all. Call after the condition was made true.
  /// Progress: wait-free when nobody waits (one RMW), else one system call that does not block.
  void notify_one() noexcept { notify(1); }
  void notify_all() noexcept { notify(INT_MAX); }

  /// As notify_one, but only if somebody waits and `wanted()` says so: for a waiter that writes down, before prepare(),
  /// what it waits for (a relaxed store will do), and is woken for nothing else. Progress: as notify_one.
  template <class Wanted>
  requires std::is_nothrow_invocable_r_v<bool, Wanted&>
  void notify_one_if(Wanted&& wanted) noexcept {
    // [H3] acq_rel, with [H1]: as [H2], although it changes nothing: second in the word's order, it sees the waiter and
    // what that wrote down; first, the waiter's look sees the condition.
    const std::uint64_t before = word_.fetch_add(0, std::memory_order_acq_rel);
    if (static_cast<std::uint32_t>(before) != 0 && wanted()) notify(1);
  }

  /// Returns true once `ready()` does, or false when `deadline` passed first; a deadline in the past never sleeps.
  /// Progress: blocks (parks) until notified or the deadline.
  template <class Ready>
  requires std::is_nothrow_invocable_r_v<bool, Ready&>
  bool await(Ready&& ready, Clock::time_point deadline = Clock::time_point::max()) noexcept {
    for (;;) {
      if (ready()) return true;
      const Key key = prepare();
      confirm_suspicion(key);
      if (ready()) {
        cancel();
        return true;
      }
      std::chrono::nanoseconds span = longest_sleep;
      if (deadline != Clock::time_point::max()) {
        const auto now = Clock::now();
        if (now >= deadline) {
          cancel();
          return false;
        }
        span = std::min(span, std::chrono::nanoseconds(deadline - now));
      }
      if (!wait(key, span) && ready()) {
        suspect(key);
        return true;
      }
    }
  }

  /// Sleeps so far (calls into the kernel), and rescues (I3). Relaxed snapshots. Progress: wait-free.
  [[nodiscard]] std::uint64_t sleeps() const noexcept {
    return sleeps_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  [[nodiscard]] std::uint64_t rescues() const noexcept {
    return rescues_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  /// Announcements not ended. Exact only when no thread is inside. Progress: wait-free.
  [[nodiscard]] std::uint32_t waiters() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed));  // relaxed: a snapshot
  }

 private:
  static constexpr std::uint64_t one_waiter = 1;
  static constexpr std::uint64_t one_epoch = std::uint64_t{1} << 32;
  static constexpr std::uint64_t suspicion = std::uint64_t{1} << 32;

  static constexpr std::uint32_t epoch_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }

  void notify(int count) noexcept {
    // [H2] acq_rel, with [H1], [A1], [A2]: the other side of the announcement; also carries the condition to the
    // sleeper.
    const std::uint64_t before = word_.fetch_add(one_epoch, std::memory_order_acq_rel);
    if (static_cast<std::uint32_t>(before) != 0) detail::Futex<Atom>::wake(word_, count);
  }

  // A notifier may be between its condition and its notify when a sleep runs out; that is no lost wakeup. So the epoch
  // is remembered, and only when the next waiter still finds the same one is the rescue counted.
  void suspect(Key key) noexcept {
    suspected_.store(suspicion | key.epoch, std::memory_order_relaxed);  // relaxed: a statistic
  }
  void confirm_suspicion(Key key) noexcept {
    if (suspected_.load(std::memory_order_relaxed) == 0) return;                              // relaxed: a statistic
    const std::uint64_t before = suspected_.exchange(0, std::memory_order_relaxed);           // relaxed: a statistic
    if (before == (suspicion | key.epoch)) rescues_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }

  // Layout: one line, written by waiters and notifiers; the statistics only around a sleep.
  //   bits 63..32 epoch (the kernel's word)   bits 31..0 waiters
  alignas(cache_line) Atom<std::uint64_t> word_;
  std::atomic<std::uint64_t> sleeps_{0};
  std::atomic<std::uint64_t> rescues_{0};
  std::atomic<std::uint64_t> suspected_{0};
};

// Ordering table
//   | pair         | publishes                         | who relies on it | why not weaker                            |
//   | H1 <-> H2,H3 | announcement before or after the  | every sleep      | one RMW order decides; a load on either   |
//   |              | condition                         |                  | side loses wakeups                        |
//   | H2 -> A1, A2 | what was written before a notify  | a woken waiter   | relaxed: it could look too early and      |
//   |              |                                   |                  | sleep a second time                       |

}  // namespace headrace
