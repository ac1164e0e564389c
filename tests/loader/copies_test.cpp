// A voxel is copied once: bytes written are counted, cached volumes lie in memory that cannot be written.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

constexpr std::int64_t edge = 8;
constexpr std::uint64_t voxels = edge * edge * edge;
constexpr std::uint64_t patch_bytes = voxels * (sizeof(float) + sizeof(std::int32_t));

Pipeline crop_and_flip() {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = edge, .num_samples = 4}),
                 RandFlip({.prob = 0.5, .spatial_axis = {0, 2}}));
}
Dataset cached(std::vector<Sample> samples) {
  return CacheDataset(MemoryDataset(std::move(samples)), compose(FgBgToIndices({.label_key = "label"})));
}

// A tensor in pages that the processor refuses to write: a stray write ends the process.
Tensor in_read_only_pages(const Tensor& t) {
  const std::size_t bytes = (t.bytes() + 4095) / 4096 * 4096;
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(pages, t.contiguous().raw(), t.bytes());
  if (::mprotect(pages, bytes, PROT_READ) != 0) throw std::bad_alloc();
  return Tensor(Storage::wrap(pages, t.bytes(), true, [pages, bytes] { ::munmap(pages, bytes); }), t.dtype(),
                t.shape());
}

TEST(Copies, CropAndFlipWriteJustThePatchesBytes) {
  const Deadline deadline;
  for (unsigned threads : {0u, 1u, 8u}) {
    Loader loader(cached(coded_samples(6)), crop_and_flip(),
                  {.batch_size = 2, .shuffle = true, .threads = threads, .epochs = 3});
    (void)digests(loader, 3);
    const LoaderStats stats = loader.stats();
    EXPECT_EQ(stats.patches, 3u * 6 * 4);
    EXPECT_EQ(stats.bytes_to_slots, stats.patches * patch_bytes);
    EXPECT_EQ(stats.bytes_to_scratch, 0u);
    EXPECT_EQ(stats.scratch_from_heap, 0u);
  }
}

TEST(Copies, AnAffineAddsAtMostOneScratchPassPerField) {
  const Deadline deadline;
  const auto run = [](const Pipeline& pipeline) {
    Loader loader(cached(coded_samples(6)), pipeline, {.batch_size = 2, .threads = 2, .epochs = 2});
    (void)digests(loader, 2);
    EXPECT_EQ(loader.stats().scratch_from_heap, 0u);
    return loader.stats();
  };
  const auto crop = RandCropByPosNegLabel({.label_key = "label", .spatial_size = edge, .num_samples = 4});
  const auto affine = RandAffine({.prob = 1.0, .rotate_range = {0.3, 0.3, 0.3}});
  const auto flip = RandFlip({.prob = 1.0, .spatial_axis = {0}});
  // Last: straight into the slot.
  LoaderStats s = run(compose(crop, flip, affine));
  EXPECT_EQ(s.bytes_to_slots, s.patches * patch_bytes);
  EXPECT_EQ(s.bytes_to_scratch, 0u);
  // Before a flip, which is a view: one pass through scratch.
  s = run(compose(crop, affine, flip));
  EXPECT_EQ(s.bytes_to_slots, s.patches * patch_bytes);
  EXPECT_EQ(s.bytes_to_scratch, s.patches * patch_bytes);
  // Only the image is resampled: only it takes the pass.
  s = run(compose(crop, RandAffine({.keys = "image", .prob = 1.0, .rotate_range = {0.3, 0.3, 0.3}}), flip));
  EXPECT_EQ(s.bytes_to_slots, s.patches * patch_bytes);
  EXPECT_EQ(s.bytes_to_scratch, s.patches * voxels * sizeof(float));
  // Two in a row: one scratch pass, not two.
  s = run(compose(crop, affine, affine));
  EXPECT_EQ(s.bytes_to_slots, s.patches * patch_bytes);
  EXPECT_EQ(s.bytes_to_scratch, s.patches * patch_bytes);
  // In place, after everything else: in the slot itself.
  s = run(compose(crop, flip, [](Sample& sample) { sample.tensor("image").add_(1).mul_(2); }));
  EXPECT_EQ(s.bytes_to_slots, s.patches * patch_bytes);
  EXPECT_EQ(s.bytes_to_scratch, 0u);
}

struct AsksForScratch {
  static constexpr bool asks_scratch = true;
  void apply(Sample& s) const { s.scratch(DType::f32, s.get("image").shape()).fill_(1); }
};

TEST(Copies, ScratchIsThereWhereOpsAskForItAndCountsInTheBudget) {
  const Deadline deadline;
  const auto crop = RandCropByPosNegLabel({.label_key = "label", .spatial_size = edge, .num_samples = 4});
  const auto affine = RandAffine({.prob = 1.0, .rotate_range = {0.3, 0.3, 0.3}});
  const auto flip = RandFlip({.prob = 1.0, .spatial_axis = {0}});
  const auto noise = [](Sample& s, Rng& rng) { s.tensor("image").add_(rng.normal()); };
  const auto stats = [](const Pipeline& pipeline, std::size_t budget = 0) {
    Loader loader(cached(coded_samples(6)), pipeline,
                  {.batch_size = 2, .threads = 2, .window = 4, .hold = 2, .epochs = 1, .memory_budget = budget});
    (void)digests(loader, 1);
    return loader.stats();
  };
  // Views, then what is written last: all straight into the slot.
  for (const Pipeline& none : {compose(crop, flip), compose(crop, flip, affine), compose(crop, flip, noise)}) {
    EXPECT_EQ(stats(none).scratch_bytes, 0u);
    EXPECT_EQ(stats(none).bytes_to_scratch, 0u);
  }
  // What a later op replaces or shows otherwise goes through scratch; and who says that he asks may.
  const std::size_t field = (voxels * sizeof(float) + 63) / 64 * 64, threads_and_consumer = 3, fields_and_one = 3;
  for (const Pipeline& some :
       {compose(crop, affine, flip), compose(crop, noise, flip), compose(crop, AsksForScratch{})}) {
    const LoaderStats s = stats(some);
    EXPECT_EQ(s.scratch_bytes, field * threads_and_consumer * fields_and_one);
    EXPECT_GT(s.bytes_to_scratch, 0u);
    EXPECT_EQ(s.scratch_from_heap, 0u);
    EXPECT_EQ(s.window, 4u);
    // The budget holds both: what scratch takes is missing for steps.
    EXPECT_EQ(stats(some, s.scratch_bytes + 4 * s.slot_bytes).window, 2u);
    EXPECT_THROW(stats(some, s.scratch_bytes + 3 * s.slot_bytes - 1), std::invalid_argument);
    EXPECT_THROW(stats(some, s.scratch_bytes - 1), std::invalid_argument);
  }
}

TEST(Copies, CachedVolumesMayBeMappedReadOnly) {
  const Deadline deadline;
  std::vector<Sample> plain = coded_samples(6), sealed;
  for (const Sample& s : plain) {
    Sample copy = s;
    for (const char* key : {"image", "label"}) copy.set(key, in_read_only_pages(s.get(key)));
    sealed.push_back(std::move(copy));
  }
  const auto writing = [](Sample& s, Rng& rng) {
    s.tensor("image").add_(rng.normal());
    s.tensor("label").mul_(2);
  };
  for (const Pipeline& pipeline :
       {crop_and_flip(), compose(crop_and_flip(), writing), compose(writing, crop_and_flip()),
        compose(RandAffine({.prob = 1.0, .rotate_range = {0.2, 0.2, 0.2}}), crop_and_flip(), writing)}) {
    const auto reference = digests(cached(plain), pipeline, {.batch_size = 2, .threads = 0}, 2);
    for (unsigned threads : {0u, 8u})
      EXPECT_EQ(digests(cached(sealed), pipeline, {.batch_size = 2, .threads = threads}, 2), reference);
  }
}

TEST(Copies, WritingToADeliveredPatchReachesNobodyElse) {
  const Deadline deadline;
  const Dataset data = cached(coded_samples(4));
  std::vector<Digest> before;
  for (std::uint64_t i = 0; i < data.size(); ++i) before.push_back(digest_of(data(i)));
  // Cropped batches share a slot; whole volumes are shared with the cache itself.
  for (const bool whole : {false, true}) {
    Loader loader(data, whole ? Pipeline() : crop_and_flip(), {.batch_size = 2, .threads = 2});
    for (Batch& batch : loader.epoch(0)) {
      std::vector<Digest> siblings;
      for (std::size_t i = 0; i < batch.size(); ++i) siblings.push_back(digest_of(batch.sample(i)));
      Sample mine = batch.sample(1);
      mine.tensor("image").fill_(-1);
      mine.tensor("label").mutable_data<std::int32_t>()[0] = -7;
      EXPECT_EQ(mine.get("image").at({0, 1, 1, 1}), -1.0);
      if (!whole) batch["image"].fill_(-2);
      for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(digest_of(batch.sample(i)), siblings[i]);
    }
  }
  for (std::uint64_t i = 0; i < data.size(); ++i) EXPECT_EQ(digest_of(data(i)), before[i]);
}

// Fields that share memory, views of the slot, fields that trade places: everything arrives as the ops left it.
TEST(Copies, AliasesBetweenFieldsArriveAsTheOpsLeftThem) {
  const Deadline deadline;
  struct Twin {  // adds a second image field
    int how = 0;
    SampleSpec infer(SampleSpec spec) const {
      FieldSpec f = spec.at("image");
      f.name = "twin";
      spec.set(f);
      return spec;
    }
    void apply(Sample& s) const {
      Tensor& image = s.tensor("image");
      image.add_(1);
      const Tensor written = image;
      if (how == 0) s.set("twin", written);
      if (how == 1) s.set("twin", written), s.set("image", written.flip({1}));
      if (how == 2) s.set("twin", written.flip({2})), s.set("image", written.flip({1}));
      if (how == 3) s.set("twin", written.permute({0, 3, 2, 1}));
      if (how == 4) {  // trade places
        Tensor other = s.output("twin", written.dtype(), written.shape());
        other.copy_from(written.flip({3}));
        s.set("image", other);
        s.set("twin", written);
      }
    }
  };
  const Dataset data = cached(coded_samples(3));
  for (int how = 0; how < 5; ++how) {
    const Pipeline pipeline = compose(crop_and_flip(), Twin{how});
    for (unsigned threads : {0u, 2u}) {
      Loader loader(data, pipeline, {.threads = threads});
      for (Batch& batch : loader.epoch(0)) {
        const std::uint64_t item = batch.origin(0).index;
        const std::vector<Sample> expected = pipeline.run(data(item), {.seed = 0, .epoch = 0, .item = item});
        for (std::size_t i = 0; i < batch.size(); ++i)
          for (const char* key : {"image", "label", "twin"})
            EXPECT_TRUE(batch.sample(i).get(key).equal(expected[i].get(key).contiguous())) << how << " " << key;
      }
    }
  }
}

}  // namespace
}  // namespace headrace::test
