// headrace::verify: clean pipelines are equal; each kind of hidden state is found and named.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <headrace/headrace.hpp>
#include <memory>
#include <random>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace {

using namespace headrace;
using namespace headrace::test;

Dataset items() { return MemoryDataset(coded_samples(5)); }

Pipeline with(Transform op) {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = {9, 8, 7}, .num_samples = 3}),
                 std::move(op), RandFlip({.prob = 0.5, .spatial_axis = {0}}));
}

VerifyReport examine(const Dataset& dataset, const Pipeline& pipeline, bool loaders = false) {
  return verify(dataset, pipeline,
                {.loader = {.batch_size = 2, .shuffle = true, .seed = 3},
                 .threads = loaders ? std::vector<unsigned>{0, 1, 2, 8} : std::vector<unsigned>{0},
                 .windows = loaders ? std::vector<unsigned>{1, 3} : std::vector<unsigned>{1},
                 .delays = {std::chrono::microseconds(0), std::chrono::microseconds(loaders ? 100 : 0)}});
}

void expect_found(const Transform& op, const std::string& name) {
  const VerifyReport report = examine(items(), with(op));
  EXPECT_FALSE(report.equal) << name;
  ASSERT_TRUE(report.first_difference.has_value()) << name;
  EXPECT_NE(report.first_difference->op.find("1 ("), std::string::npos) << report.message();
  EXPECT_EQ(report.first_difference->field, "image") << report.message();
}

TEST(Verify, CleanPipelinesAreEqual) {
  const VerifyReport report =
      examine(items(), with([](Sample& s, Rng& rng) { s.tensor("image").add_(rng.normal(0, 1)); }), true);
  EXPECT_TRUE(report.equal) << report.message();
  EXPECT_EQ(report.runs, 22u) << "16 in sequence, 6 in completion order";
  EXPECT_FALSE(report.first_difference.has_value());
  EXPECT_TRUE(examine(items(), with(RandAffine({.prob = 0.7, .rotate_range = {0.3, 0.3, 0.3}})), true).equal);
  EXPECT_TRUE(
      examine(items(), compose(Orientation({.axcodes = "LPS"}), RandFlip({.prob = 0.5, .spatial_axis = {1}}))).equal);
}

// State behind `mutable`: the plan is kept in the object instead of being returned.
struct KeepsItsPlan {
  static constexpr const char* name = "KeepsItsPlan";
  struct Plan {};
  mutable std::shared_ptr<double> kept = std::make_shared<double>(0);
  Plan plan(const Sample&, Rng& rng) const { return *kept = rng.uniform(), Plan{}; }
  void apply(Sample& s, const Plan&) const { s.tensor("image").add_(*kept); }
};
struct CountsItsCalls {
  mutable int calls = 0;
  CountsItsCalls() = default;
  CountsItsCalls(const CountsItsCalls& o) : calls(o.calls) {}
  void operator()(Sample& s) const { s.tensor("image").add_(calls++); }
};

TEST(Verify, FindsAMutableMember) {
  expect_found(KeepsItsPlan{}, "a plan kept in the object");
  expect_found(CountsItsCalls{}, "a counter in the object");
}

TEST(Verify, FindsACapturedReference) {
  int calls = 0;
  expect_found([&calls](Sample& s) { s.tensor("image").add_(calls++); }, "a captured counter");
  std::mt19937 generator(1);
  expect_found([&generator](Sample& s) { s.tensor("image").add_(static_cast<double>(generator() % 100)); },
               "a captured generator");
}

TEST(Verify, FindsAStaticLocal) {
  expect_found(
      [](Sample& s) {
        static int calls = 0;
        s.tensor("image").add_(calls++);
      },
      "a static counter");
  expect_found(
      [](Sample& s) {
        static float last = 0;  // a running value of the items before
        const float now = s.get("image").contiguous().data<float>()[0];
        s.tensor("image").add_(last);
        last = now;
      },
      "a value of the item before");
}

TEST(Verify, FindsAClock) {
  expect_found(
      [](Sample& s) {
        s.tensor("image").add_(
            static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count() % 1000003));
      },
      "a clock");
}

TEST(Verify, FindsVoxelsThatWereNeverWritten) {
  expect_found(
      [](Sample& s) {
        const Tensor& in = s.get("image");
        Tensor out = s.output("image", in.dtype(), in.shape());
        out.narrow(1, 1, out.size(1) - 1).copy_from(in.narrow(1, 1, in.size(1) - 1));  // the first plane is forgotten
        s.set("image", out);
      },
      "a plane left as it was found");
}

TEST(Verify, FindsADatasetThatIsNotAFunctionOfItsIndex) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const std::vector<Sample> samples = coded_samples(4);
  const Dataset dataset = FunctionDataset(4, items().spec(), [=](std::uint64_t i) {
    Sample s = samples[i];
    s.tensor("image").add_(calls->fetch_add(1));
    return s;
  });
  const VerifyReport report = examine(dataset, with(EnsureType({})));
  ASSERT_TRUE(report.first_difference.has_value());
  EXPECT_NE(report.first_difference->op.find("dataset"), std::string::npos) << report.message();
}

// Somebody else's augmenter: a generator and scratch memory as members.
struct TheirAugmenter {
  bool forgets_its_counter = false;
  std::mt19937 generator{5};
  std::vector<double> scratch{};
  int calls = 0;
  void reseed(Rng& rng) {
    generator.seed(rng());
    if (!forgets_its_counter) calls = 0;
  }
  void operator()(Sample& s) {
    scratch.assign(64, static_cast<double>(generator() % 1000));
    s.tensor("image").add_(scratch[generator() % 64] + ++calls);
  }
};

TEST(Verify, ALeasedAugmenterIsEqualUnlessReseedForgets) {
  const VerifyReport good = examine(items(), with(leased([] { return TheirAugmenter{}; })), true);
  EXPECT_TRUE(good.equal) << good.message();
  expect_found(leased([] { return TheirAugmenter{.forgets_its_counter = true}; }), "a counter that reseed forgets");
  const VerifyReport fresh =
      examine(items(), with(leased([] { return TheirAugmenter{.forgets_its_counter = true}; }, {.fresh = true})), true);
  EXPECT_TRUE(fresh.equal) << "a fresh instance per call forgets nothing: " << fresh.message();
}

TEST(Verify, ItemsThatFailAreComparedByTheirErrors) {
  const auto fails_on_2 = [](Sample& s) {
    if (s.origin().index == 2) throw std::runtime_error("not this one");
  };
  const VerifyReport some = examine(items(), with(fails_on_2), true);
  EXPECT_TRUE(some.equal);
  EXPECT_GT(some.failures, 0u);
  EXPECT_NE(some.message().find("not this one"), std::string::npos) << some.message();
  // Equal failures are no samples compared.
  const VerifyReport none = examine(items(), with([](Sample&) { throw std::runtime_error("none of them"); }), true);
  EXPECT_TRUE(none.equal);
  EXPECT_EQ(none.samples, 0u);
  EXPECT_GT(none.failures, some.failures);
  EXPECT_EQ(examine(items(), with([](Sample&) {}), true).failures, 0u);
}

TEST(Verify, ACheckpointMayEndIt) {
  struct Enough {};
  for (const std::uint64_t hidden_state_items : {0u, 4u}) {
    int calls = 0;
    EXPECT_THROW(verify(items(), with([](Sample&) {}),
                        {.hidden_state_items = hidden_state_items,
                         .checkpoint =
                             [&] {
                               if (++calls == 3) throw Enough{};
                             }}),
                 Enough);
    EXPECT_EQ(calls, 3);
  }
}

TEST(Verify, TheMessageNamesItemPatchOpAndField) {
  const VerifyReport report = examine(items(), with(CountsItsCalls{}));
  const std::string text = report.message();
  for (const char* part : {"not equal", "epoch 0", "patch", "CountsItsCalls", "'image'"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
