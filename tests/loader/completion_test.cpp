// Completion order in the loader: the same batches with the same bits, each once per epoch; none overtaken by more than
// `span` others; epochs, errors and polls as in sequence.
#include <gtest/gtest.h>

#include <atomic>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/random_delay.hpp>
#include <map>
#include <set>

#include "support/deadline.hpp"
#include "support/delivery_order.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

using namespace std::chrono_literals;
constexpr std::uint32_t epochs = 3;
constexpr std::uint64_t items = 13;  // with batches of 2: 7 steps, the last one short

Pipeline random_part(std::chrono::microseconds delay = 0us) {
  return compose(RandomDelay{delay}, RandCropByPosNegLabel({.label_key = "label", .spatial_size = 6, .num_samples = 2}),
                 RandFlip({.prob = 0.5, .spatial_axis = {1}}), RandomDelay{delay});
}
Dataset data() { return MemoryDataset(coded_samples(items)); }
LoaderOptions base() { return {.batch_size = 2, .shuffle = true, .seed = 3, .threads = 0, .epochs = epochs}; }

struct Delivered {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> steps;  // (epoch, step): ordered digest of the batch
  std::vector<std::string> sets;                                         // per epoch
  std::uint64_t most_overtaken = 0;
};

// All epochs; each batch checked for the order it may come in.
Delivered deliver(const LoaderOptions& options, std::uint32_t span, std::chrono::microseconds delay) {
  Delivered all;
  Loader loader(data(), random_part(delay), options);
  for (std::uint32_t e = 0; e < epochs; ++e) {
    DeliveryOrder order(span);
    DigestChain set;
    for (const Batch& batch : loader.epoch(e)) {
      EXPECT_EQ(batch.epoch(), e) << "a batch of another epoch";
      EXPECT_EQ(order.deliver(batch.step()), "");
      DigestChain one;
      one.add(batch);
      set.add(batch);
      EXPECT_TRUE(all.steps.emplace(std::pair(batch.epoch(), batch.step()), one.ordered().hex()).second);
    }
    EXPECT_TRUE(order.complete(loader.steps_per_epoch())) << "epoch " << e;
    EXPECT_FALSE(loader.next()) << "the end again";
    all.sets.push_back(set.set().hex());
    all.most_overtaken = std::max(all.most_overtaken, order.most_overtaken());
  }
  EXPECT_LE(loader.stats().engine.window_high_water, loader.stats().window);
  return all;
}

TEST(CompletionLoader, The_same_batches_whatever_the_span_the_window_and_the_threads) {
  const Deadline deadline;
  const Delivered reference = deliver(base(), 0, 0us);
  ASSERT_EQ(reference.steps.size(), epochs * 7u);
  std::uint64_t overtaken = 0;
  for (const std::uint32_t span : {0u, 1u, 3u, 256u})
    for (const unsigned window : {1u, 2u, 5u})
      for (const unsigned threads : {0u, 1u, 2u, 4u})
        for (const auto delay : {0us, 300us}) {
          LoaderOptions options = base();
          options.order = Completion{span};
          options.window = window;
          options.threads = threads;
          options.help = window != 2;
          const Delivered got = deliver(options, span, delay);
          const auto what = [&] {
            return "span " + std::to_string(span) + ", window " + std::to_string(window) + ", threads " +
                   std::to_string(threads) + ", delay " + std::to_string(delay.count());
          };
          ASSERT_EQ(got.steps, reference.steps) << what();
          ASSERT_EQ(got.sets, reference.sets) << what();
          if (span == 0 || window == 1 || threads == 0) {
            ASSERT_EQ(got.most_overtaken, 0u) << what();
          }
          overtaken = std::max(overtaken, got.most_overtaken);
        }
  EXPECT_GT(overtaken, 0u) << "nothing was overtaken: nothing was tested";
}

// An item that waits for a gate.
struct Gate {
  std::atomic<bool> open{false};
  void release() {
    open = true;
    open.notify_all();
  }
  auto at(std::uint64_t index) {
    return [this, index](Sample& s) {
      if (s.origin().index == index) open.wait(false);
    };
  }
};

struct OpenAtEnd {
  Gate& gate;
  ~OpenAtEnd() { gate.release(); }
};

TEST(CompletionLoader, A_slow_item_is_overtaken_by_span_batches_and_by_no_other_epoch) {
  const Deadline deadline;
  for (const std::uint32_t span : {2u, 256u}) {
    Gate gate;
    Loader loader(data(), compose(gate.at(2), random_part()),
                  {.batch_size = 1, .threads = 2, .window = 4, .help = false, .order = Completion{span}});
    const OpenAtEnd open{gate};
    // Epoch 0, in which item 2 hangs. What may pass it: two batches, or all others of the epoch.
    DeliveryOrder order(span);
    const std::uint64_t before = span == 2 ? 2 + span : items - 1;
    for (std::uint64_t n = 0; n < before; ++n) {
      const auto batch = loader.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->epoch(), 0u);
      EXPECT_NE(batch->step(), 2u);
      EXPECT_EQ(order.deliver(batch->step()), "");
    }
    EXPECT_EQ(loader.next_for(20ms).status, NextStatus::pending) << "span " << span;
    EXPECT_EQ(loader.try_next().status, NextStatus::pending);
    gate.release();
    for (std::uint64_t n = before; n < items; ++n) EXPECT_EQ(order.deliver(loader.next()->step()), "");
    EXPECT_EQ(order.most_overtaken(), span == 2 ? 2u : items - 3);
    EXPECT_FALSE(loader.next());
    EXPECT_EQ(loader.try_next().status, NextStatus::end);
    // The next epoch goes on from what was prefetched; a jump begins anew.
    for (const std::uint32_t e : {1u, 5u, 5u, 2u}) {
      std::uint64_t count = 0;
      for (const Batch& batch : loader.epoch(e)) {
        EXPECT_EQ(batch.epoch(), e);
        ++count;
      }
      EXPECT_EQ(count, items);
    }
  }
}

TEST(CompletionLoader, A_loop_that_is_left_early_leaves_nothing_behind) {
  const Deadline deadline;
  Loader loader(data(), random_part(200us),
                {.batch_size = 1, .threads = 3, .window = 4, .help = false, .order = Completion{5}});
  for (int round = 0; round < 20; ++round) {
    int left = 1 + round % 9;
    for (const Batch& batch : loader.epoch(static_cast<std::uint32_t>(round % 3))) {
      EXPECT_EQ(batch.epoch(), static_cast<std::uint64_t>(round % 3));
      if (--left == 0) break;
    }
  }
  std::set<std::uint64_t> steps;
  for (const Batch& batch : loader.epoch(7)) steps.insert(batch.step());
  EXPECT_EQ(steps.size(), items);
}

TEST(CompletionLoader, An_error_comes_once_in_its_steps_place_and_every_other_batch_comes) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u}) {
    const auto fails = [](Sample& s) {
      if (s.origin().index % 5 == 1) throw std::runtime_error("item of no use");
    };
    Loader loader(data(), compose(fails, random_part(200us)),
                  {.batch_size = 1, .threads = threads, .window = 4, .order = Completion{4}, .epochs = 2});
    for (std::uint32_t e = 0; e < 2; ++e) {
      const Loader::Epoch range = loader.epoch(e);
      DeliveryOrder order(4);
      std::uint64_t errors = 0;
      for (std::uint64_t n = 0; n < items; ++n) {
        try {
          const auto batch = loader.next();
          ASSERT_TRUE(batch);
          EXPECT_NE(batch->origin(0).index % 5, 1u);
          EXPECT_EQ(order.deliver(batch->step()), "");
        } catch (const ItemError& error) {
          EXPECT_EQ(error.failure().epoch, e);
          EXPECT_EQ(error.failure().index % 5, 1u);
          EXPECT_EQ(order.deliver(error.failure().position), "");
          ++errors;
        }
      }
      EXPECT_EQ(errors, 3u);
      EXPECT_TRUE(order.complete(items));
      EXPECT_FALSE(loader.next());
    }
  }
}

TEST(CompletionLoader, Hold_is_kept_and_the_span_is_checked) {
  Loader loader(data(), random_part(), {.batch_size = 1, .threads = 2, .window = 3, .hold = 2, .order = Completion{4}});
  const auto a = loader.next(), b = loader.next();
  EXPECT_THROW(static_cast<void>(loader.next()), HoldError);
  EXPECT_EQ(loader.stats().slots, 5u) << "window + hold: a span takes no more memory";
  EXPECT_NO_THROW(Loader(data(), random_part(), {.threads = 1, .order = Completion{256}}));
  try {
    Loader(data(), random_part(), {.threads = 1, .order = Completion{257}});
    FAIL() << "no error";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("Completion{257}: expected a span of at most 256"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace headrace::test
