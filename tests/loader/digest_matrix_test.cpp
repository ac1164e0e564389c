// The same bits whatever the threads, the window, the help, the delays and the host's floating-point mode; other bits
// when anything changes that should matter.
#include <gtest/gtest.h>

#include <headrace/runtime/float_mode.hpp>
#include <headrace/runtime/processors.hpp>
#include <headrace/transform/leased.hpp>
#include <set>

#include "loader/chain.hpp"
#include "support/deadline.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace headrace::test {
namespace {

constexpr std::uint32_t epochs = 2;

const std::vector<Sample>& samples() {
  static const auto* const all = new std::vector<Sample>(pictures(7));
  return *all;
}
Dataset cached() { return CacheDataset(MemoryDataset(samples()), deterministic_part()); }
LoaderOptions base() { return {.batch_size = 2, .shuffle = true, .seed = 5, .threads = 0}; }

TEST(DigestMatrix, ThreadsWindowsHelpAndDelaysChangeNothing) {
  const Deadline deadline;
  const Dataset data = cached();
  const auto reference = digests(data, random_part(), base(), epochs);
  ASSERT_NE(reference[0], reference[1]);
  for (unsigned threads : {0u, 1u, 2u, 3u, 8u, 16u})
    for (unsigned window = 1; window <= 4; ++window)
      for (const std::string help : {"help", "ahead", "none"})
        for (int delay : {0, 200}) {
          if (delay > 0 && (window == 2 || window == 3) && threads != 8) continue;
          LoaderOptions o = base();
          o.threads = threads;
          o.window = window;
          o.help = help != "none";
          o.help_ahead = help == "ahead";
          EXPECT_EQ(digests(data, random_part({.delay = std::chrono::microseconds(delay)}), o, epochs), reference)
              << "threads " << threads << ", window " << window << ", help " << help << ", delay " << delay;
        }
}

TEST(DigestMatrix, HoldBudgetCacheAndPrefetchChangeNothing) {
  const Deadline deadline;
  const auto reference = digests(cached(), random_part(), base(), epochs);
  LoaderOptions o = base();
  o.threads = 3;
  o.hold = 5;
  EXPECT_EQ(digests(cached(), random_part(), o, epochs), reference);
  o.memory_budget = 200 << 10;
  EXPECT_EQ(digests(cached(), random_part(), o, epochs), reference);
  // Without a cache, or with one that is too small for all.
  EXPECT_EQ(digests(CacheDataset(MemoryDataset(samples()), deterministic_part(), {.memory_budget = 100000}),
                    random_part(), o, epochs),
            reference);
  // The second epoch by itself, and after the loader ran on to a third.
  Loader loader(cached(), random_part(), base());
  DigestChain alone;
  for (Batch& batch : loader.epoch(1)) alone.add(batch);
  EXPECT_EQ(alone.ordered().hex(), reference[1]);
  Loader ahead(cached(), random_part(), o);
  (void)digests(ahead, 3);
  EXPECT_EQ(digests(ahead, 2), reference);
}

// The uncached chain in one pipeline: the deterministic part then runs at the item's level.
TEST(DigestMatrix, OnePipelineGivesTheSameVoxelsAsACachedOne) {
  const Deadline deadline;
  const auto reference = digests(cached(), random_part(), base(), 1);
  for (unsigned threads : {0u, 8u}) {
    LoaderOptions o = base();
    o.threads = threads;
    EXPECT_EQ(digests(MemoryDataset(samples()), compose(deterministic_part(), random_part()), o, 1), reference)
        << threads;
  }
}

TEST(DigestMatrix, WhateverShouldMatterMovesIt) {
  const Deadline deadline;
  std::set<std::string> seen;
  const auto expect_new = [&](const std::vector<std::string>& d, const char* what) {
    for (const std::string& hex : d) EXPECT_TRUE(seen.insert(hex).second) << what;
  };
  expect_new(digests(cached(), random_part(), base(), 3), "epochs");
  LoaderOptions seed = base();
  seed.seed = 6;
  expect_new(digests(cached(), random_part(), seed, 2), "seed");
  LoaderOptions order = base();
  order.shuffle = false;
  expect_new(digests(cached(), random_part(), order, 2), "order");
  expect_new(digests(cached(), random_part({.flip = 0.75}), base(), 2), "a probability");
  expect_new(digests(cached(), random_part({.rotate = 0.25}), base(), 2), "a range");
  // One voxel of one item, inside every patch: all patches of the items are looked at in three epochs.
  std::vector<Sample> changed = samples();
  Tensor image = changed[3].get("image").clone();
  image.mutable_data<float>()[image.numel() / 2] += 0.5f;
  changed[3].set("image", std::move(image));
  const auto a = digests(CacheDataset(MemoryDataset(changed), deterministic_part()), random_part(), base(), 3);
  EXPECT_NE(a, digests(cached(), random_part(), base(), 3)) << "one voxel";
}

#if defined(__x86_64__)
TEST(DigestMatrix, TheHostsFloatingPointModeChangesNothing) {
  const Deadline deadline;
  const auto reference = digests(cached(), random_part(), base(), epochs);
  const unsigned before = _mm_getcsr();
  for (unsigned mode : {0x8040u, 0x4000u, 0x2000u, 0xE040u})  // FTZ + DAZ; round up; round down; to zero with FTZ + DAZ
    for (unsigned threads : {0u, 2u}) {
      // A cache filled by hand under this mode, and one filled by the loader.
      _mm_setcsr((before & ~0xE040u) | mode);
      LoaderOptions o = base();
      o.threads = threads;
      const CacheDataset by_hand(MemoryDataset(samples()), deterministic_part());
      for (std::uint64_t i = 0; i < by_hand.size(); ++i) (void)by_hand(i);
      const auto d = digests(by_hand, random_part(), o, epochs), e = digests(cached(), random_part(), o, epochs);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(d, reference) << "mode " << mode << ", threads " << threads;
      EXPECT_EQ(e, reference) << "mode " << mode << ", threads " << threads;
      EXPECT_EQ(after & 0xFFC0u, ((before & ~0xE040u) | mode) & 0xFFC0u) << "the host's mode is put back";
    }
}

TEST(DigestMatrix, ASamplersArithmeticRunsUnderTheFixedModeToo) {
  const Deadline deadline;
  LoaderOptions o = base();
  o.sampler = Sampler(
      7,
      [](std::uint32_t) -> EpochOrder {
        return [](std::uint64_t position) -> SampledItem {
          volatile double third = 1.0 / 3.0, big = 3.0;
          third = third / big;
          if (!FloatMode::is_fixed()) throw std::runtime_error("another floating-point mode");
          return {position, position};
        };
      },
      "thirds");
  _mm_setcsr(_mm_getcsr() | 0x4000u);
  std::vector<std::string> d;
  EXPECT_NO_THROW(d = digests(cached(), random_part(), o, 1));
  _mm_setcsr(_mm_getcsr() & ~0x4000u);
}

TEST(DigestMatrix, PipelineRunIsWhatALoaderDelivers) {
  const Deadline deadline;
  const Dataset data = cached();
  LoaderOptions o = base();
  o.shuffle = false;
  o.threads = 2;
  Loader loader(data, random_part(), o);
  _mm_setcsr(_mm_getcsr() | 0x4000u);
  std::vector<Digest> by_hand;
  for (std::uint64_t item = 0; item < data.size(); ++item)
    for (Sample& s : random_part().run(data(item), {.seed = o.seed, .epoch = 0, .item = item}))
      for (const Field& f : s.fields()) by_hand.push_back(digest_of(f));
  _mm_setcsr(_mm_getcsr() & ~0x4000u);
  std::size_t next = 0;
  for (Batch& batch : loader.epoch(0))
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Sample s = batch.sample(i);
      for (const Field& f : s.fields())
        EXPECT_EQ(digest_of(f), by_hand.at(next++)) << batch.step() << " " << i << " " << f.name.str();
    }
  EXPECT_EQ(next, by_hand.size());
}
#endif

// Not thread-safe at all: a generator and scratch memory of its own.
struct Augmenter {
  std::uint64_t state = 0;
  std::vector<float> scratch;
  bool inside = false;
  void reseed(Rng& rng) { state = rng.next64(); }
  void operator()(Sample& s) {
    if (inside) std::abort();
    inside = true;
    Tensor& image = s.tensor("image");
    scratch.assign(static_cast<std::size_t>(image.numel()), 0);
    for (float& v : scratch) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      v = static_cast<float>(state >> 40);
    }
    float* to = image.mutable_data<float>();
    for (std::size_t i = 0; i < scratch.size(); ++i) to[i] = scratch[i];
    inside = false;
  }
};

TEST(DigestMatrix, ALeasedStatefulAugmenterIsTheSameOnOneThreadAndEight) {
  const Deadline deadline;
  for (bool fresh : {false, true}) {
    const Pipeline pipeline =
        compose(random_part(), leased([] { return Augmenter(); }, {.name = "theirs", .fresh = fresh}));
    LoaderOptions o = base();
    const auto reference = digests(cached(), pipeline, o, epochs);
    for (unsigned threads : {1u, 8u}) {
      o.threads = threads;
      EXPECT_EQ(digests(cached(), pipeline, o, epochs), reference) << threads;
    }
    // Fewer instances than threads: temporary ones do as well.
    EXPECT_EQ(
        digests(cached(), compose(random_part(), leased([] { return Augmenter(); }, {.name = "theirs", .places = 1})),
                o, epochs),
        reference);
  }
}

}  // namespace
}  // namespace headrace::test
