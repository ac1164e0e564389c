// The explorer itself: it meets every interleaving, sees what C++ allows old values to do and nothing that C++ forbids
// (litmus tests), finds races, lost wakeups and threads that do not end, and replays what it found.
#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/explored_fixture.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {
namespace {

class Explorer : public ExploredFixture {};
class WeakMemory : public ExploredFixture {};

using Word = ExploredAtomic<std::uint64_t>;
using Outcome = Execution::Outcome;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;
constexpr ExploreLimits weak{.weak_memory = true, .stale_reads = 3};

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

// ---- Weak memory: litmus tests
// -----------------------------------------------------------------------------------------

using Results = std::set<std::vector<std::uint64_t>>;
using Body = std::function<std::vector<std::uint64_t>(std::vector<Word>&)>;

// All results of bodies on shared words, over all interleavings and old values.
Results results(unsigned words, const std::vector<Body>& bodies, const ExploreLimits& limits = weak) {
  Results all;
  DepthFirst search;
  const Exploration e = explore(search, limits, [&](Execution& run) {
    std::vector<Word> x(words);
    std::vector<std::vector<std::uint64_t>> own(bodies.size());
    for (std::size_t b = 0; b < bodies.size(); ++b) run.spawn([&, b] { own[b] = bodies[b](x); });
    run.run();
    std::vector<std::uint64_t> result;
    for (const auto& part : own) result.insert(result.end(), part.begin(), part.end());
    all.insert(result);
  });
  EXPECT_TRUE(e.complete);
  EXPECT_FALSE(e.failure);
  return all;
}

TEST_F(WeakMemory, Store_buffering_needs_sequential_consistency_on_all_four) {
  const auto both_miss = [](std::memory_order store, std::memory_order load) {
    return results(2, {[=](auto& x) {
                         x[0].store(1, store);
                         return std::vector{x[1].load(load)};
                       },
                       [=](auto& x) {
                         x[1].store(1, store);
                         return std::vector{x[0].load(load)};
                       }})
        .count({0, 0});
  };
  EXPECT_EQ(both_miss(relaxed, relaxed), 1u);
  EXPECT_EQ(both_miss(release, acquire), 1u);
  EXPECT_EQ(both_miss(seq_cst, acquire), 1u);
  EXPECT_EQ(both_miss(release, seq_cst), 1u);
  EXPECT_EQ(both_miss(seq_cst, seq_cst), 0u);
  EXPECT_EQ(results(2,
                    {[](auto& x) {
                       x[0].store(1, relaxed);
                       return std::vector{x[1].load(relaxed)};
                     },
                     [](auto& x) {
                       x[1].store(1, relaxed);
                       return std::vector{x[0].load(relaxed)};
                     }},
                    {})
                .count({0, 0}),
            0u)
      << "not in the sequentially consistent mode";
}

TEST_F(WeakMemory, Message_passing_needs_release_and_acquire) {
  const auto stale = [](std::memory_order store, std::memory_order load) {
    return results(2, {[=](auto& x) {
                         x[0].store(1, relaxed);
                         x[1].store(1, store);
                         return std::vector<std::uint64_t>{};
                       },
                       [=](auto& x) {
                         const auto flag = x[1].load(load);
                         return std::vector{flag, x[0].load(relaxed)};
                       }})
        .count({1, 0});
  };
  EXPECT_EQ(stale(release, acquire), 0u);
  EXPECT_EQ(stale(release, relaxed), 1u);
  EXPECT_EQ(stale(relaxed, acquire), 1u);
}

TEST_F(WeakMemory, A_release_goes_on_through_read_modify_writes_but_not_through_stores) {
  const auto stale = [](bool by_exchange) {
    return results(2, {[](auto& x) {
                         x[0].store(1, relaxed);
                         x[1].store(1, release);
                         return std::vector<std::uint64_t>{};
                       },
                       [=](auto& x) {
                         if (by_exchange) return std::vector{x[1].fetch_add(10, relaxed)};
                         const auto seen = x[1].load(relaxed);
                         x[1].store(seen + 10, relaxed);
                         return std::vector{seen};
                       },
                       [](auto& x) {
                         const auto flag = x[1].load(acquire);
                         return std::vector{flag, x[0].load(relaxed)};
                       }})
        .count({1, 11, 0});
  };
  EXPECT_EQ(stale(true), 0u);
  EXPECT_EQ(stale(false), 1u);
}

TEST_F(WeakMemory, Coherence_and_independent_readers) {
  // One location: never back to an older value; read-modify-writes lose nothing.
  const Results one = results(1, {[](auto& x) {
                                    x[0].store(1, relaxed);
                                    x[0].store(2, relaxed);
                                    return std::vector<std::uint64_t>{};
                                  },
                                  [](auto& x) {
                                    const auto a = x[0].load(relaxed);
                                    return std::vector{a, x[0].load(relaxed)};
                                  }});
  EXPECT_EQ(one.count({1, 0}) + one.count({2, 1}) + one.count({2, 0}), 0u);
  EXPECT_EQ(one.size(), 6u);
  for (const auto& r : results(1, {[](auto& x) { return std::vector{x[0].fetch_add(1, relaxed)}; },
                                   [](auto& x) { return std::vector{x[0].fetch_add(1, relaxed)}; }}))
    EXPECT_NE(r[0], r[1]);
  // Two readers may disagree on the order of two writers, unless all is sequentially consistent.
  const auto disagree = [](std::memory_order store, std::memory_order load) {
    const auto reads = [load](std::size_t a, std::size_t b) {
      return [=](auto& x) {
        const auto first = x[a].load(load);
        return std::vector{first, x[b].load(load)};
      };
    };
    const auto writes = [store](std::size_t a) {
      return [=](auto& x) {
        x[a].store(1, store);
        return std::vector<std::uint64_t>{};
      };
    };
    return results(2, {writes(0), writes(1), reads(0, 1), reads(1, 0)}).count({1, 0, 1, 0});
  };
  EXPECT_EQ(disagree(release, acquire), 1u);
  EXPECT_EQ(disagree(seq_cst, seq_cst), 0u);
}

TEST_F(WeakMemory, Happens_before_hides_old_values_across_three_threads) {
  const auto stale = [](std::memory_order middle) {
    return results(3, {[](auto& x) {
                         x[0].store(1, relaxed);
                         x[1].store(1, release);
                         return std::vector<std::uint64_t>{};
                       },
                       [=](auto& x) {
                         const auto seen = x[1].load(acquire);
                         x[2].store(1, middle);
                         return std::vector{seen};
                       },
                       [](auto& x) {
                         const auto flag = x[2].load(acquire);
                         return std::vector{flag, x[0].load(relaxed)};
                       }})
        .count({1, 1, 0});
  };
  EXPECT_EQ(stale(release), 0u);
  EXPECT_EQ(stale(relaxed), 1u);
}

TEST_F(WeakMemory, A_failed_exchange_may_have_read_an_old_value) {
  const Results r = results(1, {[](auto& x) {
                                  x[0].store(1, relaxed);
                                  x[0].store(2, relaxed);
                                  return std::vector<std::uint64_t>{};
                                },
                                [](auto& x) {
                                  std::uint64_t expected = 7;
                                  EXPECT_FALSE(x[0].compare_exchange_strong(expected, 8, acq_rel, relaxed));
                                  return std::vector{expected};
                                }});
  EXPECT_EQ(r, (Results{{0}, {1}, {2}}));
}

// ---- Races on plain memory
// ---------------------------------------------------------------------------------------------

TEST_F(WeakMemory, A_race_on_plain_memory_is_found_and_only_a_race) {
  const auto races = [](std::memory_order store, std::memory_order load) {
    DepthFirst search;
    return explore(search, weak,
                   [=](Execution& run) {
                     RaceCell<int> cell;
                     Word flag;
                     run.spawn([&] {
                       cell.write(5);
                       flag.store(1, store);
                     });
                     run.spawn([&] {
                       if (flag.load(load) == 1 && cell.read() != 5) run.fail("an old value");
                     });
                     run.run();
                     cell.write(6);  // the program itself comes after both
                   })
        .failure;
  };
  EXPECT_FALSE(races(release, acquire));
  const auto found = races(relaxed, acquire);
  ASSERT_TRUE(found);
  EXPECT_NE(found->what.find("data race"), std::string::npos);
  EXPECT_TRUE(races(release, relaxed));
  EXPECT_TRUE(races(relaxed, relaxed));
}

TEST_F(WeakMemory, An_object_handed_over_without_order_is_found) {
  for (const auto order : {release, relaxed}) {
    DepthFirst search;
    const auto e = explore(search, weak, [=](Execution& run) {
      ExploredAtomic<Word*> place{nullptr};
      std::unique_ptr<Word> object;
      run.spawn([&] {
        object = std::make_unique<Word>(1);
        place.store(object.get(), order);
      });
      run.spawn([&] {
        if (Word* const seen = place.load(acquire)) seen->load(relaxed);
      });
      run.run();
    });
    EXPECT_EQ(e.failure.has_value(), order == relaxed);
  }
}

}  // namespace
}  // namespace headrace::test
