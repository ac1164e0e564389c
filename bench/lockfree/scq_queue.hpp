// A peer: SCQ, the scalable circular queue (R. Nikolaev, DISC 2019, figures 5 and 8), from the paper and at its best:
// powers of two, entries spread over cache lines, a threshold that lets an empty queue answer without a fetch-and-add.
// Two rings of indices around an array of slots, as in MpmcRing; each ring takes positions by fetch-and-add where
// MpmcRing's advance by compare-exchange. Lock-free while the threads inside do not outnumber the capacity.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bench {

class ScqIndices {
 public:
  // `capacity` a power of two; holds 0 ... filled - 1.
  ScqIndices(std::size_t capacity, std::size_t filled)
      : capacity_(capacity),
        order_(static_cast<unsigned>(std::countr_zero(2 * capacity))),
        entries_(new Entry[2 * capacity]) {
    const std::uint64_t n = 2 * capacity_;
    // Positions begin at the second lap, so that the entries of the first are "an earlier lap, empty".
    for (std::uint64_t i = 0; i < n; ++i) entries_[i].store(make(0, true, none()), std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < filled; ++i) place(n + i).store(make(1, true, i), std::memory_order_relaxed);
    head_.store(n, std::memory_order_relaxed);
    tail_.store(n + filled, std::memory_order_relaxed);
    threshold_.store(filled == 0 ? -1 : most(), std::memory_order_relaxed);
  }

  void put(std::uint64_t index) noexcept {
    for (;;) {
      const std::uint64_t tail = tail_.fetch_add(1, std::memory_order_acq_rel);
      Entry& entry = place(tail);
      std::uint64_t seen = entry.load(std::memory_order_acquire);
      while (lap_of(seen) < lap(tail) && index_of(seen) == none() &&
             (is_safe(seen) || head_.load(std::memory_order_acquire) <= tail)) {
        if (entry.compare_exchange_weak(seen, make(lap(tail), true, index), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
          if (threshold_.load() != most()) threshold_.store(most());
          return;
        }
      }
    }
  }

  bool take(std::uint64_t& index) noexcept {
    if (threshold_.load() < 0) return false;
    for (;;) {
      const std::uint64_t head = head_.fetch_add(1, std::memory_order_acq_rel);
      Entry& entry = place(head);
      std::uint64_t seen = entry.load(std::memory_order_acquire);
      for (;;) {
        if (lap_of(seen) == lap(head)) {
          entry.fetch_or(none(), std::memory_order_acq_rel);  // taken: no index any more
          index = index_of(seen);
          return true;
        }
        if (lap_of(seen) > lap(head)) break;
        // An enqueuer is late: an empty entry passes to this lap, a full one becomes unsafe for enqueuers.
        const std::uint64_t wanted = index_of(seen) == none() ? make(lap(head), is_safe(seen), none())
                                                              : make(lap_of(seen), false, index_of(seen));
        if (entry.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel, std::memory_order_acquire)) break;
      }
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      if (tail <= head + 1) {
        catch_up(tail, head + 1);
        threshold_.fetch_sub(1);
        return false;
      }
      if (threshold_.fetch_sub(1) <= 0) return false;
    }
  }

 private:
  using Entry = std::atomic<std::uint64_t>;
  // Entry: {lap, safe, index}; all ones in the index: none.
  std::uint64_t none() const noexcept { return (std::uint64_t{1} << order_) - 1; }
  std::uint64_t make(std::uint64_t lap, bool safe, std::uint64_t index) const noexcept {
    return lap << (order_ + 1) | std::uint64_t{safe} << order_ | index;
  }
  std::uint64_t lap_of(std::uint64_t e) const noexcept { return e >> (order_ + 1); }
  bool is_safe(std::uint64_t e) const noexcept { return (e >> order_ & 1) != 0; }
  std::uint64_t index_of(std::uint64_t e) const noexcept { return e & none(); }
  std::uint64_t lap(std::uint64_t position) const noexcept { return position >> order_; }
  std::int64_t most() const noexcept { return static_cast<std::int64_t>(3 * capacity_ - 1); }
  // Neighbouring positions on different cache lines (eight entries each), where there are more than one.
  Entry& place(std::uint64_t position) const noexcept {
    const std::uint64_t p = position & (2 * capacity_ - 1);
    return entries_[order_ < 4 ? p : (p << 3 | p >> (order_ - 3)) & (2 * capacity_ - 1)];
  }
  void catch_up(std::uint64_t tail, std::uint64_t head) noexcept {
    while (!tail_.compare_exchange_weak(tail, head)) {
      head = head_.load();
      tail = tail_.load();
      if (tail >= head) return;
    }
  }

  alignas(64) const std::size_t capacity_;
  const unsigned order_;
  const std::unique_ptr<Entry[]> entries_;
  alignas(64) std::atomic<std::uint64_t> head_;
  alignas(64) std::atomic<std::int64_t> threshold_;
  alignas(64) std::atomic<std::uint64_t> tail_;
};

template <class T>
class ScqQueue {
 public:
  explicit ScqQueue(std::size_t capacity) : slots_(new T[capacity]()), ready_(capacity, 0), free_(capacity, capacity) {}
  bool try_push(T&& item) noexcept {
    std::uint64_t i;
    if (!free_.take(i)) return false;
    slots_[i] = std::move(item);
    ready_.put(i);
    return true;
  }
  bool try_pop(T& item) noexcept {
    std::uint64_t i;
    if (!ready_.take(i)) return false;
    item = std::move(slots_[i]);
    free_.put(i);
    return true;
  }

 private:
  const std::unique_ptr<T[]> slots_;
  ScqIndices ready_, free_;
};

}  // namespace bench
