// A peer: a ring for one producer and one consumer, the kind of rigtorp's SPSCQueue, written from its idea: Lamport's
// ring with one slack place, in which each side keeps the other's position and reads it anew only when it must. It can
// not be closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace bench {

template <class T>
class CachedRing {
 public:
  explicit CachedRing(std::size_t capacity) : places_(capacity + 1), items_(new T[places_ + 2 * padding]()) {}

  bool try_push(T&& item) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t next = tail + 1 == places_ ? 0 : tail + 1;
    if (next == head_seen_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (next == head_seen_) return false;
    }
    items_[tail + padding] = std::move(item);
    tail_.store(next, std::memory_order_release);
    return true;
  }
  bool try_pop(T& item) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_seen_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head == tail_seen_) return false;
    }
    item = std::move(items_[head + padding]);
    head_.store(head + 1 == places_ ? 0 : head + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t padding = (63 + sizeof(T)) / sizeof(T);
  const std::size_t places_;
  const std::unique_ptr<T[]> items_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t head_seen_ = 0;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::size_t tail_seen_ = 0;
};

}  // namespace bench
