// OpenItems: which items have parts that anyone may claim, as bits in ticket order.
//
// What it is. A ring of bits, one per ticket in flight; searched from the oldest, so that the parts everybody waits for
// go first. A bit is a hint that leads to a part word; the word decides. Setting a bit comes after opening the word;
// the claimer of the last part clears the bit.
//
// Invariants
//   I1  While a word is open, its bit is set, or a thread is on its way to set it (and will announce that).
//   I2  count >= set bits: the count goes up before a bit is set and down after it is cleared. So a count of 0 answers
//   a
//       search with one load, however many tickets are in flight.
//   I3  A clear may come late, when the place already belongs to a later ticket. So whoever clears looks at the word
//       afterwards and sets the bit again if it is open (EngineCore::close_bit); a late clear therefore never hides
//       work for longer than that.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "headrace/lockfree/cache_line.hpp"

namespace headrace::detail {

template <template <class> class Atom = std::atomic>
class OpenItems {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  explicit OpenItems(std::size_t positions)
      : positions_(positions), words_(std::make_unique<Atom<std::uint64_t>[]>((positions + 63) / 64)) {}

  /// Progress: wait-free (lock-free where an atomic RMW is an LL/SC loop).
  void set(std::size_t p) noexcept {
    // [S4] seq_cst, with [S5]: before the bit, so that no search that must see the bit is answered by the count.
    count_.fetch_add(1, std::memory_order_seq_cst);
    // [S1] seq_cst, with [S2], [S3]: ordered against the consumer's choice of the step it helps with: either the setter
    // sees that choice and notifies, or the consumer's look sees the bit.
    const std::uint64_t before = words_[p / 64].fetch_or(bit(p), std::memory_order_seq_cst);
    if (before & bit(p)) count_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: the bit keeps its own count
  }

  /// Progress: wait-free (as set).
  void clear(std::size_t p) noexcept {
    // [S2] seq_cst, with [S1]: a clear that comes after a set sees, in the look that follows, what the setter opened.
    const std::uint64_t before = words_[p / 64].fetch_and(~bit(p), std::memory_order_seq_cst);
    if (before & bit(p)) count_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: too high for a moment does no harm
  }

  /// The first set position in [from, from + count), going round; none if there is none. Progress: wait-free.
  [[nodiscard]] std::size_t find(std::size_t from, std::size_t count) const noexcept {
    // [S5] seq_cst, with [S4]: 0 means that no bit was set by anyone the caller must see.
    if (count_.load(std::memory_order_seq_cst) == 0) return none;
    if (from + count <= positions_) return find_between(from, from + count);
    const std::size_t p = find_between(from, positions_);
    return p != none ? p : find_between(0, from + count - positions_);
  }

  [[nodiscard]] std::size_t positions() const noexcept { return positions_; }

 private:
  static constexpr std::uint64_t bit(std::size_t p) noexcept { return std::uint64_t{1} << (p % 64); }

  std::size_t find_between(std::size_t begin, std::size_t end) const noexcept {
    std::uint64_t mask = ~std::uint64_t{0} << (begin % 64);
    for (std::size_t w = begin / 64; w * 64 < end; ++w, mask = ~std::uint64_t{0}) {
      // [S3] seq_cst, with [S1]: the bit leads to a word that is open.
      const std::uint64_t bits = words_[w].load(std::memory_order_seq_cst) & mask;
      if (bits == 0) continue;
      const std::size_t p = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return p < end ? p : none;
    }
    return none;
  }

  const std::size_t positions_;
  std::unique_ptr<Atom<std::uint64_t>[]> words_;
  alignas(cache_line) Atom<std::uint32_t> count_{0};
};

// Ordering table
//   | pair         | publishes                | who relies on it     | why not weaker                     |
//   | S4 <-> S5    | that there may be a bit  | every search         | as S1 <-> S3, which it stands for  |
//   | S1 <-> S2,S3 | the open word; its place | claimers; a consumer | acquire/release: the setter and    |
//   |              | in the single order with | about to sleep       | the consumer could each miss the   |
//   |              | the consumer's choice    | (engine_core.hpp)    | other (store buffering)            |

}  // namespace headrace::detail
