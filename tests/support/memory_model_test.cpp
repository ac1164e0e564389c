// The explorer's weak memory: it shows what C++ allows old values to do and nothing that C++ forbids (litmus tests),
// and finds races on plain memory.
#include "support/memory_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/explored_fixture.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {
namespace {

class WeakMemory : public ExploredFixture {};

using Word = ExploredAtomic<std::uint64_t>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;
constexpr ExploreLimits weak{.weak_memory = true, .stale_reads = 3};

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
