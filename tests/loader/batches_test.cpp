// What a batch holds: common tensors, lists of whole volumes, numbers, texts, plans, origins.
#include <gtest/gtest.h>

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

std::vector<Sample> described(std::uint64_t count) {
  std::vector<Sample> samples = coded_samples(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    samples[i].set("weight", 0.5 * static_cast<double>(i));
    samples[i].set("grade", static_cast<std::int64_t>(10 + i));
    samples[i].set("patient", "patient " + std::to_string(i));
    samples[i].set_path("image", "/data/" + std::to_string(i));
  }
  return samples;
}
Pipeline crop(unsigned n) {
  return compose(RandCropByPosNegLabel(
      {.keys = {"image", "label"}, .label_key = "label", .spatial_size = {6, 5, 4}, .num_samples = n}));
}
template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "(no error)";
}

// Volumes of their own shapes, made anew for each read, counted while they live.
struct CountedVolumes {
  std::shared_ptr<std::atomic<int>> living = std::make_shared<std::atomic<int>>(0);
  std::uint64_t size() const { return 6; }
  SampleSpec spec() const {
    return {{{.name = "image", .kind = FieldKind::tensor, .dtype = DType::f32, .shape = {1, unknown}}}};
  }
  Sample operator()(std::uint64_t i) const {
    const std::size_t n = 100 + i;
    auto* const voxels = new float[n]();
    ++*living;
    Sample s;
    s.set("image", Tensor(Storage::wrap(voxels, n * sizeof(float), true,
                                        [voxels, count = living] {
                                          delete[] voxels;
                                          --*count;
                                        }),
                          DType::f32, {1, static_cast<std::int64_t>(n)}));
    return s;
  }
};

TEST(Batches, AListsVolumesGoWithItsLease) {
  const Deadline deadline;
  const CountedVolumes volumes;
  const auto fails_at_4 = [](Sample& s) {
    if (s.origin().index == 4) throw std::runtime_error("no");
  };
  Loader loader(volumes, compose(fails_at_4), {.batch_size = 2, .threads = 0, .hold = 3});
  std::optional<Batch> a = loader.next(), b = loader.next();
  EXPECT_FALSE(a->collated());
  EXPECT_EQ(*volumes.living, 4);
  const Tensor kept = a->sample(1).get("image");
  a.reset();
  EXPECT_EQ(*volumes.living, 3) << "the batch's volumes but the one that is still used";
  EXPECT_EQ(kept.data<float>()[100], 0.0f);
  b.reset();
  EXPECT_EQ(*volumes.living, 1);
  EXPECT_THROW(static_cast<void>(loader.next()), ItemError);
  EXPECT_EQ(*volumes.living, 1) << "a failed step keeps nothing either";
}

TEST(Batches, TensorsNumbersTextsAndOriginsInTheOrderOfTheItems) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 8u}) {
    Loader loader(MemoryDataset(described(7)), crop(3), {.batch_size = 3, .threads = threads});
    EXPECT_EQ(loader.steps_per_epoch(), 3u);
    EXPECT_EQ(loader.parts(), 3u);
    std::uint64_t position = 0;
    for (Batch& b : loader.epoch(0)) {
      EXPECT_TRUE(b.collated());
      const std::size_t n = b.step() < 2 ? 9 : 3;
      ASSERT_EQ(b.size(), n);
      EXPECT_EQ(b.items(), n / 3);
      const auto count = static_cast<std::int64_t>(n);
      EXPECT_EQ(b["image"].shape(), (Shape{count, 1, 6, 5, 4}));
      EXPECT_EQ(b["label"].dtype(), DType::i32);
      EXPECT_EQ(b["weight"].shape(), (Shape{count}));
      EXPECT_EQ(b["weight"].dtype(), DType::f64);
      EXPECT_EQ(b["grade"].dtype(), DType::i64);
      EXPECT_EQ(b.texts("patient").size(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const std::uint64_t item = position + i / 3;
        EXPECT_EQ(b.origin(i).index, item);
        EXPECT_EQ(b.origin(i).position, item);
        EXPECT_EQ(b.origin(i).patch, i % 3);
        EXPECT_EQ(b["weight"].at({at}), 0.5 * static_cast<double>(item));
        EXPECT_EQ(b["grade"].at<std::int64_t>({at}), static_cast<std::int64_t>(10 + item));
        EXPECT_EQ(b.texts("patient")[i], "patient " + std::to_string(item));
        const Sample s = b.sample(i);
        EXPECT_EQ(s.path("image"), "/data/" + std::to_string(item));
        EXPECT_TRUE(s.get("image").equal(b["image"].select(0, at).contiguous()));
        // No copy: the sample's and the batch's tensors are one memory.
        EXPECT_EQ(s.get("image").raw(), b["image"].select(0, at).raw());
      }
      position += b.items();
      EXPECT_THROW((void)b.sample(n), std::out_of_range);
      EXPECT_THROW((void)b.origin(n), std::out_of_range);
      EXPECT_NE(message<std::exception>([&] { (void)b["imge"]; }).find("label"), std::string::npos);
      EXPECT_NE(message<std::exception>([&] { (void)b["patient"]; }).find("texts()"), std::string::npos);
      EXPECT_NE(message<std::exception>([&] { (void)b.plan(0, 0); }).find("keep_plans"), std::string::npos);
    }
    EXPECT_EQ(position, 7u);
  }
  EXPECT_THROW((void)Batch()["image"], std::logic_error);
  EXPECT_EQ(Batch().size(), 0u);
}

TEST(Batches, WholeVolumesOfDifferentShapesAreAList) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 8u})
    for (const std::uint32_t batch_size : {1u, 3u}) {
      Loader loader(CacheDataset(MemoryDataset(described(7)), Pipeline()), Pipeline(),
                    {.batch_size = batch_size, .threads = threads});
      std::uint64_t item = 0;
      for (int epoch = 0; epoch < 2; ++epoch, item = 0)
        for (Batch& b : loader.epoch(static_cast<std::uint32_t>(epoch))) {
          EXPECT_FALSE(b.collated());
          for (std::size_t i = 0; i < b.size(); ++i, ++item) {
            const Sample expected = coded_sample(item, mixed_size(item));
            EXPECT_TRUE(b.sample(i).get("image").equal(expected.get("image")));
            EXPECT_TRUE(b.sample(i).get("label").equal(expected.get("label")));
          }
          if (b.size() == 1) {
            EXPECT_EQ(b["image"].rank(), 5);
          } else {
            EXPECT_NE(message<std::invalid_argument>([&] { (void)b["image"]; }).find("no common shape"),
                      std::string::npos);
          }
          EXPECT_EQ(b["grade"].size(0), static_cast<std::int64_t>(b.size()));
        }
      EXPECT_EQ(loader.stats().bytes_to_slots, 0u);  // whole, cached, contiguous: nothing to copy
    }
}

TEST(Batches, WithoutTensorsAndWithEmptyOnes) {
  const Deadline deadline;
  std::vector<Sample> numbers(5), empty(5);
  for (std::size_t i = 0; i < 5; ++i) {
    numbers[i].set("n", static_cast<std::int64_t>(i));
    empty[i].set("nothing", Tensor::zeros(DType::f32, {1, 0, 3}));
  }
  for (const unsigned threads : {0u, 2u}) {
    Loader a(MemoryDataset(numbers), Pipeline(), {.batch_size = 2, .threads = threads});
    std::int64_t sum = 0;
    for (Batch& b : a.epoch(0))
      for (std::int64_t i = 0; i < b["n"].numel(); ++i) sum += b["n"].at<std::int64_t>({i});
    EXPECT_EQ(sum, 10);
    Loader z(MemoryDataset(empty), Pipeline(), {.batch_size = 2, .threads = threads});
    for (Batch& b : z.epoch(0)) {
      EXPECT_EQ(b["nothing"].shape(), (Shape{static_cast<std::int64_t>(b.size()), 1, 0, 3}));
      EXPECT_EQ(b.sample(0).get("nothing").numel(), 0);
    }
  }
}

TEST(Batches, KeptPlansGiveTheSameVoxelsAgain) {
  const Deadline deadline;
  const std::vector<Sample> samples = described(5);
  const auto keys = Keys{"image", "label"};
  const auto check = [&](const Pipeline& pipeline) {
    for (const unsigned threads : {0u, 8u}) {
      Loader loader(MemoryDataset(samples), pipeline,
                    {.batch_size = 2, .shuffle = true, .seed = 9, .threads = threads, .keep_plans = true});
      for (std::uint32_t e = 0; e < 2; ++e)
        for (Batch& b : loader.epoch(e))
          for (std::size_t i = 0; i < b.size(); ++i) {
            Sample again = samples[b.origin(i).index];
            for (std::size_t op = 0; op < pipeline.size(); ++op) {
              EXPECT_EQ(b.plan(i, op).empty(), !pipeline.op(op).has_plan());
              // Another seed: only the plan decides.
              pipeline.apply_op(op, again, {.seed = 77}, pipeline.patch_of(op, b.origin(i).patch), b.plan(i, op));
            }
            for (const char* key : {"image", "label"}) {
              EXPECT_TRUE(b.sample(i).get(key).equal(again.get(key).contiguous())) << key;
              EXPECT_EQ(b.sample(i).affine(key), again.affine(key));
            }
            EXPECT_THROW((void)b.plan(i, pipeline.size()), std::out_of_range);
          }
    }
  };
  const auto affine = RandAffine({.keys = keys, .prob = 0.7, .rotate_range = {0.3, 0.2, 0.1}});
  check(
      compose(RandFlip({.keys = keys, .prob = 0.5}), crop(3), affine, RandFlip({.keys = keys, .prob = 0.5, .op = 9})));
  check(compose(RandFlip({.keys = keys, .prob = 0.5}), affine));
}

TEST(Batches, PlansDifferBetweenPatchesItemsAndEpochs) {
  const Deadline deadline;
  Loader loader(MemoryDataset(described(5)), crop(4), {.threads = 2, .keep_plans = true});
  std::vector<Shape> starts;
  for (std::uint32_t e = 0; e < 2; ++e)
    for (Batch& b : loader.epoch(e))
      for (std::size_t i = 0; i < b.size(); ++i) {
        // plan.start is where the patch really begins.
        const Shape start = b.plan(i, 0).get<RandCropByPosNegLabel::Plan>().start;
        EXPECT_EQ(static_cast<std::int64_t>(*b.sample(i).get("image").data<float>()),
                  code_of(b.origin(i).index, start[0], start[1], start[2]));
        starts.push_back(start);
      }
  std::size_t equal = 0;
  for (std::size_t i = 0; i < starts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) equal += starts[i] == starts[j];
  EXPECT_LT(equal, starts.size() / 4);
}

}  // namespace
}  // namespace headrace::test
