// What a loader is told: bad options are errors at once that say what was expected; memory stays within its bounds.
#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

constexpr std::size_t step_bytes = 512 * (4 + 4);  // one patch of 8^3, image and label

Pipeline crop() { return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 8})); }
Dataset items(std::uint64_t count = 9) { return MemoryDataset(coded_samples(count)); }
std::string refusal(LoaderOptions options, const Dataset& data, const Pipeline& pipeline = crop()) {
  try {
    Loader loader(data, pipeline, std::move(options));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "(none)";
}
void expect_refused(LoaderOptions options, std::string_view says, const Dataset& data = items(),
                    const Pipeline& pipeline = crop()) {
  const std::string text = refusal(std::move(options), data, pipeline);
  EXPECT_NE(text.find(says), std::string::npos) << text;
}

// Without a specification the loader makes an item to see what it is like.
struct ThrowsAnInt {
  std::uint64_t size() const { return 3; }
  Sample operator()(std::uint64_t) const { throw 7; }
};

TEST(Options, NonsenseIsRefusedAtOnce) {
  const Deadline deadline;
  expect_refused({.batch_size = 0}, "batch_size");
  expect_refused({.hold = 0}, "hold");
  expect_refused({.epochs = 0}, "epochs");
  expect_refused({.batch_size = 10, .drop_last = true}, "drop_last");
  expect_refused({.window = 70000}, "window");
  expect_refused({.hold = UINT_MAX}, "hold");
  expect_refused({}, "no items", MemoryDataset({}));
  expect_refused({}, "2^44",
                 FunctionDataset(std::uint64_t{1} << 45, items().spec(), [](std::uint64_t) { return Sample(); }));
  expect_refused({}, "no std::exception", ThrowsAnInt{});
  expect_refused({.sampler = Sampler::subset({}, false, 0)}, "no items");
  expect_refused({.memory_budget = step_bytes}, "memory_budget");
  expect_refused({.memory_budget = 3 * step_bytes - 1}, "memory_budget");
  expect_refused({.threads = 2, .shutdown_timeout = std::chrono::milliseconds(-1)}, "shutdown_timeout");
  // What the pipeline cannot do with these items.
  expect_refused({}, "label", items(),
                 compose(RandCropByPosNegLabel({.keys = {"image"}, .label_key = "lable", .spatial_size = 8})));
  const auto huge = std::int64_t{1} << 20;
  expect_refused(
      {}, "memory_budget", items(),
      compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = {1, 1 << 10, huge}, .num_samples = 16000})));
  expect_refused({.batch_size = 9}, "address space", items(),
                 compose(RandCropByPosNegLabel(
                     {.label_key = "label", .spatial_size = {huge, huge, huge / 2}, .num_samples = 16000})));
}

TEST(Options, ABatchLargerThanTheDatasetIsTheWholeDataset) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u}) {
    // No memory is asked for items that do not exist.
    Loader loader(items(), crop(), {.batch_size = UINT_MAX, .threads = threads, .memory_budget = 9 * step_bytes * 4});
    EXPECT_EQ(loader.steps_per_epoch(), 1u);
    EXPECT_EQ(loader.next()->size(), 9u);
    EXPECT_FALSE(loader.next());
  }
}

TEST(Options, DropLastLeavesTheIncompleteStepOut) {
  const Deadline deadline;
  for (const std::uint32_t batch : {1u, 2u, 4u, 5u, 9u})
    for (const bool drop : {false, true}) {
      Loader loader(items(), crop(), {.batch_size = batch, .threads = 2, .drop_last = drop});
      std::size_t seen = 0, steps = 0;
      for (Batch& b : loader.epoch(3)) seen += b.size(), ++steps;
      EXPECT_EQ(steps, loader.steps_per_epoch());
      EXPECT_EQ(seen, drop ? 9 / batch * batch : 9u);
    }
}

TEST(Options, TheBudgetSetsTheWindowAndNothingGoesBeyond) {
  const Deadline deadline;
  const auto reference = digests(items(), crop(), {.threads = 0}, 2);
  for (const std::size_t steps : {3u, 4u, 7u, 20u})
    for (const unsigned asked : {0u, 2u, 5u}) {
      Loader loader(items(), crop(), {.threads = 4, .window = asked, .memory_budget = steps * step_bytes + 17});
      EXPECT_EQ(digests(loader, 2), reference);
      const LoaderStats s = loader.stats();
      EXPECT_EQ(s.slot_bytes, step_bytes);
      EXPECT_LE(s.slots * s.slot_bytes, steps * step_bytes + 17);
      EXPECT_EQ(s.slots, s.window + 2u);
      if (asked) {
        EXPECT_EQ(s.window, std::min<std::size_t>(asked, steps - 2));
      }
      EXPECT_LE(s.engine.window_high_water, s.window);
      EXPECT_LE(s.engine.slots_high_water, s.slots);
      EXPECT_EQ(s.engine.rescues, 0u);
    }
}

// However slow the trainer and however many batches it keeps.
TEST(Options, TheHighWaterMarkStaysBelowWindowAndHold) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 1u, 8u})
    for (const unsigned hold : {1u, 4u}) {
      Loader loader(items(12), crop(), {.threads = threads, .window = 3, .hold = hold});
      std::vector<Batch> kept;
      for (std::uint32_t e = 0; e < 4; ++e) {
        if (e % 2) {
          for (Batch& b : loader.epoch(e + 5))  // left early, with workers inside
            if (b.step() == 1) break;
        }
        (void)loader.epoch(e);
        while (true) {
          if (kept.size() == hold) kept.erase(kept.begin());
          auto b = loader.next();
          if (!b) break;
          kept.push_back(std::move(*b));
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        kept.clear();
      }
      const LoaderStats s = loader.stats();
      EXPECT_LE(s.engine.window_high_water, 3u);
      EXPECT_LE(s.engine.slots_high_water, s.slots);
      EXPECT_EQ(s.slots, threads == 0 ? 1 + hold : 3 + hold);
    }
}

TEST(Options, MoreThreadsThanCoresOrThanThereCanBe) {
  const Deadline deadline;
  const auto reference = digests(items(), crop(), {.batch_size = 2, .threads = 0}, 2);
  for (const unsigned threads : {33u, 300u, UINT_MAX}) {
    Loader loader(items(), crop(), {.batch_size = 2, .threads = threads, .memory_budget = 64 << 20});
    EXPECT_EQ(digests(loader, 2), reference);
    EXPECT_LE(loader.stats().threads, 255u);
    EXPECT_GE(loader.stats().threads, 1u);
  }
}

// A step of one item of many parts: with `threads = n, help = false`, n threads compute and no more.
TEST(Options, NeverMoreThreadsAtWorkThanAskedFor) {
  const Deadline deadline;
  for (const bool help : {false, true}) {
    std::atomic<int> inside{0}, most{0};
    Loader loader(items(4),
                  compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 8, .num_samples = 8}),
                          [&](Sample&) {
                            const int n = ++inside;
                            int m = most;
                            while (n > m && !most.compare_exchange_weak(m, n)) {
                            }
                            std::this_thread::sleep_for(std::chrono::milliseconds(2));
                            --inside;
                          }),
                  {.threads = 2, .window = 1, .help = help, .epochs = 2});
    (void)digests(loader, 2);
    EXPECT_LE(most, help ? 3 : 2);
    EXPECT_GE(most, 2);
    EXPECT_GT(loader.stats().engine.parts_stolen, 0u);
    EXPECT_EQ(loader.stats().engine.helped > 0, help);
  }
}

TEST(Options, MorePartsThanAnItemMayHaveAreRefused) {
  const Deadline deadline;
  EXPECT_THROW((void)compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 2, .num_samples = 200}),
                             RandCropByPosNegLabel({.label_key = "label", .spatial_size = 2, .num_samples = 200})),
               std::invalid_argument);
  // The most there may be work.
  const Pipeline most = compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 1, .num_samples = 16383}));
  const auto reference = digests(items(2), most, {.threads = 0}, 1);
  EXPECT_EQ(digests(items(2), most, {.threads = 2}, 1), reference);
}

// A crop of a crop: parts are the mixed radix, and each can be made alone.
TEST(Options, NestedCropsAreMadePartByPart) {
  const Deadline deadline;
  const Pipeline nested = compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 10, .num_samples = 3}),
                                  RandCropByPosNegLabel({.label_key = "label", .spatial_size = 5, .num_samples = 4}));
  const auto reference = digests(items(), nested, {.batch_size = 2, .threads = 0}, 2);
  for (const unsigned threads : {1u, 8u})
    EXPECT_EQ(digests(items(), nested, {.batch_size = 2, .threads = threads}, 2), reference);
}

}  // namespace
}  // namespace headrace::test
