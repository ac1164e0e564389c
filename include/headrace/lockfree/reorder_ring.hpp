// ReorderRing<T>: made in any order, delivered in order.
//
// What it is. Every value has a sequence number, given out elsewhere; sequence s lives in place s % capacity. Whoever
// made the value publishes it; one consumer takes 0, 1, 2, ... An "ordered queue" for work whose number is known before
// the work is done.
//
// When not to use it. As a queue between threads that do not know their sequence numbers; with more than one consumer.
//
// Invariants
//   I1  A place's stamp is {sequence, not ready} until that sequence is published, then {sequence, ready}, then
//       {sequence + capacity, not ready}. It never goes back.
//   I2  publish(s) succeeds only for s in [taken, taken + capacity), and once. Admission (who may have s) is the
//       caller's: nobody waits here for room.
//   I3  A value exists in a place exactly while its stamp is ready.
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
    // [R1] release, to [A2], [A3]: the value is complete.
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
    // [R3] release, to [A2], [A3], [A4]: what the value stands for is complete.
    // A failure reads nothing that is used: relaxed.
    return cell(s).stamp.compare_exchange_strong(expected, ready_stamp(s, payload(value)), std::memory_order_release,
                                                 std::memory_order_relaxed);
  }

  /// Is the next value there? Consumer only. Progress: wait-free.
  [[nodiscard]] bool ready() const noexcept {
    // [A3] acquire, from [R1], [R3]: a caller may act on the answer before it takes.
    return is_ready(cells_[index(next_)].stamp.load(std::memory_order_acquire), next_);
  }

  /// Takes the next value in order, or nothing if it is not published. Consumer only. Progress: wait-free.
  [[nodiscard]] std::optional<T> try_take() noexcept {
    Cell& place = cell(next_);
    // [A2] acquire, from [R1], [R3]: the value is complete.
    const std::uint64_t stamp = place.stamp.load(std::memory_order_acquire);
    if (!is_ready(stamp, next_)) return std::nullopt;
    std::optional<T> value(take_value(place, stamp));
    // [R2] release, to [A1]: the value has left; the place is open for sequence next_ + capacity.
    place.stamp.store(open_stamp(next_ + capacity_), std::memory_order_release);
    ++next_;
    return value;
  }

  /// Takes the next sequence's place away, published or not; later publications of it fail. The value if there was one.
  /// Consumer only; use with publish_first. Progress: wait-free (one compare-exchange and, if it lost, one store).
  std::optional<T> revoke() noexcept requires PackedRingValue<T> {
    std::uint64_t stamp = open_stamp(next_);
    // [A4] acquire, from [R3]: where the publication won, its value is taken as in try_take.
    // relaxed on success: nothing is published by closing a place; the next binding is published by its own limit.
    if (cell(next_).stamp.compare_exchange_strong(stamp, open_stamp(next_ + capacity_), std::memory_order_acquire,
                                                  std::memory_order_acquire)) {
      ++next_;
      return std::nullopt;
    }
    return try_take();
  }

  /// The next sequence to deliver. Consumer only.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }
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
  std::size_t index(std::uint64_t s) const noexcept { return static_cast<std::size_t>(s % capacity_); }
  Cell& cell(std::uint64_t s) noexcept { return cells_[index(s)]; }

  // Layout: the cells are shared; everything else belongs to the consumer.
  const std::size_t capacity_;
  std::unique_ptr<Cell[]> cells_;
  alignas(cache_line) std::uint64_t next_;  // written by the consumer only
};

// Ordering table
//   | pair                 | publishes               | who relies on it   | why not weaker                      |
//   | R1, R3 -> A2, A3, A4 | the value               | the consumer       | relaxed: it could read half a value |
//   | R2 -> A1             | that the place is empty | the next publisher | relaxed: it could overwrite a value |
//   |                      |                         |                    | that is still being moved out       |

}  // namespace headrace
