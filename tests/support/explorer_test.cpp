// The explorer itself: it meets every interleaving once, finds lost wakeups and threads that do not end, replays what
// it found, and leaves threads in the middle unharmed. (Its weak memory: memory_model_test.cpp.)
#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/explored_fixture.hpp"

namespace headrace::test {
namespace {

class Explorer : public ExploredFixture {};

using Word = ExploredAtomic<std::uint64_t>;
using Outcome = Execution::Outcome;

// ---- Interleavings -------------------------------------------------------------------------------------------------

TEST_F(Explorer, Meets_every_interleaving_exactly_once) {
  for (unsigned threads = 1; threads <= 3; ++threads) {
    for (unsigned accesses = 1; accesses <= 3; ++accesses) {
      std::set<std::vector<unsigned>> met;
      DepthFirst search;
      const Exploration e = explore(search, {}, [&](Execution& run) {
        Word x;
        std::vector<unsigned> order;
        for (unsigned t = 0; t < threads; ++t) {
          run.spawn([&, t] {
            for (unsigned i = 0; i < accesses; ++i) {
              x.fetch_add(1);
              order.push_back(t);
            }
          });
        }
        ASSERT_EQ(run.run(), Outcome::finished);
        ASSERT_EQ(x.load(), threads * accesses);
        EXPECT_TRUE(met.insert(order).second);
      });
      const auto factorial = [](unsigned n) {
        std::uint64_t f = 1;
        for (unsigned i = 2; i <= n; ++i) f *= i;
        return f;
      };
      std::uint64_t expected = factorial(threads * accesses);
      for (unsigned t = 0; t < threads; ++t) expected /= factorial(accesses);
      EXPECT_TRUE(e.complete);
      EXPECT_EQ(e.runs, expected);
      EXPECT_EQ(met.size(), expected);
    }
  }
}

// Increments by load and store; needs one switch away from a running thread to lose one.
void increments(Execution& run) {
  Word x;
  for (int t = 0; t < 2; ++t) {
    run.spawn([&] {
      for (int i = 0; i < 3; ++i) x.store(x.load() + 1);
    });
  }
  if (run.run() == Outcome::finished && x.load() != 6) run.fail("lost an increment");
}

TEST_F(Explorer, Finds_a_lost_increment_within_the_bound_and_replays_it) {
  DepthFirst none(0), one(1);
  EXPECT_FALSE(explore(none, {}, increments).failure);
  EXPECT_TRUE(none.complete());
  const Exploration found = explore(one, {}, increments);
  ASSERT_TRUE(found.failure);
  Replay replay(choices_from(text(found.failure->choices)));
  EXPECT_TRUE(explore(replay, {}, increments).failure);
  EXPECT_NE(trace_of(increments, {}, found.failure->choices).find("lost an increment"), std::string::npos);

  Randomised random(1, length_of(increments));
  const Exploration by_chance = explore(random, {}, increments, 1000);
  ASSERT_TRUE(by_chance.failure);
  Randomised again(by_chance.failure->seed, length_of(increments));
  EXPECT_TRUE(explore(again, {}, increments, 1).failure) << "a seed replays its run";
}

TEST_F(Explorer, Counts_preemptions) {
  const std::uint64_t expected[] = {2, 6, 14};  // 2 threads, 3 accesses: by hand
  for (unsigned bound = 0; bound < 3; ++bound) {
    DepthFirst search(bound);
    const Exploration e = explore(search, {}, [](Execution& run) {
      Word x;
      for (int t = 0; t < 2; ++t) {
        run.spawn([&] {
          for (int i = 0; i < 3; ++i) x.load();
        });
      }
      run.run();
    });
    EXPECT_TRUE(e.complete);
    EXPECT_EQ(e.runs, expected[bound]) << bound;
  }
}

// ---- Threads that wait, sleep, freeze, do not end
// --------------------------------------------------------------------

TEST_F(Explorer, Passing_threads_end_and_others_are_found) {
  DepthFirst search(2);
  const Exploration e = explore(search, {}, [](Execution& run) {
    Word flag;
    run.spawn([&] {
      while (flag.load() != 2) Execution::pass();
    });
    run.spawn([&] {
      while (flag.load() != 1) Execution::pass();
      flag.store(2);
    });
    run.spawn([&] { flag.store(1); });
    run.run();
  });
  EXPECT_TRUE(e.complete);
  EXPECT_FALSE(e.failure) << e.failure->text();
  for (const bool passes : {true, false}) {
    DepthFirst once(0);
    const Exploration endless = explore(once, {.most_steps = 500}, [&](Execution& run) {
      Word flag;
      run.spawn([&] {
        while (flag.load() == 0) {
          if (passes) Execution::pass();
        }
      });
      EXPECT_EQ(run.run(), passes ? Outcome::stuck : Outcome::endless);
    });
    ASSERT_TRUE(endless.failure);
  }
}

void sleeps_on(Execution& run, bool looks_again, bool wakes) {
  ExploredAtomic<std::uint64_t> word;
  run.spawn([&] {
    using Futex = detail::Futex<ExploredAtomic>;
    const auto seen = looks_again ? static_cast<std::uint32_t>(word.load() >> 32) : 0;
    if (seen != 0) return;
    const bool woken = Futex::wait(word, 0, std::chrono::seconds(1));
    EXPECT_EQ(woken, wakes || (word.peek() != 0 && run.expired() == 0));
  });
  run.spawn([&] {
    word.store(std::uint64_t{1} << 32);
    if (wakes) detail::Futex<ExploredAtomic>::wake(word, 1);
  });
  run.run();
}

TEST_F(Explorer, A_sleep_that_nobody_ends_is_a_lost_wakeup_or_is_counted) {
  DepthFirst good;
  EXPECT_FALSE(explore(good, {}, [](Execution& run) { sleeps_on(run, true, true); }).failure);
  DepthFirst bad;
  const auto lost = explore(bad, {}, [](Execution& run) { sleeps_on(run, true, false); });
  ASSERT_TRUE(lost.failure);
  EXPECT_NE(lost.failure->what.find("lost wakeup"), std::string::npos);
  DepthFirst counted;
  const auto expired =
      explore(counted, {.sleep_may_expire = true}, [](Execution& run) { sleeps_on(run, true, false); });
  EXPECT_FALSE(expired.failure);
  EXPECT_GT(expired.expired, 0u);
}

TEST_F(Explorer, A_passing_thread_goes_on_as_soon_as_somebody_has_written) {
  std::uint64_t passed_and_saw_one = 0;
  DepthFirst search;
  explore(search, {}, [&](Execution& run) {
    Word flag;
    run.spawn([&] {
      bool passed = false;
      std::uint64_t now = 0;
      while ((now = flag.load()) == 0) {
        passed = true;
        Execution::pass();
      }
      passed_and_saw_one += passed && now == 1;
    });
    run.spawn([&] {
      flag.store(1);
      flag.store(2);
    });
    run.run();
  });
  EXPECT_GT(passed_and_saw_one, 0u);
}

TEST_F(Explorer, A_frozen_thread_stops_before_its_access_and_can_go_on) {
  DepthFirst search;
  const Exploration e = explore(search, {}, [](Execution& run) {
    Word x;
    const unsigned victim = run.spawn([&] {
      x.fetch_add(1);
      x.fetch_add(10);
    });
    run.spawn([&] { x.fetch_add(100); });
    run.freeze(victim, 1);
    ASSERT_EQ(run.run(), Outcome::finished);
    ASSERT_TRUE(run.reached_freeze(victim));
    ASSERT_EQ(x.load(), 101u);
    run.thaw();
    ASSERT_EQ(run.run(), Outcome::finished);
    ASSERT_EQ(x.load(), 111u);
  });
  EXPECT_EQ(e.runs, 2u);
}

std::string message_under_way() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST_F(Explorer, Threads_can_spawn_threads_throw_and_be_left_in_the_middle) {
  for (int round = 0; round < 3; ++round) {
    DepthFirst search;
    std::uint64_t runs = 0;
    explore(search, {}, [&](Execution& run) {
      ++runs;
      Word x;
      run.spawn([&] {
        try {
          x.fetch_add(1);
          throw std::runtime_error("as usual");
        } catch (const std::exception& e) {
          x.fetch_add(1);  // switches while an exception is under way
          ASSERT_STREQ(e.what(), "as usual");
          ASSERT_EQ(message_under_way(), "as usual");
        }
        Execution::active()->spawn([&] { x.fetch_add(1); });
      });
      run.spawn([&] {
        try {
          x.fetch_add(1);
          throw std::logic_error("unusual");
        } catch (const std::exception& e) {
          x.fetch_add(1);
          ASSERT_STREQ(e.what(), "unusual");
          ASSERT_EQ(message_under_way(), "unusual");
        }
      });
      if (run.run() != Outcome::finished) return;
      ASSERT_EQ(x.load(), 5u);
    });
    EXPECT_GT(runs, 6u);
    DepthFirst once(0);
    const auto left = explore(once, {}, [](Execution& run) {
      Word x;
      run.spawn([&] {
        x.load();
        run.fail("left here");
      });
      run.spawn([&] { x.load(); });
      run.run();
    });
    ASSERT_TRUE(left.failure);
    EXPECT_NE(left.failure->what.find("left here"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace::test
