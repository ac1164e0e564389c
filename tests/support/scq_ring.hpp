// A control for the kit: the scalable circular queue (Nikolaev, DISC 2019, figure 8), from the paper, and with a fault
// that a published port of it has: a dequeuer that takes an empty entry over to its own cycle sets the entry's "safe"
// bit instead of keeping it. Then an enqueuer may fill a position whose dequeuer has gone by, and the
// element is lost. Holds numbers below its capacity; the threads inside must not outnumber the capacity.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace headrace::test {

template <bool KeepsSafeBit, template <class> class Atom = std::atomic>
class ScqRing {
 public:
  explicit ScqRing(std::size_t capacity)
      : n_(capacity), entries_(std::make_unique<Atom<std::uint64_t>[]>(2 * capacity)) {
    for (std::size_t i = 0; i < 2 * n_; ++i) entries_[i].store(entry(0, true, none));
    head_.store(2 * n_);
    tail_.store(2 * n_);
  }

  void put(std::uint64_t index) noexcept {
    for (;;) {
      const std::uint64_t tail = tail_.fetch_add(1);
      Atom<std::uint64_t>& place = entries_[tail % (2 * n_)];
      std::uint64_t seen = place.load();
      while (cycle(seen) < lap(tail) && index_of(seen) == none && (safe(seen) || head_.load() <= tail)) {
        if (place.compare_exchange_strong(seen, entry(lap(tail), true, index), std::memory_order_seq_cst,
                                          std::memory_order_seq_cst)) {
          if (threshold_.load() != most()) threshold_.store(most());
          return;
        }
      }
    }
  }

  std::optional<std::uint64_t> take() noexcept {
    if (threshold_.load() < 0) return std::nullopt;
    for (;;) {
      const std::uint64_t head = head_.fetch_add(1);
      Atom<std::uint64_t>& place = entries_[head % (2 * n_)];
      std::uint64_t seen = place.load();
      for (;;) {
        if (cycle(seen) == lap(head)) {
          place.fetch_or(none);
          return index_of(seen);
        }
        if (cycle(seen) > lap(head)) break;
        std::uint64_t wanted = entry(cycle(seen), false, index_of(seen));  // its dequeuer is late: unsafe for enqueuers
        if (index_of(seen) == none) wanted = entry(lap(head), KeepsSafeBit ? safe(seen) : true, none);
        if (place.compare_exchange_strong(seen, wanted, std::memory_order_seq_cst, std::memory_order_seq_cst)) break;
      }
      const std::uint64_t tail = tail_.load();
      if (tail <= head + 1) {
        catch_up(tail, head + 1);
        threshold_.fetch_sub(1);
        return std::nullopt;
      }
      if (threshold_.fetch_sub(1) <= 0) return std::nullopt;
    }
  }

 private:
  static constexpr std::uint64_t none = 0xFFFF;
  static std::uint64_t entry(std::uint64_t cycle, bool safe, std::uint64_t index) noexcept {
    return cycle << 17 | std::uint64_t{safe} << 16 | index;
  }
  static std::uint64_t cycle(std::uint64_t e) noexcept { return e >> 17; }
  static bool safe(std::uint64_t e) noexcept { return (e >> 16 & 1) != 0; }
  static std::uint64_t index_of(std::uint64_t e) noexcept { return e & none; }
  std::uint64_t lap(std::uint64_t position) const noexcept { return position / (2 * n_); }
  std::int64_t most() const noexcept { return static_cast<std::int64_t>(3 * n_ - 1); }
  void catch_up(std::uint64_t tail, std::uint64_t head) noexcept {
    while (!tail_.compare_exchange_strong(tail, head, std::memory_order_seq_cst, std::memory_order_seq_cst)) {
      head = head_.load();
      tail = tail_.load();
      if (tail >= head) return;
    }
  }

  const std::size_t n_;
  std::unique_ptr<Atom<std::uint64_t>[]> entries_;
  Atom<std::uint64_t> head_{0};
  Atom<std::uint64_t> tail_{0};
  Atom<std::int64_t> threshold_{-1};
};

}  // namespace headrace::test
