// SlabPool: which of n equal pieces of memory are free, as bits.
//
// What it is. A bitmap. Acquire finds a set bit and clears it; release sets it. The pool hands out numbers, the memory
// is the caller's. Meant for tens to a few thousand slabs.
//
// When not to use it. To queue for a slab: an empty pool says so at once, and waiting is the caller's business.
//
// Invariants
//   I1  Bit i is set exactly while slab i is free.
//   I2  Only the holder of slab i may release it, once. (Releasing a free slab is not detected: the result of the RMW
//   is
//       unused on purpose, which makes release wait-free.)
//
// The words are the whole state: no links, so no ABA, no tags, no reclamation.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

#include "headrace/lockfree/cache_line.hpp"

namespace headrace {

template <template <class> class Atom = std::atomic>
class SlabPool {
 public:
  static constexpr std::uint32_t max_slabs = 1u << 20;

  /// A pool of `count` free slabs, exactly; 1 to max_slabs.
  explicit SlabPool(std::uint32_t count) : count_(checked(count)), word_count_((count + 63) / 64) {
    static_assert(sizeof(Word) == cache_line && offsetof(SlabPool, hint_) >= cache_line);
    words_ = std::make_unique<Word[]>(word_count_);
    for (std::uint32_t w = 0; w < word_count_; ++w) {
      const std::uint32_t bits = count - w * 64;
      const std::uint64_t all = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      words_[w].bits.store(all, std::memory_order_relaxed);  // relaxed: not shared yet
    }
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// A free slab, or nothing when every word was seen empty. Thread-safe.
  /// Progress: lock-free (a retry means that another thread took or gave back a slab of the same word).
  [[nodiscard]] std::optional<std::uint32_t> acquire() noexcept {
    const std::uint32_t first = hint_.load(std::memory_order_relaxed);  // relaxed: only where the search begins
    for (std::uint32_t n = 0; n < word_count_; ++n) {
      const std::uint32_t w = first + n < word_count_ ? first + n : first + n - word_count_;
      // relaxed: only a guess; the compare-exchange decides.
      std::uint64_t bits = words_[w].bits.load(std::memory_order_relaxed);
      while (bits != 0) {
        const std::uint64_t rest = bits & (bits - 1);
        // [A1] acquire, from [R1]: what the last holder did to the slab is done. A failure only reloads the guess.
        if (words_[w].bits.compare_exchange_weak(bits, rest, std::memory_order_acquire, std::memory_order_relaxed)) {
          if (n != 0) hint_.store(w, std::memory_order_relaxed);  // relaxed: as above
          return w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        }
      }
    }
    return std::nullopt;
  }

  /// Gives slab `i` back, from any thread. Progress: wait-free (lock-free where an atomic OR is an LL/SC loop).
  void release(std::uint32_t i) noexcept {
    // [R1] release, to [A1]: this holder's use of the slab is over.
    words_[i / 64].bits.fetch_or(std::uint64_t{1} << (i % 64), std::memory_order_release);
  }

  /// Free slabs. Exact only when no other thread is inside. Progress: wait-free.
  [[nodiscard]] std::uint32_t available() const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t w = 0; w < word_count_; ++w) {
      // relaxed: a snapshot; acquire() decides.
      sum += static_cast<std::uint32_t>(std::popcount(words_[w].bits.load(std::memory_order_relaxed)));
    }
    return sum;
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return count_; }

 private:
  struct alignas(cache_line) Word {
    Atom<std::uint64_t> bits{0};
  };

  static std::uint32_t checked(std::uint32_t count) {
    if (count == 0 || count > max_slabs) throw std::invalid_argument("SlabPool: count must be between 1 and 2^20");
    return count;
  }

  const std::uint32_t count_;
  const std::uint32_t word_count_;
  std::unique_ptr<Word[]> words_;
  alignas(cache_line) Atom<std::uint32_t> hint_{0};  // the word of a recent acquire
};

// Ordering table
//   | pair     | publishes                      | who relies on it   | why not weaker                               |
//   | R1 -> A1 | the last holder's reads/writes | the next holder    | relaxed: it could write under the old reader |

}  // namespace headrace
