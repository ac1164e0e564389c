// MpmcRing<T>: a bounded first-in first-out queue between many producers and many consumers, really lock-free.
//
// What it is. Exactly `capacity` elements (1 to 65535; no power of two needed), no allocation after construction, no
// waiting: a full or empty queue says so at once. For waiting, wrap it: Blocking<MpmcRing<T>>.
//
// When not to use it. One producer and one consumer: SpscRing is several times cheaper. Order given from outside:
// ReorderRing. No bound: moodycamel's queue. Capacity 1 with threads that may be suspended inside (see Progress).
//
// Invariants
//   I1  Each of the numbers 0 ... capacity - 1 is in exactly one place: in `free`, in `ready`, or held by one thread
//       inside try_push or try_pop.
//   I2  Slot i holds an element exactly while i is in `ready` (or held by a push after, a pop before, its move).
//   I3  Elements leave in the order in which their numbers entered `ready`; that entry is the moment of the push.
//   I4  Behind the mark that closes `ready` nothing enters: an element whose push returned ok is before it.
//
// Algorithm: two rings of indices around one array of slots (Nikolaev, DISC 2019, the form of SCQD with his naive
// circular queue inside; see index_ring.hpp). push: take a number from `free`, fill its slot, put the number into
// `ready`. pop: the other way round. Nobody ever waits for a slot that another thread has claimed and not yet filled,
// which is what makes Vyukov's and the ticket queues block.
//
// Progress. Capacity >= 2: lock-free while fewer threads than the capacity are suspended inside an operation. Each
// thread suspended inside keeps at most one number: the capacity shrinks by one until it goes on, and nobody waits for
// it. Capacity 1: blocking: a thread suspended inside holds the only number, and all others see a full or empty queue
// until it goes on. So "full" and "empty" count operations in flight: a push may see `full` while fewer than `capacity`
// elements are in the queue, if other operations are under way.
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "headrace/lockfree/aligned_array.hpp"
#include "headrace/lockfree/cache_line.hpp"
#include "headrace/lockfree/element.hpp"
#include "headrace/lockfree/index_ring.hpp"

namespace headrace {

/// `IndexWord` is the width of positions and cycles: 64 bits in earnest, 16 where a test wants to see them wrap (a
/// narrow cycle can be overtaken by a thread that sleeps for 2^8 laps; 2^48 laps are out of reach).
template <Element T, std::unsigned_integral IndexWord = std::uint64_t, template <class> class Atom = std::atomic>
class MpmcRing {
  using Ring = detail::IndexRing<IndexWord, Atom>;

 public:
  using value_type = T;
  /// 65535 for the 64-bit word.
  static constexpr std::size_t max_capacity = Ring::max_size - 1;
  /// A push and a pop are sequentially consistent with loads of other words (see blocking.hpp).
  static constexpr bool sequential = true;

  /// A queue of exactly `capacity` elements, 1 to max_capacity; else std::invalid_argument, before memory is asked for.
  /// `first_cycle`: a test starts next to the wrap.
  explicit MpmcRing(std::size_t capacity, IndexWord first_cycle = 1)
      : capacity_(checked(capacity)),
        slots_(capacity),
        ready_(capacity + 1, 0, first_cycle),  // one place more, for the mark
        free_(capacity, capacity, first_cycle) {}
  MpmcRing(const MpmcRing&) = delete;
  MpmcRing& operator=(const MpmcRing&) = delete;
  /// Destroys what is left. No thread may be inside.
  ~MpmcRing() {
    IndexWord i;
    while (ready_.take(i)) std::destroy_at(&slots_[i].value);
  }

  /// Appends `value`; on any answer but `ok` it is as it was (after a close that came in between, moved out and back).
  /// Thread-safe. Progress: lock-free (capacity 1: a stalled peer makes the answer `full` until it goes on).
  PushResult try_push(T&& value) noexcept {
    IndexWord i;
    if (const PushResult claim = claim_slot(i); claim != PushResult::ok) return claim;
    std::construct_at(&slots_[i].value, std::move(value));
    if (ready_.put(i)) return PushResult::ok;
    give_back(value, slots_[i].value);
    return refuse(i);
  }

  /// Appends a copy. A copy that may throw is made before anything is claimed, so an exception changes nothing.
  /// Thread-safe. Progress: lock-free, as above, if the copy constructor is.
  PushResult try_push(const T& value) noexcept(
      std::is_nothrow_copy_constructible_v<T>) requires std::copy_constructible<T> {
    if constexpr (std::is_nothrow_copy_constructible_v<T>) {
      IndexWord i;
      if (const PushResult claim = claim_slot(i); claim != PushResult::ok) return claim;
      std::construct_at(&slots_[i].value, value);
      return ready_.put(i) ? PushResult::ok : refuse(i);
    } else {
      return try_push(T(value));
    }
  }

  /// The oldest element, or nothing. Nothing does not mean the end: see drained().
  /// Thread-safe. Progress: lock-free (capacity 1: a stalled peer makes the answer "nothing" until it goes on).
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    IndexWord i;
    if (!ready_.take(i)) return std::nullopt;
    std::optional<T> value(std::move(slots_[i].value));
    std::destroy_at(&slots_[i].value);
    free_.put(i);
    return value;
  }

  /// From here on every push answers `closed`; elements already pushed can still be popped. May be called again.
  /// Thread-safe. Progress: lock-free.
  void close() noexcept {
    ready_.close();
    remember_closed();
  }
  /// Progress: wait-free.
  [[nodiscard]] bool closed() const noexcept {
    // [A4] acquire, from [R2]: whoever sees the close sees what the closer did before it.
    return closed_.load(std::memory_order_acquire);
  }
  /// Closed, and the last element that was ever pushed has been popped. Once true, true for ever; this, and never an
  /// empty queue, is the end of the stream. False may be old news to a thread that nothing else has told of the last
  /// pop. Thread-safe. Progress: wait-free.
  [[nodiscard]] bool drained() noexcept {
    if (!ready_.ended()) return false;
    remember_closed();
    return true;
  }

  /// Was the queue empty (full) at one moment during the call? For heuristics. Progress: wait-free.
  [[nodiscard]] bool empty() const noexcept { return ready_.empty(); }
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  union Slot {
    Slot() noexcept {}
    ~Slot() {}
    T value;
  };

  static std::size_t checked(std::size_t capacity) {
    if (capacity == 0 || capacity > max_capacity)
      throw std::invalid_argument("MpmcRing: capacity must be between 1 and " + std::to_string(max_capacity));
    return capacity;
  }

  PushResult claim_slot(IndexWord& i) noexcept {
    if (closed()) return PushResult::closed;
    if (free_.take(i)) return PushResult::ok;
    return closed() ? PushResult::closed : PushResult::full;
  }
  // The mark was there first. The flag is set by everyone who meets the mark, so that no push that starts after an
  // answer `closed` answers `full`.
  PushResult refuse(IndexWord i) noexcept {
    remember_closed();
    std::destroy_at(&slots_[i].value);
    free_.put(i);
    return PushResult::closed;
  }
  void remember_closed() noexcept {
    // [R2] release, to [A4]: the close, and what was done before it.
    if (!closed()) closed_.store(true, std::memory_order_release);
  }
  static void give_back(T& to, T& from) noexcept {
    if constexpr (std::is_nothrow_move_assignable_v<T>) {
      to = std::move(from);
    } else {
      std::destroy_at(&to);
      std::construct_at(&to, std::move(from));
    }
  }

  // Layout: the first line is read only until the close; each ring begins on a line of its own.
  alignas(cache_line) const std::size_t capacity_;
  Atom<bool> closed_{false};
  detail::AlignedArray<Slot> slots_;
  Ring ready_;  // at most `capacity_` numbers of full slots, and the mark
  Ring free_;   // numbers of empty slots
};

// clang-format off
// Ordering table (the rest is in index_ring.hpp)
//   | pair     | publishes                         | who relies on it    | why not weaker                              |
//   | R2 -> A4 | what the closer did before close  | who sees closed     | relaxed: sees the state without its reason  |
// clang-format on

}  // namespace headrace
