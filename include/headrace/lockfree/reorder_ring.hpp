// ReorderRing<T>: made in any order, delivered in order, or nearly in order.
//
// What it is. Every value has a sequence number, given out elsewhere; sequence s lives in place s % capacity. Whoever
// made the value publishes it; one consumer takes 0, 1, 2, ... An "ordered queue" for work whose number is known before
// the work is done. A consumer that is in a hurry may take the first value that is there among the next few
// (try_take_within); it never skips further than it says, so each value is overtaken by a bounded number of others.
//
// When not to use it. As a queue between threads that do not know their sequence numbers; with more than one consumer.
//
// Invariants
//   I1  A place's stamp is {sequence, not ready} until that sequence is published, then {sequence, ready}, then
//       {sequence + capacity, not ready}. It never goes back.
//   I2  publish(s) succeeds only when s - capacity was taken and s was not, and once. (Taken in order: only for s in
//       [next, next + capacity).) Admission (who may have s) is the caller's: nobody waits here for room.
//   I3  A value exists in a place exactly while its stamp is ready.
//   I4  Everything before next_ was taken, next_ was not, and ahead_ sequences after it were. With span 0 ahead_ is 0.
//   I5  Taking within `span` takes the first of next_ .. next_ + span that is ready. So sequence s is overtaken only by
//       some of s + 1 .. s + span: by at most `span` others.
//
// Algorithm: a ring of stamped cells (Vyukov's cell sequence, with the ticket given from outside, so that the gap
// between claim and publication, which makes his queue blocking, does not exist here). A value of at most 16 bits lives
// in the stamp itself; then two threads may race to publish the same sequence (publish_first) and the consumer may take
// a place away from both (revoke): one compare-exchange decides.
//
// A stalled publisher delays the delivery of its own value and of what follows it in order, and nothing else: every
// operation of every other thread still returns in a bounded number of its own steps.
#pragma once
#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "headrace/lockfree/cache_line.hpp"

namespace headrace {

/// What a ring can hold: moving it and destroying it must not throw, because both happen after a place is claimed.
template <class T>
concept RingValue = std::is_object_v<T> && !std::is_const_v<T> && std::is_nothrow_move_constructible_v<T> &&
                    std::is_nothrow_destructible_v<T>;

/// Small enough to live in the stamp.
template <class T>
concept PackedRingValue = RingValue<T> && std::unsigned_integral<T> && sizeof(T) <= 2;

template <RingValue T, template <class> class Atom = std::atomic>
class ReorderRing {
 public:
  /// Places for `capacity` sequences (exactly; at least 1). `first` is the first sequence; a test starts next to a
  /// wrap.
  explicit ReorderRing(std::size_t capacity, std::uint64_t first = 0) : capacity_(checked(capacity)), next_(first) {
    static_assert(offsetof(ReorderRing, next_) >= cache_line && sizeof(ReorderRing) % cache_line == 0);
    cells_ = std::make_unique<Cell[]>(capacity_);
    for (std::uint64_t s = first; s != first + capacity_; ++s) {
      cell(s).stamp.store(open_stamp(s), std::memory_order_relaxed);  // relaxed: not shared yet
    }
  }
  ReorderRing(const ReorderRing&) = delete;
  ReorderRing& operator=(const ReorderRing&) = delete;
  ~ReorderRing() {
    if constexpr (!PackedRingValue<T>) {
      for (std::size_t i = 0; i < capacity_; ++i) {
        // relaxed: whoever destroys the ring has synchronised with its users.
        if (cells_[i].stamp.load(std::memory_order_relaxed) & ready_bit) std::destroy_at(&cells_[i].store.value);
      }
    }
  }

  /// Publishes sequence `s`; for one publisher per sequence. False, and `value` untouched, when `s` is outside the
  /// window or was published before. Thread-safe. Progress: wait-free.
  [[nodiscard]] bool publish(std::uint64_t s, T&& value) noexcept {
    Cell& place = cell(s);
    // [A1] acquire, from [R2]: the consumer has moved the last value out of this place.
    if (place.stamp.load(std::memory_order_acquire) != open_stamp(s)) return false;
    if constexpr (!PackedRingValue<T>) std::construct_at(&place.store.value, std::move(value));
    // [R1] release, to [A2], [A3], [A5]: the value is complete.
    place.stamp.store(ready_stamp(s, payload(value)), std::memory_order_release);
    return true;
  }
  [[nodiscard]] bool publish(std::uint64_t s,
                             const T& value) noexcept requires std::is_nothrow_copy_constructible_v<T> {
    return publish(s, T(value));
  }

  /// As publish, but several threads may try the same sequence and one wins; it also loses against revoke().
  /// Progress: wait-free (one compare-exchange).
  [[nodiscard]] bool publish_first(std::uint64_t s, T value) noexcept requires PackedRingValue<T> {
    std::uint64_t expected = open_stamp(s);
    // [R3] release, to [A2], [A3], [A4], [A5]: what the value stands for is complete.
    // A failure reads nothing that is used: relaxed.
    return cell(s).stamp.compare_exchange_strong(expected, ready_stamp(s, payload(value)), std::memory_order_release,
                                                 std::memory_order_relaxed);
  }

  /// Is the next value there? Consumer only. Progress: wait-free.
  [[nodiscard]] bool ready() const noexcept { return ready_within(0); }

  /// Is one of the next `span` + 1 values there? (A span of more than capacity - 1 is that.) Consumer only.
  /// Progress: wait-free (at most span + 1 loads).
  [[nodiscard]] bool ready_within(std::uint64_t span) const noexcept {
    span = std::min<std::uint64_t>(span, capacity_ - 1);
    for (std::uint64_t i = 0; i <= span; ++i) {
      // [A3] acquire, from [R1], [R3]: a caller may act on the answer before it takes.
      if (is_ready(cells_[index(next_ + i)].stamp.load(std::memory_order_acquire), next_ + i)) return true;
    }
    return false;
  }

  /// Takes the next value in order, or nothing if it is not published. Consumer only. Progress: wait-free.
  [[nodiscard]] std::optional<T> try_take() noexcept {
    Cell& place = cell(next_);
    // [A2] acquire, from [R1], [R3]: the value is complete.
    const std::uint64_t stamp = place.stamp.load(std::memory_order_acquire);
    if (!is_ready(stamp, next_)) return std::nullopt;
    std::optional<T> value(empty_place(place, stamp, next_));
    advance();
    return value;
  }

  /// What try_take_within() took.
  struct Taken {
    std::uint64_t sequence;
    T value;
  };

  /// Takes the first value that is published among the next `span` + 1, or nothing if none is. A value may overtake at
  /// most `span` others, and be overtaken by at most `span`. (A span of more than capacity - 1 is that.) Consumer only.
  /// Progress: wait-free (at most 2 (span + 1) loads, one store).
  [[nodiscard]] std::optional<Taken> try_take_within(std::uint64_t span) noexcept {
    span = std::min<std::uint64_t>(span, capacity_ - 1);
    for (std::uint64_t s = next_; s != next_ + span + 1; ++s) {
      Cell& place = cell(s);
      // [A5] acquire, from [R1], [R3]: as in try_take. (A place taken before has another lap's stamp.)
      const std::uint64_t stamp = place.stamp.load(std::memory_order_acquire);
      if (!is_ready(stamp, s)) continue;
      std::optional<Taken> taken(Taken{s, empty_place(place, stamp, s)});
      if (s == next_)
        advance();
      else
        ++ahead_;
      return taken;
    }
    return std::nullopt;
  }

  /// Takes the next sequence's place away, published or not; later publications of it fail. The value if there was one.
  /// Consumer only; use with publish_first. Progress: wait-free (one compare-exchange and, if it lost, one store).
  std::optional<T> revoke() noexcept requires PackedRingValue<T> {
    std::uint64_t stamp = open_stamp(next_);
    // [A4] acquire, from [R3]: where the publication won, its value is taken as in try_take.
    // relaxed on success: nothing is published by closing a place; the next binding is published by its own limit.
    if (cell(next_).stamp.compare_exchange_strong(stamp, open_stamp(next_ + capacity_), std::memory_order_acquire,
                                                  std::memory_order_acquire)) {
      advance();
      return std::nullopt;
    }
    return try_take();
  }

  /// The oldest sequence that was not taken. Consumer only.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }
  /// How many later ones were taken before it. Consumer only.
  [[nodiscard]] std::uint64_t taken_ahead() const noexcept { return ahead_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  // Stamp: {sequence modulo 2^47, ready, payload}. Stamps are compared for equality only, so the sequence may wrap.
  static constexpr int sequence_shift = 17;
  static constexpr std::uint64_t ready_bit = std::uint64_t{1} << 16;
  static constexpr std::uint64_t payload_mask = ready_bit - 1;

  struct Nothing {};
  union Storage {
    Storage() noexcept {}
    ~Storage() {}
    T value;
  };
  struct Cell {
    Atom<std::uint64_t> stamp{0};
    [[no_unique_address]] std::conditional_t<PackedRingValue<T>, Nothing, Storage> store;
  };

  static std::size_t checked(std::size_t capacity) {
    if (capacity == 0 || capacity > (std::size_t{1} << 32))
      throw std::invalid_argument("ReorderRing: capacity must be between 1 and 2^32");
    return capacity;
  }
  static constexpr std::uint64_t open_stamp(std::uint64_t s) noexcept { return s << sequence_shift; }
  static constexpr std::uint64_t ready_stamp(std::uint64_t s, std::uint64_t payload) noexcept {
    return open_stamp(s) | ready_bit | payload;
  }
  static constexpr bool is_ready(std::uint64_t stamp, std::uint64_t s) noexcept {
    return (stamp & ~payload_mask) == ready_stamp(s, 0);
  }
  static constexpr std::uint64_t payload(const T& value) noexcept {
    if constexpr (PackedRingValue<T>) return value;
    return 0;
  }
  static T take_value(Cell& place, std::uint64_t stamp) noexcept {
    if constexpr (PackedRingValue<T>) {
      return static_cast<T>(stamp & payload_mask);
    } else {
      T value(std::move(place.store.value));
      std::destroy_at(&place.store.value);
      return value;
    }
  }
  // Takes the value of sequence `s`, which is ready, out of its place.
  T empty_place(Cell& place, std::uint64_t stamp, std::uint64_t s) noexcept {
    T value = take_value(place, stamp);
    // [R2] release, to [A1]: the value has left; the place is open for sequence s + capacity.
    place.stamp.store(open_stamp(s + capacity_), std::memory_order_release);
    return value;
  }
  // next_ was taken: goes on to the next one that was not.
  void advance() noexcept {
    for (++next_; ahead_ != 0; ++next_, --ahead_) {
      // relaxed: whose lap the place is in, which only the consumer's own taking changes.
      const std::uint64_t stamp = cell(next_).stamp.load(std::memory_order_relaxed);
      if (stamp >> sequence_shift == open_stamp(next_) >> sequence_shift) return;
    }
  }
  std::size_t index(std::uint64_t s) const noexcept { return static_cast<std::size_t>(s % capacity_); }
  Cell& cell(std::uint64_t s) noexcept { return cells_[index(s)]; }

  // Layout: the cells are shared; everything else belongs to the consumer.
  const std::size_t capacity_;
  std::unique_ptr<Cell[]> cells_;
  alignas(cache_line) std::uint64_t next_;  // written by the consumer only
  std::uint64_t ahead_ = 0;                 // likewise
};

// Ordering table
//   | pair                 | publishes               | who relies on it   | why not weaker                      |
//   | R1, R3 -> A2, A3,    | the value               | the consumer       | relaxed: it could read half a value |
//   |           A4, A5     |                         |                    |                                     |
//   | R2 -> A1             | that the place is empty | the next publisher | relaxed: it could overwrite a value |
//   |                      |                         |                    | that is still being moved out       |

}  // namespace headrace
