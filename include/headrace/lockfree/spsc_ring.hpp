// SpscRing<T>: a bounded first-in first-out queue from one producer to one consumer, wait-free on both sides.
//
// What it is. Exactly `capacity` elements in exactly that many places. Elements are made in place (try_claim, publish)
// and used in place (front, pop), so that a large element is never moved; try_push and try_pop are there for small
// ones. For waiting, wrap it: Blocking<SpscRing<T>>.
//
// When not to use it. With a second producer or consumer, even "only sometimes": use MpmcRing.
//
// Invariants
//   I1  tail_ and head_ are positions in [0, 2 * capacity): the publications (pops) so far, modulo 2 * capacity. Equal:
//       empty. `capacity` apart: full. They wrap every second lap, so that no counter ever grows to the end of its
//       type.
//   I2  Position p lives in place p (first half) or p - capacity (second half): exactly `capacity` places.
//   I3  An element exists in a place exactly while its position is in [head_, tail_).
//   I4  full_at_ is a lap apart from some earlier value of head_, tail_seen_ an earlier value of tail_: an old value
//   only
//       makes a side look again.
//
// Algorithm: Lamport's ring; each side remembers the other's position and reads it anew only when the ring looks full
// (or empty), so that in a run of elements the two lines change hands once per run (MCRingBuffer; rigtorp's queue).
// Positions modulo twice the capacity give the exact capacity without a slack place and with one store per operation
// besides the element (a second one, for a place beside a free-running counter, cost 40 % of the throughput between two
// processors).
//
// Progress: every operation is wait-free. A stalled consumer shows as `full` once `capacity` elements wait, a stalled
// producer as "nothing"; nothing else.
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "headrace/lockfree/aligned_array.hpp"
#include "headrace/lockfree/cache_line.hpp"
#include "headrace/lockfree/element.hpp"

namespace headrace {

template <Element T, template <class> class Atom = std::atomic>
class SpscRing {
 public:
  using value_type = T;
  static constexpr std::size_t max_capacity = std::numeric_limits<std::size_t>::max() / 2;
  /// A publication is a plain release store: blocking.hpp needs a read-modify-write after it.
  static constexpr bool sequential = false;

  /// A ring of exactly `capacity` elements. std::invalid_argument for 0 or more than max_capacity,
  /// std::bad_array_new_length where so many elements do not fit the address space; both before memory is asked for.
  explicit SpscRing(std::size_t capacity) : capacity_(checked(capacity)), cells_(capacity), full_at_(capacity) {
    static_assert(offsetof(SpscRing, tail_) >= cache_line && sizeof(SpscRing) % cache_line == 0);
    static_assert(offsetof(SpscRing, full_at_) - offsetof(SpscRing, tail_) >= cache_line);
    static_assert(offsetof(SpscRing, head_) - offsetof(SpscRing, full_at_) >= cache_line);
    static_assert(offsetof(SpscRing, tail_seen_) - offsetof(SpscRing, head_) >= cache_line);
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;
  /// Destroys what is left. No thread may be inside.
  ~SpscRing() {
    while (front() != nullptr) pop();
  }

  // ---- Producer ------------------------------------------------------------------------------------------------

  /// Memory for one element, not yet alive, or null when the ring is full. Construct there (std::construct_at), then
  /// publish(). A claim that is not published costs nothing: the next one gives the same place. Progress: wait-free.
  [[nodiscard]] T* try_claim() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);  // relaxed: written by this thread
    if (tail == full_at_) {
      // [A1] acquire, from [R2]: the consumer has left these places.
      full_at_ = lap_apart(head_.load(std::memory_order_acquire));
      if (tail == full_at_) return nullptr;
    }
    return &cells_[place(tail)].value;
  }

  /// Hands the element constructed in the claimed place to the consumer. Progress: wait-free.
  void publish() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);  // relaxed: written by this thread
    // [R1] release, to [A2]: the element is complete.
    tail_.store(next(tail), std::memory_order_release);
  }

  /// Appends `value`; on any answer but `ok` it is untouched. Progress: wait-free.
  PushResult try_push(T&& value) noexcept {
    if (closed()) return PushResult::closed;
    T* const place = try_claim();
    if (place == nullptr) return PushResult::full;
    std::construct_at(place, std::move(value));
    publish();
    return PushResult::ok;
  }
  /// Appends a copy, made in place; if it throws, nothing has changed. Progress: wait-free if the copy is.
  PushResult try_push(const T& value) noexcept(
      std::is_nothrow_copy_constructible_v<T>) requires std::copy_constructible<T> {
    if (closed()) return PushResult::closed;
    T* const place = try_claim();
    if (place == nullptr) return PushResult::full;
    std::construct_at(place, value);
    publish();
    return PushResult::ok;
  }

  /// From here on every push answers `closed`. Belongs to the producer: called by another thread while the producer is
  /// inside a push, that one element may come after the end. May be called again. Progress: wait-free.
  void close() noexcept {
    // [R3] release, to [A3]: the last publication comes before the close.
    closed_.store(true, std::memory_order_release);
  }

  // ---- Consumer ------------------------------------------------------------------------------------------------

  /// The oldest element, in place until pop(), or null when there is none (not the end: see drained()).
  /// Progress: wait-free.
  [[nodiscard]] T* front() noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);  // relaxed: written by this thread
    if (head == tail_seen_) {
      // [A2] acquire, from [R1]: the elements up to there are complete.
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head == tail_seen_) return nullptr;
    }
    return &cells_[place(head)].value;
  }

  /// Destroys the element that front() gave and frees its place. Progress: wait-free.
  void pop() noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);  // relaxed: written by this thread
    std::destroy_at(&cells_[place(head)].value);
    // [R2] release, to [A1]: the element is gone from its place.
    head_.store(next(head), std::memory_order_release);
  }

  /// Takes the oldest element out, or nothing. Progress: wait-free.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    T* const place = front();
    if (place == nullptr) return std::nullopt;
    std::optional<T> value(std::move(*place));
    pop();
    return value;
  }

  /// Closed, and the last element has been popped: the end of the stream. Once true, true for ever. Progress:
  /// wait-free.
  [[nodiscard]] bool drained() const noexcept { return closed() && empty(); }

  // ---- Either side ---------------------------------------------------------------------------------------------

  /// Progress: wait-free.
  [[nodiscard]] bool closed() const noexcept {
    // [A3] acquire, from [R3]: whoever sees the close then sees the last publication.
    return closed_.load(std::memory_order_acquire);
  }
  /// Exact for the side whose next operation depends on it, a snapshot for others. Progress: wait-free.
  [[nodiscard]] bool empty() const noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);  // relaxed: a snapshot; front() decides
    return tail_.load(std::memory_order_relaxed) == head;            // relaxed: as above; drained() has acquired [A3]
  }
  [[nodiscard]] bool full() const noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);   // relaxed: a snapshot; try_claim() decides
    return head_.load(std::memory_order_relaxed) == lap_apart(tail);  // relaxed: as above
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  union Cell {
    Cell() noexcept {}
    ~Cell() {}
    T value;
  };

  static std::size_t checked(std::size_t capacity) {
    if (capacity == 0 || capacity > max_capacity)
      throw std::invalid_argument("SpscRing: capacity must be between 1 and " + std::to_string(max_capacity));
    return capacity;
  }
  std::size_t place(std::size_t position) const noexcept {
    return position < capacity_ ? position : position - capacity_;
  }
  std::size_t lap_apart(std::size_t position) const noexcept {
    return position < capacity_ ? position + capacity_ : position - capacity_;
  }
  std::size_t next(std::size_t position) const noexcept { return position + 1 == 2 * capacity_ ? 0 : position + 1; }

  // Layout
  //   line 0   capacity_, cells_   read only
  //   line 1   tail_       written by the producer, read by the consumer when the ring looks empty
  //   line 2   full_at_, closed_    the producer's own; closed_ read by the consumer when it looks for the end
  //   line 3   head_       written by the consumer, read by the producer when the ring looks full
  //   line 4   tail_seen_  the consumer's own
  alignas(cache_line) const std::size_t capacity_;
  detail::AlignedArray<Cell> cells_;
  alignas(cache_line) Atom<std::size_t> tail_{0};
  alignas(cache_line) std::size_t full_at_;
  Atom<bool> closed_{false};
  alignas(cache_line) Atom<std::size_t> head_{0};
  alignas(cache_line) std::size_t tail_seen_ = 0;
};

// clang-format off
// Ordering table
//   | pair         | publishes                        | who relies on it | why not weaker                              |
//   | R1 -> A2     | the element                      | the consumer     | relaxed: it could read half an element      |
//   | R2 -> A1     | that the element has left        | the producer     | relaxed: it could overwrite it while it is  |
//   |              |                                  |                  | still being moved out                       |
//   | R3 -> A3     | that all publications were before| the consumer     | relaxed: it could see the end too early     |
// clang-format on

}  // namespace headrace
