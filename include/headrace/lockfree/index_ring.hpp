// IndexRing: a bounded FIFO of small numbers, lock-free by helping. The half of MpmcRing that is shared between
// threads.
//
// What it is. The naive circular queue of Nikolaev (DISC 2019, doi 10.4230/LIPIcs.DISC.2019.28, figure 5): a ring of
// words {cycle, index}, a head and a tail {cycle, position}. Two additions: the tail is only a hint that may lag a few
// places behind, so that most puts need one compare-exchange instead of two; and a ring can be closed, by a mark that
// takes a place like an index.
//
// When not to use it. By itself: it holds numbers below its size, and trusts its caller that no more than `size` are
// under way. Use MpmcRing.
//
// Invariants
//   I1  An entry's cycle never goes back. Position p = {cycle c, place i} is filled when entry i has cycle c, free when
//       it has c - 1. A position is filled once, and stays filled until its place is filled in the next cycle.
//   I2  Positions are filled in order: the first one not filled is the true tail. tail <= true tail <= tail + lag, and
//       lag <= size, so the entry at the tail is never more than one cycle ahead of it.
//   I3  head <= true tail <= head + size, because at most `size` numbers (the mark included) exist.
//   I4  Nothing is filled behind the mark, and the head never passes it.
//
// Algorithm. put: from the tail, pass filled entries; fill the first free one by compare-exchange, which is the moment
// of the put. Whoever would have to pass `lag` entries moves the tail first (helps), so no thread depends on another
// one's moving it. take: read head and its entry; if that is not filled the ring is empty; else the thread that moves
// the head on owns the index read (the entry cannot have changed while the head stood: I3).
// Words are compared for equality and for "one behind" only, so cycles may wrap.
//
// Progress: put, take and close are lock-free: a failed compare-exchange means that another put, take or help
// succeeded. A thread stalled inside keeps the index it holds and delays nobody.
#pragma once
#include <atomic>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "headrace/lockfree/aligned_array.hpp"
#include "headrace/lockfree/backoff.hpp"
#include "headrace/lockfree/cache_line.hpp"

namespace headrace::detail {

template <std::unsigned_integral Word, template <class> class Atom>
class alignas(cache_line) IndexRing {
 public:
  /// Bits of a word for the index (and for the place); the others count cycles.
  static constexpr int index_bits = sizeof(Word) == 8 ? 16 : static_cast<int>(sizeof(Word) * CHAR_BIT / 2);
  static constexpr Word index_mask = static_cast<Word>((Word{1} << index_bits) - 1);
  /// The index that closes a ring.
  static constexpr Word mark = index_mask;
  static constexpr std::size_t max_size = std::size_t{index_mask} + 1;

  /// A ring of `size` places (1 to max_size) that holds 0 ... filled - 1. `first_cycle`: a test starts next to the
  /// wrap.
  IndexRing(std::size_t size, std::size_t filled, Word first_cycle)
      : size_(size), lag_(size < most_lag ? static_cast<unsigned>(size) : most_lag), entries_(size) {
    static_assert(offsetof(IndexRing, head_) >= cache_line && sizeof(IndexRing) % cache_line == 0);
    static_assert(offsetof(IndexRing, tail_) - offsetof(IndexRing, head_) >= cache_line);
    for (std::size_t i = 0; i < size; ++i) {
      const Word entry = i < filled ? join(first_cycle, static_cast<Word>(i)) : join(before(first_cycle), Word{0});
      entries_[i].store(entry, std::memory_order_relaxed);  // relaxed: not shared yet
    }
    const Word tail = filled == size ? join(after(first_cycle), Word{0}) : join(first_cycle, static_cast<Word>(filled));
    head_.store(join(first_cycle, Word{0}), std::memory_order_relaxed);  // relaxed: not shared yet
    tail_.store(tail, std::memory_order_relaxed);                        // relaxed: not shared yet
  }

  /// Appends `index`, which the caller owns. False when the ring is closed. Progress: lock-free.
  bool put(Word index) noexcept {
    Backoff backoff;
    // relaxed: a hint; the entries decide.
    Word tail = tail_.load(std::memory_order_relaxed);
    Word position = tail;
    unsigned passed = 0;
    for (;;) {
      if (passed == lag_) {
        // relaxed: as the load. A failure brings the tail that another thread has set.
        if (tail_.compare_exchange_strong(tail, position, std::memory_order_relaxed, std::memory_order_relaxed)) {
          tail = position;
        }
        position = tail;
        passed = 0;
      }
      Atom<Word>& entry = entries_[place(position)];
      // relaxed: filled or not; the index is not used. A stale value fails the compare-exchange.
      Word seen = entry.load(std::memory_order_relaxed);
      if (is_free(seen, position)) {
        // [N1] seq_cst, with [N2], [N3], [N4], [N5]: releases what was done under this index; and one of the two sides
        // of the handshake of blocking.hpp. A failure reads nothing that is used.
        if (entry.compare_exchange_strong(seen, join(cycle(position), index), std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) {
          return true;
        }
        backoff.pause();
      }
      if (cycle(seen) == cycle(position)) {
        if ((seen & index_mask) == mark) {
          // [N5] seq_cst, with [N1]: whoever is refused sees what was done before the close.
          static_cast<void>(entry.load(std::memory_order_seq_cst));
          return false;
        }
        position = next(position);
        ++passed;
      } else {
        // The tail has moved on by a lap since it was read.
        tail = tail_.load(std::memory_order_relaxed);  // relaxed: a hint
        position = tail;
        passed = 0;
      }
    }
  }

  /// Takes the oldest index. False when there is none (or only the mark). Progress: lock-free.
  bool take(Word& index) noexcept {
    Backoff backoff;
    // relaxed: a guess that the compare-exchange confirms; an empty answer is about the entry.
    Word head = head_.load(std::memory_order_relaxed);
    for (;;) {
      // [N2] seq_cst, with [N1]: acquires what the putter did under this index; the other side of blocking.hpp.
      const Word entry = entries_[place(head)].load(std::memory_order_seq_cst);
      if (cycle(entry) == cycle(head)) {
        if ((entry & index_mask) == mark) return false;
        // relaxed: [N2] has brought what is needed; the head itself publishes nothing.
        if (head_.compare_exchange_strong(head, next(head), std::memory_order_relaxed, std::memory_order_relaxed)) {
          index = static_cast<Word>(entry & index_mask);
          return true;
        }
        backoff.pause();
      } else if (is_free(entry, head)) {
        return false;
      } else {
        head = head_.load(std::memory_order_relaxed);  // relaxed: a guess; this one was a lap old
      }
    }
  }

  /// Was there nothing to take at one moment during the call? Progress: wait-free; may say "no" when the head moves on.
  [[nodiscard]] bool empty() const noexcept {
    const Word head = head_.load(std::memory_order_relaxed);  // relaxed: as in take()
    // [N4] seq_cst, with [N1]: as [N2].
    const Word entry = entries_[place(head)].load(std::memory_order_seq_cst);
    return is_free(entry, head) || entry == join(cycle(head), mark);
  }

  /// Puts the mark: every later put fails. Needs a place more than there are indices. Progress: lock-free.
  void close() noexcept { put(mark); }

  /// Has everything before the mark been taken? Once true, true for ever. Progress: wait-free.
  [[nodiscard]] bool ended() const noexcept {
    const Word head = head_.load(std::memory_order_relaxed);  // relaxed: the mark is the last entry at any head
    // [N3] seq_cst, with [N1]: whoever sees the end sees what was done before it.
    return entries_[place(head)].load(std::memory_order_seq_cst) == join(cycle(head), mark);
  }

 private:
  // Measured with 1, 2, 4 and 8: each saves compare-exchanges on the tail; 8 reads too far ahead in a ring of 16.
  static constexpr unsigned most_lag = 4;

  static constexpr Word cycle(Word word) noexcept { return static_cast<Word>(word >> index_bits); }
  static constexpr std::size_t place(Word position) noexcept { return static_cast<std::size_t>(position & index_mask); }
  static constexpr Word join(Word cycle, Word low) noexcept { return static_cast<Word>((cycle << index_bits) | low); }
  static constexpr Word before(Word cycle) noexcept { return static_cast<Word>(cycle - 1); }
  static constexpr Word after(Word cycle) noexcept { return static_cast<Word>(cycle + 1); }
  static constexpr bool is_free(Word entry, Word position) noexcept {
    return static_cast<Word>((cycle(entry) + 1) << index_bits) == static_cast<Word>(cycle(position) << index_bits);
  }
  Word next(Word position) const noexcept {
    return place(position) + 1 == size_ ? join(after(cycle(position)), Word{0}) : static_cast<Word>(position + 1);
  }

  // Layout (each line its own, so that takers and putters meet only at the entries):
  //   line 0   size_, lag_, entries_      read only
  //   line 1   head_                      written by takers
  //   line 2   tail_                      written by putters, once in `lag` puts
  const std::size_t size_;
  const unsigned lag_;
  AlignedArray<Atom<Word>> entries_;
  alignas(cache_line) Atom<Word> head_{0};
  alignas(cache_line) Atom<Word> tail_{0};
};

// clang-format off
// Ordering table
//   | pair             | publishes                       | who relies on it       | why not weaker                     |
//   | N1 -> N2         | what was done under the index   | the taker of the index | relaxed: reads half a value        |
//   | N1 -> N3, N5     | everything before the mark      | whoever sees the end   | relaxed: misses the last writes    |
//   | N1 <-> N2, N3,   | a filled entry (the mark)       | the sleeper of         | acquire and release: store         |
//   | N4, with S1, S2  | against "asked"                 | blocking.hpp           | buffering, both sides miss         |
//   | of blocking.hpp  |                                 |                        | the wakeup. Costs nothing          |
//   |                  |                                 |                        | on x86-64 and ARMv8                |
//   | head_, tail_     | nothing                         | -                      | relaxed: monotone guesses; the     |
//   |                  |                                 |                        | entries decide and carry the rest  |
// clang-format on

}  // namespace headrace::detail
