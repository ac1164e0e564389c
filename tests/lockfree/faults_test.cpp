// Faults that other queues and wait layers were reported with, where the structures' own tests do not pin them: copies
// that throw in every form of a blocking push, leftovers after every kind of end, the high-water mark, signals and
// timeouts, the epoch's wrap, the watchdog of a lost wakeup, threads that come and go. Each is seen to fail when its
// fault is planted: tools/plant_faults.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "headrace/lockfree/blocking.hpp"
#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "support/deadline.hpp"
#include "support/payloads.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using test::Deadline;
using test::ScheduledAtomic;
using test::Scheduler;
using test::ThrowingCopy;
using test::Tracked;
using Clock = std::chrono::steady_clock;
constexpr BlockingOptions sleeps_at_once{.spins = 0, .yields = 0, .wake_interval = 0ns};

// ---- Elements ------------------------------------------------------------------------------------------------------

template <class Ring>
void copies_throw_in_every_form_of_a_push() {
  {
    Blocking<Ring> queue(3, sleeps_at_once);
    const ThrowingCopy value(7);
    const std::function<PushResult()> forms[] = {
        [&] { return queue.try_push(value); },
        [&] { return queue.push(value); },
        [&] { return queue.push_for(value, 1s); },
        [&] { return queue.push_until(value, Clock::now() + 1s); },
    };
    for (int round = 0; round < 3; ++round) {
      for (const auto& push : forms) {
        for (std::size_t inside = 0; inside < 3; ++inside) {
          ThrowingCopy::armed() = true;
          EXPECT_THROW(static_cast<void>(push()), std::runtime_error);
          ThrowingCopy::armed() = false;
          ASSERT_EQ(push(), PushResult::ok) << "a place was lost";
        }
        for (int i = 0; i < 3; ++i) ASSERT_EQ(queue.try_pop()->value(), 7u);
        ASSERT_FALSE(queue.try_pop());
      }
    }
    // What is left when the queue ends after an exception is destroyed once.
    ASSERT_EQ(queue.push(value), PushResult::ok);
    ThrowingCopy::armed() = true;
    EXPECT_THROW(static_cast<void>(queue.push(value)), std::runtime_error);
    ThrowingCopy::armed() = false;
  }
  EXPECT_EQ(ThrowingCopy::live(), 0);
}

TEST(Faults, A_copy_that_throws_changes_nothing_in_any_form_of_a_blocking_push) {
  const Deadline deadline;
  copies_throw_in_every_form_of_a_push<MpmcRing<ThrowingCopy>>();
  copies_throw_in_every_form_of_a_push<SpscRing<ThrowingCopy>>();
}

template <class Ring>
void leftovers_are_destroyed_after_every_end() {
  for (const char* end : {"none", "close", "cancel"}) {
    for (std::uint64_t before = 0; before <= 6; ++before) {  // laps and parts of one
      for (std::uint64_t left = 0; left <= 3; ++left) {
        SCOPED_TRACE(std::string(end) + " after " + std::to_string(before) + ", " + std::to_string(left) + " left");
        {
          Blocking<Ring> queue(3, sleeps_at_once);
          for (std::uint64_t i = 0; i < before; ++i) {
            ASSERT_EQ(queue.push(Tracked(i)), PushResult::ok);
            ASSERT_EQ(queue.pop()->value(), i);
          }
          for (std::uint64_t i = 0; i < left; ++i) ASSERT_EQ(queue.push(Tracked(i)), PushResult::ok);
          if (std::string(end) == "close") queue.close();
          if (std::string(end) == "cancel") queue.cancel();
        }
        ASSERT_EQ(Tracked::live(), 0);
      }
    }
  }
  EXPECT_EQ(Tracked::faults(), 0);
}

TEST(Faults, Leftovers_of_a_blocking_queue_are_destroyed_whatever_its_end_was) {
  leftovers_are_destroyed_after_every_end<MpmcRing<Tracked>>();
  leftovers_are_destroyed_after_every_end<SpscRing<Tracked>>();
}

// An element's first move takes it into the queue, its second out of it. Those inside are never more than the capacity.
class Counted {
 public:
  Counted() noexcept = default;
  Counted(Counted&& other) noexcept : moves_(other.moves_ + 1) {
    if (moves_ == 1) {
      const long now = ++inside();
      long most = high_water();
      while (now > most && !high_water().compare_exchange_weak(most, now)) {
      }
    } else if (moves_ == 2) {
      --inside();
    }
  }
  Counted& operator=(Counted&&) = delete;
  static std::atomic<long>& inside() noexcept {
    static std::atomic<long> count{0};
    return count;
  }
  static std::atomic<long>& high_water() noexcept {
    static std::atomic<long> count{0};
    return count;
  }

 private:
  int moves_ = 0;
};

TEST(Faults, The_high_water_mark_is_the_capacity_and_never_more) {
  const Deadline deadline;
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 7u, 100u}) {
    MpmcRing<Counted> queue(capacity);
    ASSERT_EQ(queue.capacity(), capacity);
    Counted::inside() = Counted::high_water() = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {  // pushes until it is refused, so that the queue is often full
        for (int i = 0; i < test::scaled(200); ++i) {
          while (queue.try_push(Counted()) == PushResult::ok) {
          }
          std::this_thread::yield();
        }
      });
      threads.emplace_back([&] {
        for (int i = 0; i < test::scaled(200); ++i) {
          while (queue.try_pop()) {
          }
          std::this_thread::yield();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    while (queue.try_push(Counted()) == PushResult::ok) {
    }
    EXPECT_EQ(Counted::high_water(), static_cast<long>(capacity));
    EXPECT_EQ(Counted::inside(), static_cast<long>(capacity));
    while (queue.try_pop()) {
    }
    EXPECT_EQ(Counted::inside(), 0);
  }
}

// ---- Sleeping ------------------------------------------------------------------------------------------------------

void on_signal(int) {}

// Sends a signal to a thread every 100 us until told to stop; the thread's system calls return EINTR.
class SignalStorm {
 public:
  explicit SignalStorm(pthread_t target) {
    struct sigaction action {};
    action.sa_handler = on_signal;  // no SA_RESTART
    sigaction(SIGUSR2, &action, &before_);
    storm_ = std::thread([this, target] {
      for (; !over_; ++sent_) {
        pthread_kill(target, SIGUSR2);
        std::this_thread::sleep_for(100us);
      }
    });
  }
  ~SignalStorm() {
    over_ = true;
    storm_.join();
    sigaction(SIGUSR2, &before_, nullptr);
  }
  [[nodiscard]] int sent() const noexcept { return sent_; }

 private:
  struct sigaction before_ {};
  std::atomic<bool> over_{false};
  std::atomic<int> sent_{0};
  std::thread storm_;
};

TEST(Faults, Signals_neither_end_a_sleep_nor_prolong_it) {
  const Deadline deadline;
  EventCount events;
  const SignalStorm storm(pthread_self());
  const auto start = Clock::now();
  EXPECT_FALSE(events.wait(events.prepare(), 60ms)) << "a signal is not a notify";
  EXPECT_GE(Clock::now() - start, 60ms);
  EXPECT_FALSE(events.await([]() noexcept { return false; }, Clock::now() + 60ms));
  EXPECT_LT(Clock::now() - start, 20s) << "the time begins anew with every signal";
  EXPECT_GT(storm.sent(), 0);
  // A notify in the middle of it is one.
  std::atomic<bool> open{false};
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    open = true;
    events.notify_one();
  });
  EXPECT_TRUE(events.await([&]() noexcept { return open.load(); }));
  other.join();
  EXPECT_EQ(events.waiters(), 0u);
  EXPECT_EQ(events.rescues(), 0u);
}

TEST(Faults, No_time_is_no_sleep_and_a_little_time_is_kept) {
  EventCount events;
  for (const std::chrono::nanoseconds time : {0ns, -1ns, std::chrono::nanoseconds(-1h)}) {
    EXPECT_FALSE(events.await([]() noexcept { return false; }, Clock::now() + time));
  }
  EXPECT_EQ(events.sleeps(), 0u);
  for (const std::chrono::nanoseconds time :
       {1'000ns, 500'000ns, 30'000'000ns, 130'000'000ns}) {  // the last: two sleeps
    const auto start = Clock::now();
    EXPECT_FALSE(events.await([]() noexcept { return false; }, start + time));
    EXPECT_GE(Clock::now() - start, time);
    EXPECT_LT(Clock::now() - start, time + 10s);
  }
  EXPECT_GE(events.sleeps(), 4u);
  EXPECT_EQ(events.waiters(), 0u);
  EXPECT_EQ(events.rescues(), 0u);
}

// A wakeup that is lost by somebody else's fault (a condition made true without a notify) costs one re-check, no more,
// and is counted.
TEST(Faults, A_wakeup_that_never_comes_costs_one_recheck_and_is_counted) {
  const Deadline deadline;
  EventCount events;
  constexpr int rounds = 3;
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> open{false};
    Clock::time_point opened;
    const auto sleeps = events.sleeps();
    std::thread other([&] {
      while (events.sleeps() == sleeps) std::this_thread::yield();
      std::this_thread::sleep_for(1ms);
      opened = Clock::now();
      open = true;
    });
    EXPECT_TRUE(events.await([&]() noexcept { return open.load(); }));
    other.join();
    EXPECT_LT(Clock::now() - opened, EventCount<>::longest_sleep + 5s);
  }
  // Each is confirmed when the next waiter finds that no notify has come.
  EXPECT_FALSE(events.await([]() noexcept { return false; }, Clock::now()));
  EXPECT_EQ(events.rescues(), static_cast<std::uint64_t>(rounds));
}

// The watchdog: most hand-overs to a sleeper take far less than a re-check, so it is the notify that ends them.
template <class Ring>
void wakeups_come_before_the_recheck() {
  Blocking<Ring> queue(1, sleeps_at_once);
  std::vector<Clock::duration> waited;
  Clock::time_point pushed;  // published by the queue
  std::thread consumer([&] {
    while (queue.pop()) waited.push_back(Clock::now() - pushed);
  });
  constexpr int rounds = 15;
  for (int i = 0; i < rounds; ++i) {
    const auto sleeps = queue.sleeps();
    for (int ms = 0; ms < 2000 && queue.sleeps() == sleeps; ++ms) std::this_thread::sleep_for(1ms);
    pushed = Clock::now();
    ASSERT_EQ(queue.push(std::uint64_t{1}), PushResult::ok);
  }
  queue.close();
  consumer.join();
  ASSERT_EQ(waited.size(), static_cast<std::size_t>(rounds));
  std::sort(waited.begin(), waited.end());
  EXPECT_LT(waited[rounds / 2], EventCount<>::longest_sleep / 3);
  EXPECT_EQ(queue.rescues(), 0u);
}

TEST(Faults, Wakeups_come_before_the_recheck) {
  const Deadline deadline;
  wakeups_come_before_the_recheck<MpmcRing<std::uint64_t>>();
  wakeups_come_before_the_recheck<SpscRing<std::uint64_t>>();
}

// The epoch wraps while threads sleep and are woken: from every distance to the wrap, under many schedules, and for
// real.
TEST(Faults, Sleepers_are_woken_across_the_wrap_of_the_epoch) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(400)); ++seed) {
    EventCount<ScheduledAtomic> events(static_cast<std::uint32_t>(0 - seed % 5));
    ScheduledAtomic<std::uint64_t> turn{0};
    Scheduler scheduler(seed);
    for (std::uint64_t me = 0; me < 2; ++me) {
      scheduler.spawn([&, me] {
        for (int i = 0; i < 4; ++i) {
          events.await([&]() noexcept { return turn.load() % 2 == me; });
          turn.fetch_add(1);
          events.notify_all();
        }
      });
    }
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_EQ(scheduler.expired(), 0u) << "lost wakeup, seed " << seed;
    ASSERT_EQ(events.waiters(), 0u) << "the wrap reached the count of waiters";
  }
  const Deadline deadline;
  EventCount events(0xFFFFFFFE);
  for (int i = 0; i < 4; ++i) {
    std::atomic<bool> open{false};
    const auto sleeps = events.sleeps();
    std::thread waiter([&] { events.await([&]() noexcept { return open.load(); }); });
    while (events.sleeps() == sleeps) std::this_thread::yield();
    EXPECT_EQ(events.waiters(), 1u);
    open = true;
    events.notify_one();
    waiter.join();
  }
  EXPECT_EQ(events.rescues(), 0u);
  EXPECT_EQ(events.waiters(), 0u);
}

// ---- Threads that come and go --------------------------------------------------------------------------------------

TEST(Faults, Ten_thousand_short_lived_waiters_leave_nothing_behind) {
  const Deadline deadline;
  Blocking<MpmcRing<std::uint64_t>> queue(3, sleeps_at_once);
  std::atomic<std::uint64_t> sum{0};
  const int rounds = test::scaled(10'000) / 4;
  for (int round = 0; round < rounds; ++round) {
    std::thread threads[4];
    for (int t = 0; t < 4; ++t) {
      threads[t] = std::thread([&, t] {
        if (t % 2 == 0)
          EXPECT_EQ(queue.push(std::uint64_t{1}), PushResult::ok);
        else
          sum += queue.pop().value_or(0);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(sum, 2u * static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(queue.rescues(), 0u);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(queue.try_push(i), PushResult::ok) << "a thread took a place along";
  EXPECT_EQ(queue.try_push(std::uint64_t{3}), PushResult::full);
}

}  // namespace
}  // namespace headrace
