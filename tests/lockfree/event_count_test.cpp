#include "headrace/lockfree/event_count.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace headrace {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(EventCount, A_condition_that_holds_needs_no_sleep) {
  EventCount events;
  EXPECT_TRUE(events.await([]() noexcept { return true; }));
  EXPECT_EQ(events.sleeps(), 0u);
  EXPECT_EQ(events.waiters(), 0u);
}

TEST(EventCount, A_deadline_in_the_past_never_sleeps) {
  EventCount events;
  EXPECT_FALSE(events.await([]() noexcept { return false; }, Clock::now() - 1s));
  EXPECT_FALSE(events.await([]() noexcept { return false; }, Clock::time_point::min()));
  EXPECT_EQ(events.sleeps(), 0u);
  EXPECT_EQ(events.waiters(), 0u);
}

TEST(EventCount, A_deadline_ends_the_wait_and_the_announcement) {
  EventCount events;
  const auto begin = Clock::now();
  EXPECT_FALSE(events.await([]() noexcept { return false; }, begin + 30ms));
  EXPECT_GE(Clock::now() - begin, 30ms);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_EQ(events.waiters(), 0u);
  EXPECT_EQ(events.rescues(), 0u);
}

TEST(EventCount, A_notify_between_announcement_and_sleep_ends_the_sleep_at_once) {
  EventCount events(0xFFFFFFFF);  // the epoch wraps
  const auto key = events.prepare();
  events.notify_one();
  EXPECT_TRUE(events.wait(key, 10s));
  EXPECT_EQ(events.sleeps(), 0u);
}

TEST(EventCount, Who_waits_for_something_else_is_left_asleep) {
  EventCount events;
  std::atomic<bool> done{false};
  std::jthread sleeper([&] { events.await([&]() noexcept { return done.load(std::memory_order_acquire); }); });
  const auto begin = Clock::now();
  while (events.sleeps() == 0) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) events.notify_one_if([]() noexcept { return false; });
  const auto sleeps = events.sleeps();
  EXPECT_LE(sleeps, 2u + static_cast<std::uint64_t>((Clock::now() - begin) / 100ms)) << "woken for nothing";
  done.store(true, std::memory_order_release);
  events.notify_one_if([]() noexcept { return true; });
  sleeper.join();
  EXPECT_EQ(events.rescues(), 0u);
}

TEST(EventCount, Hand_overs_back_and_forth_lose_nothing) {
  EventCount events(0xFFFFFF00);
  std::atomic<int> turn{0};
  constexpr int rounds = 20'000;
  const auto player = [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      events.await([&]() noexcept { return turn.load(std::memory_order_relaxed) % 2 == me; });
      turn.fetch_add(1, std::memory_order_relaxed);
      events.notify_all();
    }
  };
  {
    std::jthread other(player, 1);
    player(0);
  }
  EXPECT_EQ(turn, 2 * rounds);
  EXPECT_EQ(events.rescues(), 0u);
  EXPECT_EQ(events.waiters(), 0u);
}

TEST(EventCount, What_was_written_before_a_notify_is_seen_by_the_woken) {
  EventCount events;
  std::atomic<int> stage{0};
  int plain = 0;  // the thread sanitizer checks the orders
  std::jthread waiter([&] {
    for (int i = 1; i <= 2000; i += 2) {
      events.await([&]() noexcept { return stage.load(std::memory_order_acquire) == i; });
      ++plain;
      stage.store(i + 1, std::memory_order_release);
      events.notify_all();
    }
  });
  for (int i = 0; i < 2000; i += 2) {
    ++plain;
    stage.store(i + 1, std::memory_order_release);
    events.notify_all();
    events.await([&]() noexcept { return stage.load(std::memory_order_acquire) == i + 2; });
  }
  waiter.join();
  EXPECT_EQ(plain, 2000);
}

TEST(EventCount, Many_waiters_are_all_woken_by_notify_all) {
  EventCount events;
  std::atomic<bool> open{false};
  {
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 8; ++i) {
      waiters.emplace_back([&] { events.await([&]() noexcept { return open.load(); }); });
    }
    std::this_thread::sleep_for(20ms);
    open = true;
    events.notify_all();
  }
  EXPECT_EQ(events.waiters(), 0u);
  EXPECT_EQ(events.rescues(), 0u);
}

TEST(EventCount, A_storm_of_signals_disturbs_no_wait) {
  struct sigaction ignore {};
  ignore.sa_handler = [](int) {};
  struct sigaction before {};
  sigaction(SIGUSR1, &ignore, &before);  // no SA_RESTART: the system call is interrupted
  EventCount events;
  std::atomic<bool> open{false};
  std::atomic<bool> over{false};
  std::atomic<bool> timed_out{false};
  std::thread waiter([&] {
    if (events.await([&]() noexcept { return false; }, Clock::now() + 60ms)) std::terminate();
    timed_out = true;
    events.await([&]() noexcept { return open.load(); });
    over = true;
    while (over) std::this_thread::sleep_for(1ms);  // not gone while signals are sent to it
  });
  const auto handle = waiter.native_handle();
  for (int i = 0; i < 200 || !timed_out; ++i) {
    pthread_kill(handle, SIGUSR1);
    std::this_thread::sleep_for(300us);
  }
  open = true;
  events.notify_one();
  for (int i = 0; i < 2000 && !over; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(over);
  over = false;
  waiter.join();
  EXPECT_EQ(events.rescues(), 0u);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace headrace
