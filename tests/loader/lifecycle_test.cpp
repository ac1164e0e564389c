// Coming and going: epochs in any order, loops left early, loaders destroyed at any moment, batches that outlive them.
#include <gtest/gtest.h>

#include <atomic>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <random>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Draws {
  std::mt19937 engine{3};
  unsigned operator()() { return static_cast<unsigned>(engine()); }
};

// Counts the threads inside user code; each call takes `time`.
struct Gauge {
  std::atomic<int> inside{0}, most{0}, visits{0};
  struct Visit {
    Gauge& g;
    explicit Visit(Gauge& gauge) : g(gauge) {
      ++g.visits;
      const int n = ++g.inside;
      int m = g.most;
      while (n > m && !g.most.compare_exchange_weak(m, n)) {
      }
    }
    ~Visit() { --g.inside; }
  };
};

struct SlowItems {
  Gauge* gauge;
  milliseconds time{2};
  std::vector<Sample> samples = coded_samples(9);
  std::uint64_t size() const { return samples.size(); }
  SampleSpec spec() const { return MemoryDataset(samples).spec(); }
  Sample operator()(std::uint64_t i) const {
    const Gauge::Visit visit(*gauge);
    std::this_thread::sleep_for(time);
    return samples[i];
  }
};
struct SlowOp {
  static constexpr const char* name = "SlowOp";
  Gauge* gauge;
  milliseconds time{2};
  void operator()(Sample& s, Rng& rng) const {
    const Gauge::Visit visit(*gauge);
    std::this_thread::sleep_for(time);
    s.tensor("image").add_(rng.uniform());
  }
};

Pipeline crop(unsigned samples = 2) {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 6, .num_samples = samples}));
}
Dataset items(std::uint64_t count = 9) { return MemoryDataset(coded_samples(count)); }
std::vector<std::uint64_t> steps_of(Loader& loader, std::uint32_t epoch) {
  std::vector<std::uint64_t> steps;
  for (Batch& b : loader.epoch(epoch)) {
    EXPECT_EQ(b.epoch(), epoch);
    steps.push_back(b.step());
  }
  return steps;
}

TEST(Lifecycle, EpochsInAnyOrder) {
  const Deadline deadline;
  const auto reference = digests(items(), crop(), {.batch_size = 2, .shuffle = true, .threads = 0}, 6);
  for (const unsigned threads : {0u, 1u, 8u}) {
    Loader loader(items(), crop(), {.batch_size = 2, .shuffle = true, .threads = threads});
    for (const std::uint32_t e : {0u, 1u, 1u, 5u, 0u, 2u, 3u, 4u, 4u, 0u}) {
      DigestChain chain;
      for (Batch& b : loader.epoch(e)) chain.add(b);
      EXPECT_EQ(chain.ordered().hex(), reference[e]) << "epoch " << e << ", threads " << threads;
      EXPECT_FALSE(loader.next());
    }
  }
}

TEST(Lifecycle, LeavingALoopEarlyAndGoingOn) {
  const Deadline deadline;
  const auto reference = digests(items(), crop(), {.threads = 0}, 8);
  Draws random;
  for (const unsigned threads : {0u, 1u, 8u}) {
    Loader loader(items(), crop(), {.threads = threads, .window = 3});
    for (int round = 0; round < 60; ++round) {
      const std::uint32_t e = random() % 8;
      const std::uint64_t leave = random() % 12;
      DigestChain chain;
      std::uint64_t seen = 0;
      for (Batch& b : loader.epoch(e)) {
        EXPECT_EQ(b.step(), seen);
        chain.add(b);
        if (++seen == leave) break;
      }
      if (leave == 0 || leave > 9) {
        EXPECT_EQ(chain.ordered().hex(), reference[e]);
      }
      EXPECT_FALSE(loader.next()) << "what was left early is over";
    }
  }
}

TEST(Lifecycle, ALoopLeftEarlyBeginsNoFurtherItem) {
  const Deadline deadline;
  Gauge gauge;
  Loader loader(SlowItems{&gauge, milliseconds(20)}, crop(), {.threads = 1, .window = 8, .help = false});
  for (Batch& b : loader.epoch(0))
    if (b.step() == 0) break;
  const int begun = gauge.visits;  // seven more are in flight
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(gauge.inside, 0);
  EXPECT_LE(gauge.visits, begun + 1) << "one may have been on its way";
  EXPECT_EQ(steps_of(loader, 1).size(), 9u);
}

TEST(Lifecycle, ARangeThatWasNotIteratedOnlyChoosesTheEpoch) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u}) {
    Loader loader(items(3), crop(), {.threads = threads});
    (void)loader.epoch(4);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto b = loader.next();
      ASSERT_TRUE(b);
      EXPECT_EQ(b->epoch(), 4u);
      EXPECT_EQ(b->step(), step);
    }
    EXPECT_FALSE(loader.next());
    EXPECT_EQ(loader.try_next().status, NextStatus::end);
    EXPECT_EQ(loader.next_for(std::chrono::seconds(1)).status, NextStatus::end);
  }
}

TEST(Lifecycle, OneRangeAtATimeAndNoEpochBeyondTheLast) {
  const Deadline deadline;
  Loader loader(items(3), crop(), {.threads = 2, .epochs = 2});
  {
    Loader::Epoch range = loader.epoch(0);
    EXPECT_THROW((void)loader.epoch(1), std::logic_error);
    Loader::Epoch moved = std::move(range);
    EXPECT_THROW((void)loader.epoch(1), std::logic_error);
    EXPECT_TRUE(loader.next());
  }
  EXPECT_THROW((void)loader.epoch(2), std::out_of_range);
  EXPECT_EQ(steps_of(loader, 1).size(), 3u);
  EXPECT_FALSE(loader.next());
  EXPECT_EQ(steps_of(loader, 0).size(), 3u);
  // The last epoch that has an address.
  Loader far(items(3), crop(), {.threads = 2});
  EXPECT_EQ(steps_of(far, (1u << 20) - 1).size(), 3u);
  EXPECT_THROW((void)far.epoch(1u << 20), std::out_of_range);
}

TEST(Lifecycle, TryNextAndNextForNeitherWaitNorHelp) {
  const Deadline deadline;
  Gauge gauge;
  Loader loader(SlowItems{&gauge, milliseconds(30)}, crop(), {.threads = 1});
  const auto begin = Clock::now();
  EXPECT_EQ(loader.try_next().status, NextStatus::pending);
  EXPECT_LT(Clock::now() - begin, milliseconds(25));
  EXPECT_EQ(loader.next_for(milliseconds(1)).status, NextStatus::pending);
  std::uint64_t step = 0;
  while (step < 9) {
    const Polled p = step % 2 ? loader.try_next() : loader.next_for(milliseconds(5));
    if (p.status == NextStatus::pending) continue;
    ASSERT_EQ(p.status, NextStatus::ready);
    EXPECT_EQ(p.batch.step(), step++);
  }
  EXPECT_EQ(loader.try_next().status, NextStatus::end);
  EXPECT_EQ(gauge.most, 1);
}

TEST(Lifecycle, OneBatchTooManyIsAnErrorAtOnceAndChangesNothing) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u})
    for (const unsigned hold : {1u, 2u, 3u}) {
      Loader loader(items(), crop(), {.threads = threads, .hold = hold, .epochs = 1});
      std::vector<Tensor> kept;  // a tensor is as good a hold as its batch
      for (unsigned i = 0; i < hold; ++i) kept.push_back((*loader.next())["image"]);
      for (int again = 0; again < 3; ++again) {
        const auto begin = Clock::now();
        EXPECT_THROW((void)loader.next(), HoldError);
        EXPECT_THROW((void)loader.try_next(), HoldError);
        EXPECT_THROW((void)loader.next_for(std::chrono::seconds(5)), HoldError);
        EXPECT_LT(Clock::now() - begin, milliseconds(1000));
      }
      // Let go on another thread: the next call has room.
      std::thread([&] { kept.pop_back(); }).join();
      const auto batch = loader.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->step(), hold);
      EXPECT_LE(loader.stats().engine.slots_high_water, loader.stats().slots);
    }
}

TEST(Lifecycle, BatchesAndTensorsOutliveTheLoader) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u})
    for (const bool whole : {false, true}) {
      std::optional<Batch> batch;
      Tensor tensor;
      std::vector<Digest> before;
      {
        Loader loader(items(), whole ? Pipeline() : crop(), {.threads = threads});
        tensor = (*loader.next())["image"];
        batch = loader.next();
        for (std::size_t i = 0; i < batch->size(); ++i) before.push_back(digest_of(batch->sample(i)));
      }
      for (std::size_t i = 0; i < batch->size(); ++i) EXPECT_EQ(digest_of(batch->sample(i)), before[i]);
      EXPECT_EQ(static_cast<std::int64_t>(tensor.at({0, 0, 0, 0, 0})) >> 18, 0);
      std::thread([b = std::move(*batch)] {}).join();
      EXPECT_EQ(tensor.contiguous().at({0, 0, 5, 5, 5}), tensor.at({0, 0, 5, 5, 5}));
    }
}

TEST(Lifecycle, DestroyedAtAnyMomentWithinTheTimeOfTheItemsInFlight) {
  const Deadline deadline;
  Draws random;
  const int rounds = scaled(150);
  for (int round = 0; round < rounds; ++round) {
    Gauge gauge;
    Clock::time_point begin;
    {
      const unsigned threads = std::array{1u, 2u, 8u}[random() % 3];
      Loader loader(SlowItems{&gauge}, compose(crop(), SlowOp{&gauge}),
                    {.batch_size = 1 + random() % 3, .threads = threads, .window = 1 + random() % 4});
      const unsigned take = random() % 4;
      Batch held;
      for (unsigned i = 0; i < take; ++i)
        if (auto b = loader.next()) held = std::move(*b);
      if (random() % 3 == 0) {
        for (Batch& b : loader.epoch(2))
          if (b.step() == 1) break;
      }
      if (random() % 2) (void)loader.epoch(random() % 3);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
      begin = Clock::now();
    }
    // Nobody is inside any more; a claimed item takes at most its own 2 ms per call, however many threads share a core.
    EXPECT_EQ(gauge.inside, 0);
    EXPECT_LT(Clock::now() - begin, milliseconds(1500));
  }
}

TEST(Lifecycle, UserCodeThatDoesNotComeBackIsReportedAndLeftBehind) {
  const Deadline deadline;
  static std::atomic<bool> gate;
  static std::atomic<int> inside;
  gate = false;
  inside = 0;
  bool reported = false;
  {
    Loader loader(
        items(),
        compose(crop(),
                [](Sample& s, Rng&) {
                  if (s.origin().index != 2) return;
                  ++inside;
                  while (!gate) std::this_thread::sleep_for(milliseconds(1));
                  s.tensor("image").fill_(7);
                  --inside;
                }),
        {.threads = 2, .help = false, .shutdown_timeout = milliseconds(50), .on_detach = [&](const ShutdownReport& r) {
           reported = true;
           EXPECT_FALSE(r.clean);
           EXPECT_GE(r.steps_left, 1u);
         }});
    EXPECT_TRUE(loader.next());
    while (inside == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(reported);
  gate = true;  // what it writes to is still there
  while (inside != 0) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
}

}  // namespace
}  // namespace headrace::test
