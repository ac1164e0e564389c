// Controls of the explorer: known faults, planted, are found; the same search finds nothing in the sound structure.
#include <gtest/gtest.h>

#include <cstdint>

#include "headrace/lockfree/element.hpp"
#include "support/explored_fixture.hpp"
#include "support/scq_ring.hpp"
#include "support/vyukov_queue.hpp"

namespace headrace::test {
namespace {

class ExploredControls : public ExploredFixture {};
using Outcome = Execution::Outcome;

// The lost element of an SCQ whose dequeuers set the safe bit needs two dequeuers and an enqueuer
// that stall one to two laps apart. Searched: every access at which each may stall (or none), every number of pairs
// that go through the ring in between, every order in which they go on (without a preemption).
template <bool KeepsSafeBit>
Program stalled_laps_apart(unsigned capacity) {
  return [=](Execution& run) {
    ScqRing<KeepsSafeBit, ExploredAtomic> ring(capacity);
    std::uint64_t put = 0, taken = 0;
    const auto do_put = [&] { ring.put(put++ % 8); };
    const auto do_take = [&] { taken += ring.take().has_value(); };
    const auto goes_on = [&] { return run.run() == Outcome::finished; };
    const auto pairs = [&](unsigned n) {
      run.spawn([&, n] {
        for (unsigned i = 0; i < n; ++i) {
          do_put();
          do_take();
        }
      });
    };
    do_put();
    for (int dequeuer = 0; dequeuer < 2; ++dequeuer) {
      run.freeze(run.spawn(do_take), run.choose(5));
      pairs(run.choose(2 * capacity + 1));
      if (!goes_on()) return;
    }
    run.freeze(run.spawn(do_put), run.choose(5));
    if (!goes_on()) return;
    run.spawn(do_take);
    if (!goes_on()) return;
    run.thaw();
    if (!goes_on()) return;
    run.spawn([&] {
      for (int i = 0; i < 12; ++i) do_take();
    });
    if (goes_on() && taken != put) run.fail("an element is lost");
  };
}

TEST_F(ExploredControls, The_lost_element_of_an_scq_that_sets_the_safe_bit_is_found_by_search) {
  DepthFirst search(0);
  const Exploration lost = explore(search, {}, stalled_laps_apart<false>(2));
  ASSERT_TRUE(lost.failure);
  EXPECT_EQ(lost.failure->what, "an element is lost");
  RecordProperty("schedules", static_cast<int>(lost.runs));
  Replay again(lost.failure->choices);
  EXPECT_TRUE(explore(again, {}, stalled_laps_apart<false>(2)).failure);
  DepthFirst all(0);
  const Exploration kept = explore(all, {}, stalled_laps_apart<true>(2));
  EXPECT_FALSE(kept.failure) << kept.failure->text();
  EXPECT_TRUE(kept.complete);
  EXPECT_GT(kept.runs, lost.runs);
}

// A queue that is not lock-free: with one thread stalled, the others' elements do not come through.
TEST_F(ExploredControls, Vyukovs_queue_is_found_to_block) {
  unsigned blocks = 0, points = 0;
  DepthFirst search(0);
  const Exploration e = explore(search, {}, [&](Execution& run) {
    VyukovQueue<ExploredAtomic> queue(4);
    const unsigned victim = run.spawn([&] { static_cast<void>(queue.try_push(1)); });
    run.freeze(victim, run.choose(8));
    ASSERT_EQ(run.run(), Outcome::finished);
    if (!run.reached_freeze(victim)) return;
    ++points;
    bool through = false;
    run.spawn([&] {
      static_cast<void>(queue.try_push(2));
      for (int look = 0; look < 5; ++look) through = through || queue.try_pop() == 2;
    });
    ASSERT_EQ(run.run(), Outcome::finished);
    blocks += !through;
    run.thaw();
    ASSERT_EQ(run.run(), Outcome::finished);
  });
  EXPECT_FALSE(e.failure);
  EXPECT_EQ(points, 4u);
  EXPECT_EQ(blocks, 1u) << "between the claim of a cell and its publication";
}

}  // namespace
}  // namespace headrace::test
