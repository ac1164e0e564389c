// A peer: a bounded ring under a mutex, with two condition variables and counted waiters, so that nobody is notified
// who does not wait. Blocking.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace bench {

template <class T>
class MutexRing {
 public:
  explicit MutexRing(std::size_t capacity) : items_(capacity) {}

  void push(T&& item) {
    std::unique_lock lock(mutex_);
    while (count_ == items_.size()) {
      ++producers_waiting_;
      room_.wait(lock);
      --producers_waiting_;
    }
    items_[tail_] = std::move(item);
    tail_ = tail_ + 1 == items_.size() ? 0 : tail_ + 1;
    ++count_;
    const bool wake = consumers_waiting_ != 0;
    lock.unlock();
    if (wake) there_.notify_one();
  }
  void pop(T& item) {
    std::unique_lock lock(mutex_);
    while (count_ == 0) {
      ++consumers_waiting_;
      there_.wait(lock);
      --consumers_waiting_;
    }
    item = std::move(items_[head_]);
    head_ = head_ + 1 == items_.size() ? 0 : head_ + 1;
    --count_;
    const bool wake = producers_waiting_ != 0;
    lock.unlock();
    if (wake) room_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_, there_;
  std::vector<T> items_;
  std::size_t head_ = 0, tail_ = 0, count_ = 0;
  unsigned producers_waiting_ = 0, consumers_waiting_ = 0;
};

}  // namespace bench
