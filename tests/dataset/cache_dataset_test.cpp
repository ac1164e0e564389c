#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/dataset/nifti_dataset.hpp>
#include <headrace/io/error.hpp>
#include <headrace/io/nifti_writer.hpp>
#include <headrace/transform/crop_foreground.hpp>
#include <headrace/transform/delete_items.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/scale_intensity_range.hpp>
#include <thread>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

// Counts what it makes; some items fail.
struct Counted {
  std::uint64_t items = 10;
  std::atomic<int>* made;
  std::uint64_t bad = 1000;  // this one and the next cannot be made
  std::chrono::milliseconds time{0};

  std::uint64_t size() const { return items; }
  SampleSpec spec() const { return coded_sample(0, {8, 8, 8}).spec(); }
  Sample operator()(std::uint64_t i) const {
    ++*made;
    std::this_thread::sleep_for(time);
    if (i == bad) throw std::runtime_error("item " + std::to_string(i) + " is bad");
    if (i == bad + 1) throw 7;
    return coded_sample(i, {8, 8, 8});
  }
  std::string path_of(std::uint64_t i) const { return "/data/" + std::to_string(i); }
};
constexpr std::size_t item_bytes = 512 * 8;

void on_threads(int n, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back(f, t);
  for (std::thread& t : threads) t.join();
}

TEST(CacheDataset, ComputesOnceAndSharesTheVoxels) {
  std::atomic<int> made = 0;
  const CacheDataset cache(Counted{.made = &made}, compose(FgBgToIndices({.label_key = "label"})));
  EXPECT_EQ(cache.size(), 10u);
  EXPECT_EQ(made, 0);
  const Sample a = cache(3), b = cache(3);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(a.get("image").raw(), b.get("image").raw());
  EXPECT_TRUE(a.get("image").storage().read_only());
  EXPECT_EQ(&a.voxels("label_fg_indices"), &b.voxels("label_fg_indices"));
  Sample c = cache(3);
  c.tensor("image").fill_(5);
  EXPECT_EQ(cache(3).get("image").at({0, 0, 0, 1}), static_cast<double>(code_of(3, 0, 0, 1)));
  const CacheStats s = cache.stats();
  EXPECT_EQ(s.items, 1u);
  EXPECT_EQ(s.computed, 1u);
  EXPECT_EQ(s.hits, 3u);
  EXPECT_EQ(s.bytes, a.bytes());
  EXPECT_THROW((void)cache(10), std::out_of_range);
  // What it delivers is what the source and the pipeline say.
  Sample by_hand = coded_sample(3, {8, 8, 8});
  FgBgToIndices({.label_key = "label"}).apply(by_hand);
  EXPECT_EQ(digest_of(a), digest_of(by_hand));
  EXPECT_EQ(cache.spec(), compose(FgBgToIndices({.label_key = "label"})).infer(Counted{.made = &made}.spec()));
}

TEST(CacheDataset, RandomOrOneToManyOpsAreRefused) {
  std::atomic<int> made = 0;
  const auto refused = [&](const Pipeline& p, std::string_view op) {
    try {
      const CacheDataset cache(Counted{.made = &made}, p);
      ADD_FAILURE() << op;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(op), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("deterministic_prefix"), std::string::npos) << e.what();
    }
  };
  refused(compose(FgBgToIndices({.label_key = "label"}), RandFlip({.prob = 0})), "op 1 (RandFlip)");
  refused(compose([](Sample&, Rng&) {}), "op 0");
  refused(compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 4})), "RandCropByPosNegLabel");
}

// A view must not keep the whole volume in memory, nor count for less than it holds.
TEST(CacheDataset, ViewsAreCopiedSoThatTheBytesAreTrue) {
  const std::vector<Sample> samples(3, coded_sample(0, {20, 20, 20}));
  const CacheDataset cache(MemoryDataset(samples),
                           compose(CropForeground({.source_key = "image", .threshold = 10 << 12})));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Sample s = cache(i);
    EXPECT_EQ(s.get("image").storage().bytes(), s.get("image").bytes());
    EXPECT_LT(s.get("image").bytes(), samples[i].get("image").bytes());
  }
  EXPECT_EQ(cache.stats().bytes, 3 * cache(0).bytes());
}

TEST(CacheDataset, TheBudgetHoldsAtEveryMomentUnderARace) {
  const Deadline deadline;
  std::atomic<int> made = 0;
  const std::size_t budget = 4 * item_bytes + 100;
  for (int round = 0; round < scaled(20); ++round) {
    const CacheDataset cache(Counted{.made = &made}, Pipeline(), {.memory_budget = budget});
    std::atomic<bool> over = false, stop = false;
    std::thread watcher([&] {
      while (!stop)
        if (cache.stats().bytes > budget) over = true;
    });
    on_threads(8, [&](int t) {
      for (std::uint64_t i = 0; i < 40; ++i) {
        const std::uint64_t item = (i * 7 + static_cast<std::uint64_t>(t) * 3) % 10;
        if (!(digest_of(cache(item).field("image")) == digest_of(coded_sample(item, {8, 8, 8}).field("image"))))
          ADD_FAILURE() << item;
      }
    });
    stop = true;
    watcher.join();
    EXPECT_FALSE(over);
    EXPECT_EQ(cache.stats().items, 4u);
    EXPECT_EQ(cache.stats().bytes, 4 * item_bytes);
    EXPECT_GT(cache.stats().refused, 0u);
    EXPECT_EQ(cache.stats().hits + cache.stats().computed, 320u);
  }
}

TEST(CacheDataset, ARaceForOneItemKeepsOneAndNobodyWaits) {
  const Deadline deadline;
  for (int round = 0; round < scaled(30); ++round) {
    std::atomic<int> made = 0;
    const CacheDataset cache(Counted{.items = 2, .made = &made, .time = std::chrono::milliseconds(1)}, Pipeline());
    std::array<const std::byte*, 8> seen{};
    on_threads(8, [&](int t) { seen[static_cast<std::size_t>(t)] = cache(1).get("image").raw(); });
    const CacheStats s = cache.stats();
    EXPECT_EQ(s.items, 1u);
    EXPECT_EQ(s.bytes, item_bytes);
    EXPECT_EQ(s.computed, static_cast<std::uint64_t>(made));
    for (const std::byte* p : seen) EXPECT_EQ(p, cache(1).get("image").raw()) << "all get the one in place";
  }
}

TEST(CacheDataset, FillComputesAllOnceAndReportsErrorsByIndex) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 1u, 4u, 16u}) {
    std::atomic<int> made = 0;
    const CacheDataset cache(Counted{.made = &made, .bad = 4}, Pipeline());
    std::vector<std::uint64_t> progress;
    const auto errors =
        cache.fill(threads, [&, me = std::this_thread::get_id()](std::uint64_t done, std::uint64_t size) {
          EXPECT_EQ(me, std::this_thread::get_id());
          EXPECT_EQ(size, 10u);
          progress.push_back(done);
        });
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_EQ(errors[0].index, 4u);
    EXPECT_EQ(errors[0].path, "/data/4");
    EXPECT_NE(errors[0].message.find("item 4 is bad"), std::string::npos);
    EXPECT_EQ(errors[1].index, 5u);
    EXPECT_NE(errors[1].message.find("not a std::exception"), std::string::npos);
    ASSERT_EQ(progress.size(), 10u);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(progress[i], i + 1);
    EXPECT_EQ(made, 10);
    EXPECT_EQ(cache.stats().items, 8u);
    (void)cache(3);
    EXPECT_EQ(made, 10);
    EXPECT_THROW((void)cache(4), std::runtime_error) << "again in its place";
    EXPECT_EQ(made, 11);
    EXPECT_EQ(cache.fill(threads).size(), 2u);
    EXPECT_EQ(made, 13) << "only what is missing";
  }
}

TEST(CacheDataset, AProgressCallbackThatThrowsEndsTheFillAndHarmsNothing) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 4u}) {
    std::atomic<int> made = 0;
    const CacheDataset cache(Counted{.items = 40, .made = &made, .time = std::chrono::milliseconds(1)}, Pipeline());
    EXPECT_THROW((void)cache.fill(threads,
                                  [](std::uint64_t done, std::uint64_t) {
                                    if (done == 3) throw std::domain_error("enough");
                                  }),
                 std::domain_error);
    const int so_far = made;
    EXPECT_LT(so_far, 40);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(made, so_far) << "nobody goes on";
    EXPECT_TRUE(cache.fill(threads).empty());
    EXPECT_EQ(cache.stats().items, 40u);
  }
}

TEST(CacheDataset, AnItemThatFailsIsTriedAgainEachTime) {
  std::atomic<int> made = 0;
  const CacheDataset cache(Counted{.made = &made, .bad = 0}, Pipeline());
  EXPECT_THROW((void)cache(0), std::runtime_error);
  EXPECT_THROW((void)cache(0), std::runtime_error);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.stats().items, 0u);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

class CachedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "headrace_cache_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (int i = 0; i < 3; ++i) {
      write("image" + std::to_string(i), 1.0f);
      write("label" + std::to_string(i), 1.0f);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name + ".nii"; }
  void write(const std::string& name, float value) {
    Tensor t = Tensor::zeros(DType::f32, {1, 5, 6, 7});
    t.fill_(value);
    write_nifti(path(name), t, Affine::identity());
  }
  NiftiDataset files() const {
    return NiftiDataset({{"image", {path("image0"), path("image1"), path("image2")}},
                         {"label", {path("label0"), path("label1"), path("label2")}}});
  }
  void expect_changed(const CacheDataset& cache, std::uint64_t item, const std::string& file) {
    try {
      (void)cache(item);
      ADD_FAILURE() << "a change of " << file << " was not seen";
    } catch (const IoError& e) {
      EXPECT_EQ(e.path(), file);
      EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
    }
  }
  std::string folder_;
};

TEST_F(CachedFiles, AFileThatChangedAfterItWasCachedIsAnErrorThatNamesIt) {
  const CacheDataset cache(files(), compose(DeleteItems({.keys = "label"})));
  ASSERT_TRUE(cache.fill(2).empty());
  EXPECT_EQ(cache(1).get("image").at({0, 1, 1, 1}), 1.0);
  write("image1", 2.0f);
  expect_changed(cache, 1, path("image1"));
  EXPECT_NO_THROW((void)cache(0));
  // Also one whose field the pipeline dropped: the item was made from it.
  write("label0", 2.0f);
  expect_changed(cache, 0, path("label0"));
  // And one that is gone.
  std::filesystem::remove(path("image2"));
  expect_changed(cache, 2, path("image2"));
  EXPECT_TRUE(cache.fill(2).size() == 3) << "fill says so too";

  const CacheDataset unchecked(files(), Pipeline(), {.check_files = false});
  EXPECT_EQ(unchecked(1).get("image").at({0, 1, 1, 1}), 2.0);
  write("image1", 3.0f);
  EXPECT_EQ(unchecked(1).get("image").at({0, 1, 1, 1}), 2.0);
}

TEST_F(CachedFiles, InALoaderTheChangeArrivesAsTheItemsError) {
  const Deadline deadline;
  const CacheDataset cache(files(), Pipeline());
  Loader loader(cache, Pipeline(), {.threads = 2, .window = 1});
  for (Batch& b : loader.epoch(0)) EXPECT_EQ(b.size(), 1u);
  write("image1", 2.0f);
  (void)loader.epoch(5);
  EXPECT_TRUE(loader.next());
  try {
    (void)loader.next();
    ADD_FAILURE() << "not seen";
  } catch (const ItemError& e) {
    EXPECT_EQ(e.failure().path, path("image1"));
    EXPECT_NE(e.failure().cause.find("changed after it was cached"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(loader.next());
}

}  // namespace
}  // namespace headrace::test
