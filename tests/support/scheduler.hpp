// A deterministic scheduler: runs threads one at a time and decides before every atomic access who goes on.
//
// The structures under test take their atomics as a template parameter; with ScheduledAtomic every access is a point
// where the scheduler may switch. Equal seeds give equal schedules, so a failure is replayed by its seed; a script fixes
// the first choices exactly. Threads are real threads that hand one baton on, so that thread_local works and sanitizers
// see nothing unusual (and no race, either: that is the stress tests' business).
//
// What it sees: interleavings of sequentially consistent accesses, lost wakeups (a sleep that only time can end), threads
// that do not come to an end. What it does not see: weaker memory orders.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/lockfree/futex.hpp"

namespace headrace::test {

class Scheduler {
 public:
  enum class Outcome {
    finished,  ///< every thread that was not frozen came to its end
    stuck,     ///< every thread sleeps and nobody can wake them
    endless    ///< the limit of steps was reached
  };
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  explicit Scheduler(std::uint64_t seed) : random_(seed), switch_one_in_(1u << (seed % 4)) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() { let_go(); }

  /// Adds a thread, before run() or from a scheduled thread; returns its number, from 0.
  unsigned spawn(std::function<void()> body) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::make_unique<Thread>());
    Thread& thread = *threads_.back();
    thread.number = static_cast<unsigned>(threads_.size() - 1);
    thread.os = std::thread([this, &thread, body = std::move(body)] {
      current() = {this, &thread};
      {
        std::unique_lock wait(mutex_);
        thread.turn.wait(wait, [&] { return running_ == &thread || free_; });
      }
      body();
      const std::lock_guard end(mutex_);
      thread.state = State::finished;
      if (!free_) hand_on();
      current() = {};
    });
    return thread.number;
  }

  /// The thread stops for good before its access number `access` (from 0).
  void freeze(unsigned thread, std::uint64_t access) { threads_[thread]->freeze_at = access; }
  /// The first choices: thread numbers; a thread that cannot run is passed over. Then the seed decides.
  void script(std::vector<unsigned> choices) { script_ = std::move(choices); }
  void limit_steps(std::uint64_t most) { most_steps_ = most; }

  /// Runs until every thread has ended or is frozen. Then all are let go, to be joined by the destructor.
  Outcome run() {
    std::unique_lock lock(mutex_);
    hand_on();
    done_.wait(lock, [&] { return over_; });
    return outcome_;
  }
  /// Lets frozen and stuck threads run freely and joins all.
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      free_ = true;
      for (auto& thread : threads_) thread->turn.notify_all();
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i]->os.joinable()) threads_[i]->os.join();
    }
  }

  /// Sleeps that only time ended: lost wakeups, where a notify was due.
  [[nodiscard]] std::uint64_t expired() const { return expired_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] bool reached_freeze(unsigned thread) const { return threads_[thread]->was_frozen; }
  [[nodiscard]] std::uint64_t accesses(unsigned thread) const { return threads_[thread]->accesses; }

  // ---- Called by the atomics -----------------------------------------------------------------------------------

  /// Before an atomic access of the calling thread.
  static void point() {
    const Current here = current();
    if (here.scheduler != nullptr) here.scheduler->step(*here.thread);
  }
  static Scheduler* of_this_thread() { return current().scheduler; }

  template <class StillEqual>
  static bool futex_wait(const void* address, StillEqual&& still_equal) {
    point();
    const Current here = current();
    if (here.scheduler == nullptr) return true;
    return here.scheduler->sleep(*here.thread, address, still_equal);
  }
  static void futex_wake(const void* address, int count) {
    point();
    const Current here = current();
    if (here.scheduler == nullptr) return;
    const std::lock_guard lock(here.scheduler->mutex_);
    for (auto& thread : here.scheduler->threads_) {
      if (count > 0 && thread->state == State::asleep && thread->address == address) {
        thread->state = State::runnable;
        --count;
      }
    }
  }

 private:
  enum class State { runnable, asleep, frozen, finished };
  struct Thread {
    unsigned number = 0;
    State state = State::runnable;
    const void* address = nullptr;
    bool timed_out = false;
    bool was_frozen = false;
    std::uint64_t accesses = 0;
    std::uint64_t freeze_at = never;
    std::condition_variable turn;
    std::thread os;
  };
  struct Current {
    Scheduler* scheduler = nullptr;
    Thread* thread = nullptr;
  };
  static Current& current() {
    static thread_local Current here;
    return here;
  }

  void step(Thread& self) {
    std::unique_lock lock(mutex_);
    if (free_) {
      lock.unlock();
      std::this_thread::yield();
      return;
    }
    if (self.accesses++ == self.freeze_at) {
      self.state = State::frozen;
      self.was_frozen = true;
    }
    wait_for_turn(lock, self);
  }

  template <class StillEqual>
  bool sleep(Thread& self, const void* address, StillEqual&& still_equal) {
    std::unique_lock lock(mutex_);
    if (free_) {
      lock.unlock();
      std::this_thread::yield();
      return false;
    }
    if (!still_equal()) return true;
    self.state = State::asleep;
    self.address = address;
    self.timed_out = false;
    wait_for_turn(lock, self);
    return !self.timed_out;
  }

  void wait_for_turn(std::unique_lock<std::mutex>& lock, Thread& self) {
    hand_on();
    self.turn.wait(lock, [&] { return running_ == &self || free_; });
  }

  // Chooses who goes on. Under the mutex.
  void hand_on() {
    ++steps_;
    Thread* next = choose();
    if (next == nullptr || steps_ > most_steps_) {
      outcome_ = steps_ > most_steps_ ? Outcome::endless : all_ended() ? Outcome::finished : Outcome::stuck;
      over_ = true;
      running_ = nullptr;
      free_ = free_ || outcome_ != Outcome::finished;
      if (free_) {
        for (auto& thread : threads_) thread->turn.notify_all();
      }
      done_.notify_all();
      return;
    }
    if (next == running_) return;
    running_ = next;
    next->turn.notify_one();
  }

  Thread* choose() {
    while (!script_.empty()) {
      const unsigned number = script_.front();
      script_.erase(script_.begin());
      if (number < threads_.size() && threads_[number]->state == State::runnable) return threads_[number].get();
    }
    if (running_ != nullptr && running_->state == State::runnable && random_() % switch_one_in_ != 0) return running_;
    if (Thread* one = any(State::runnable)) return one;
    Thread* const sleeper = any(State::asleep);  // nobody is left to wake it: its time runs out
    if (sleeper == nullptr) return nullptr;
    ++expired_;
    sleeper->timed_out = true;
    sleeper->state = State::runnable;
    return sleeper;
  }

  Thread* any(State state) {
    std::vector<Thread*> all;
    for (auto& thread : threads_) {
      if (thread->state == state) all.push_back(thread.get());
    }
    return all.empty() ? nullptr : all[random_() % all.size()];
  }

  bool all_ended() const {
    for (const auto& thread : threads_) {
      if (thread->state == State::runnable || thread->state == State::asleep) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<unsigned> script_;
  std::mt19937_64 random_;
  unsigned switch_one_in_;
  Thread* running_ = nullptr;
  bool free_ = false;
  bool over_ = false;
  Outcome outcome_ = Outcome::finished;
  std::uint64_t steps_ = 0;
  std::uint64_t most_steps_ = 200'000;
  std::uint64_t expired_ = 0;
};

/// std::atomic whose every access is a point of the scheduler.
template <class T>
class ScheduledAtomic {
 public:
  ScheduledAtomic() noexcept : value_(T{}) {}
  ScheduledAtomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  ScheduledAtomic(const ScheduledAtomic&) = delete;
  ScheduledAtomic& operator=(const ScheduledAtomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const noexcept { return here().load(); }
  void store(T v, std::memory_order = std::memory_order_seq_cst) noexcept { here().store(v); }
  T exchange(T v, std::memory_order = std::memory_order_seq_cst) noexcept { return here().exchange(v); }
  T fetch_add(T v, std::memory_order = std::memory_order_seq_cst) noexcept { return here().fetch_add(v); }
  T fetch_sub(T v, std::memory_order = std::memory_order_seq_cst) noexcept { return here().fetch_sub(v); }
  T fetch_or(T v, std::memory_order = std::memory_order_seq_cst) noexcept { return here().fetch_or(v); }
  T fetch_and(T v, std::memory_order = std::memory_order_seq_cst) noexcept { return here().fetch_and(v); }
  bool compare_exchange_strong(T& e, T v, std::memory_order, std::memory_order) noexcept {
    return here().compare_exchange_strong(e, v);
  }
  bool compare_exchange_weak(T& e, T v, std::memory_order, std::memory_order) noexcept {
    return here().compare_exchange_strong(e, v);
  }
  /// Without a point, for the scheduler itself.
  T peek() const noexcept { return value_.load(); }

 private:
  std::atomic<T>& here() noexcept {
    Scheduler::point();
    return value_;
  }
  const std::atomic<T>& here() const noexcept {
    Scheduler::point();
    return value_;
  }
  std::atomic<T> value_;
};

}  // namespace headrace::test

namespace headrace::detail {

template <>
struct Futex<test::ScheduledAtomic> {
  static bool wait(const test::ScheduledAtomic<std::uint64_t>& word, std::uint32_t expected,
                   std::chrono::nanoseconds at_most) noexcept {
    if (at_most.count() <= 0) return false;
    return test::Scheduler::futex_wait(&word, [&] { return static_cast<std::uint32_t>(word.peek() >> 32) == expected; });
  }
  static void wake(const test::ScheduledAtomic<std::uint64_t>& word, int count) noexcept {
    test::Scheduler::futex_wake(&word, count);
  }
};

}  // namespace headrace::detail
