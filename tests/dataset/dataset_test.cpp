// Datasets of one's own, in memory, from functions; samplers.
#include <gtest/gtest.h>

#include <headrace/dataset/dataset.hpp>
#include <headrace/dataset/nifti_dataset.hpp>
#include <headrace/dataset/sampler.hpp>
#include <set>

#include "support/volumes.hpp"

namespace headrace::test {
namespace {

TEST(Dataset, AMemoryDatasetSaysWhatItsItemsHaveInCommon) {
  const MemoryDataset data(coded_samples(5));
  EXPECT_EQ(data.size(), 5u);
  const SampleSpec spec = data.spec();
  EXPECT_EQ(spec.at("image").shape, (Shape{1, unknown, unknown, unknown}));
  EXPECT_EQ(MemoryDataset(coded_samples(5, 9, 1)).spec().at("label").shape, (Shape{1, 9, 9, 9}));
  EXPECT_THROW((void)data(5), std::out_of_range);
  // Its voxels are nobody's to change.
  Sample s = data(0);
  s.tensor("image").fill_(-1);
  EXPECT_EQ(data(0).get("image").at({0, 0, 0, 1}), 1.0);
  EXPECT_TRUE(MemoryDataset({}).spec().fields.empty());
}

TEST(Dataset, ItemsThatDoNotLookAlikeAreRefused) {
  const auto refused = [](std::vector<Sample> samples) { EXPECT_THROW(MemoryDataset{samples}, std::invalid_argument); };
  std::vector<Sample> samples = coded_samples(2);
  samples[1].erase("label");
  refused(samples);
  samples = coded_samples(2);
  samples[1].set("more", std::int64_t{1});
  refused(samples);
  samples = coded_samples(2);
  samples[1].set("image", Tensor::zeros(DType::f64, {1, 4, 4, 4}));
  refused(samples);
  samples = coded_samples(2);
  samples[1].set("image", Tensor::zeros(DType::f32, {1, 4, 4}));
  refused(samples);
  samples = coded_samples(2);
  samples[1].set("image", 1.0);
  refused(samples);
}

struct Bare {
  std::uint64_t bad = 0;  // items below cannot be made
  std::uint64_t size() const { return 20; }
  Sample operator()(std::uint64_t i) const {
    if (i < bad) throw std::runtime_error("item " + std::to_string(i) + " cannot be made");
    return coded_sample(i, mixed_size(i, 4, 3));
  }
};

TEST(Dataset, OneThatStatesNothingIsAskedForAnExample) {
  const Dataset data = Bare{.bad = 3};
  EXPECT_EQ(data.spec().at("image").shape, (Shape{1, unknown, unknown, unknown}));
  EXPECT_EQ(data.path_of(2), "");
  EXPECT_NE(data.describe().find("20"), std::string::npos);
  try {
    (void)Dataset(Bare{.bad = 8}).spec();
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("item 0 cannot be made"), std::string::npos) << e.what();
  }
  const Dataset function = FunctionDataset(3, data.spec(), [](std::uint64_t i) { return coded_sample(i, {4, 4, 4}); });
  EXPECT_EQ(function.size(), 3u);
  EXPECT_EQ(function.spec(), data.spec());
  EXPECT_EQ(function(2).get("image").at({0, 0, 0, 0}), static_cast<double>(code_of(2, 0, 0, 0)));
}

// What an earlier item left in the record is not seen by a dataset that fills it.
TEST(Dataset, ALoaderHandsOverAnEmptyRecord) {
  struct Filling {
    std::uint64_t size() const { return 6; }
    Sample operator()(std::uint64_t i) const {
      Sample s;
      read(i, s);
      return s;
    }
    SampleSpec spec() const { return {.fields = {{.name = "n", .kind = FieldKind::integer}}}; }
    void read(std::uint64_t i, Sample& into) const { into.set("n", static_cast<std::int64_t>(10 * into.size() + i)); }
  };
  Loader loader(Filling{}, compose([](Sample& s) { s.set("n", s.integer("n")); }), {.threads = 0, .epochs = 3});
  for (std::uint32_t e = 0; e < 3; ++e)
    for (Batch& b : loader.epoch(e)) EXPECT_EQ(b.sample(0).integer("n"), static_cast<std::int64_t>(b.step()));
}

std::vector<std::uint64_t> indices(const EpochOrder& order, std::uint64_t n) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < n; ++i) all.push_back(order(i).index);
  return all;
}

TEST(Sampler, SequentialAndShuffled) {
  const Sampler sequential = Sampler::sequential(7), shuffled = Sampler::shuffled(50, 3);
  EXPECT_EQ(sequential.size(), 7u);
  for (std::uint64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(sequential(4, i).index, i);
    EXPECT_EQ(sequential(4, i).stream_item, i);
  }
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint32_t e = 0; e < 20; ++e) {
    const auto order = indices(shuffled.order(e), 50);
    EXPECT_EQ(std::set<std::uint64_t>(order.begin(), order.end()).size(), 50u);
    EXPECT_EQ(order, indices(shuffled.order(e), 50));
    EXPECT_NE(order, indices(Sampler::shuffled(50, 4).order(e), 50));
    orders.insert(order);
    // The stream item is the item's own: its numbers do not depend on where it comes.
    EXPECT_EQ(shuffled(e, 7).stream_item, shuffled(e, 7).index);
  }
  EXPECT_EQ(orders.size(), 20u);
}

TEST(Sampler, ASubsetWithRepeatsTellsThemApart) {
  const Sampler plain = Sampler::subset({9, 2, 5}, false, 0);
  EXPECT_EQ(indices(plain.order(1), 3), (std::vector<std::uint64_t>{9, 2, 5}));
  EXPECT_EQ(plain(1, 1).stream_item, 2u);
  const Sampler repeats = Sampler::subset({9, 2, 9, 9}, true, 1);
  std::set<std::uint64_t> streams;
  std::multiset<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 4; ++i) {
    streams.insert(repeats(2, i).stream_item);
    seen.insert(repeats(2, i).index);
  }
  EXPECT_EQ(streams.size(), 4u);
  EXPECT_EQ(seen.count(9), 3u);
  EXPECT_THROW((void)plain(0, 3), std::exception);
  // In a loader repeats give different patches of one volume.
  const Pipeline noise =
      compose([](Sample& s, Rng& rng) { s.set("n", static_cast<std::int64_t>(rng.below(1u << 30))); });
  Sample one;
  one.set("n", std::int64_t{0});
  Loader loader(MemoryDataset(std::vector<Sample>(10, one)), noise,
                {.batch_size = 4, .threads = 2, .sampler = repeats});
  std::set<std::int64_t> values;
  const auto batch = loader.next();
  for (std::size_t i = 0; i < 4; ++i) values.insert(batch->sample(i).integer("n"));
  EXPECT_EQ(values.size(), 4u);
}

TEST(Sampler, ReorderingIsTheOrderMadeAnew) {
  for (const Sampler& sampler :
       {Sampler::sequential(20), Sampler::shuffled(20, 1), Sampler::shuffled(5000, 1),
        Sampler::subset({1, 4, 4, 8}, true, 2), Sampler::subset({1, 4, 8}, false, 2),
        Sampler(
            3, [](std::uint32_t e) -> EpochOrder { return [e](std::uint64_t i) {
                                                     return SampledItem{i + e, i};
                                                   }; },
            "own")}) {
    EpochOrder order;
    EpochOrder before;
    for (const std::uint32_t e : {0u, 1u, 5u, 2u, 2u, 0u}) {
      sampler.reorder(e, order);
      EXPECT_EQ(indices(order, sampler.size()), indices(sampler.order(e), sampler.size())) << sampler.describe();
      if (e == 1) before = order;  // a copy keeps its epoch
    }
    EXPECT_EQ(indices(before, sampler.size()), indices(sampler.order(1), sampler.size())) << sampler.describe();
    // An order of another sampler is replaced.
    EpochOrder other = Sampler::shuffled(20, 77).order(0);
    sampler.reorder(3, other);
    EXPECT_EQ(indices(other, sampler.size()), indices(sampler.order(3), sampler.size())) << sampler.describe();
  }
  EXPECT_THROW(Sampler(3, nullptr, "none"), std::invalid_argument);
}

// The first line one writes: one field, one file.
TEST(NiftiDataset, OneFieldInBracesIsAListOfOne) {
  const NiftiDataset one({{"image", {"a.nii.gz"}}});
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(one.path_of(0), "a.nii.gz");
  EXPECT_EQ(NiftiDataset({{"image", {"a.nii.gz", "b.nii.gz"}}}).size(), 2u);
  EXPECT_EQ(NiftiDataset(NiftiDataset::Fields{{"image", {"a.nii.gz"}}, {"label", {"b.nii.gz"}}}).size(), 1u);
}

}  // namespace
}  // namespace headrace::test
