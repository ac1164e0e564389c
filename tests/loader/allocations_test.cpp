// After its first epoch a loader asks nobody for memory: every way to the heap is counted, on every thread.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/random_delay.hpp>
#include <new>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> requests{0}, bytes{0};
void count(std::size_t size) noexcept {
  if (!counting.load(std::memory_order_relaxed)) return;
  requests.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(size, std::memory_order_relaxed);
  if (std::getenv("HEADRACE_TEST_TRAP")) __builtin_trap();  // to see in a debugger who asks
}
}  // namespace

// operator new of the standard library ends in malloc and aligned_alloc.
extern "C" {
void* malloc(std::size_t size) {
  count(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count(n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  count(size);
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) {
  count(size);
  return __libc_memalign(align, size);
}
void* memalign(std::size_t align, std::size_t size) {
  count(size);
  return __libc_memalign(align, size);
}
int posix_memalign(void** p, std::size_t align, std::size_t size) {
  count(size);
  *p = __libc_memalign(align, size);
  return *p ? 0 : 12;
}
}

namespace headrace::test {
namespace {

struct Counted {
  std::uint64_t requests, bytes;
};

// Runs `epochs` epochs; what was asked for in those after the first.
Counted run(Loader& loader, std::uint32_t epochs) {
  std::uint64_t samples = 0;
  float sum = 0;
  for (std::uint32_t e = 0; e < epochs; ++e) {
    if (e == 1) {
      requests = bytes = 0;
      counting = true;
    }
    for (Batch& batch : loader.epoch(e)) {
      const Tensor image = batch["image"], label = batch["label"];
      sum += *image.data<float>();
      samples += batch.size();
    }
  }
  counting = false;
  EXPECT_GT(samples, 0u);
  EXPECT_NE(sum, 0.0f);
  return {requests.load(), bytes.load()};
}

Dataset cached() {
  return CacheDataset(MemoryDataset(coded_samples(12)), compose(FgBgToIndices({.label_key = "label"})));
}

TEST(Allocations, TheCounterSeesAllWays) {
  requests = 0;
  counting = true;
  ::operator delete(::operator new(4));
  { const Storage s = Storage::allocate(1000); }
  void* volatile block = std::malloc(10);  // volatile: or the compiler leaves the pair out
  std::free(block);
  counting = false;
  EXPECT_GE(requests.load(), 4u);
}

TEST(Allocations, NoneAfterTheFirstEpoch) {
  const Deadline deadline;
  const auto crop = RandCropByPosNegLabel({.label_key = "label", .spatial_size = 8, .num_samples = 4});
  const auto flip = RandFlip({.prob = 0.5, .spatial_axis = {0}});
  const auto affine = RandAffine({.prob = 0.5, .rotate_range = {0.3, 0.3, 0.3}});
  const auto noise = [](Sample& s, Rng& rng) { s.tensor("image").add_(rng.normal()); };
  for (const bool shuffle : {false, true})
    for (const unsigned threads : {0u, 1u, 2u}) {
      const auto check = [&](const Pipeline& pipeline, const char* what) {
        Loader loader(cached(), pipeline, {.batch_size = 3, .shuffle = shuffle, .threads = threads, .window = 3});
        const Counted counted = run(loader, 5);
        EXPECT_EQ(counted.requests, 0u) << what << ", threads " << threads << ", shuffle " << shuffle << ": "
                                        << counted.bytes << " bytes";
      };
      check(compose(crop, flip), "crop, flip");
      check(compose(crop, affine, flip), "crop, affine, flip");
      check(compose(crop, affine, flip, noise), "crop, affine, flip, noise");
      // Workers that leave and come back, a consumer that sleeps.
      check(compose(RandomDelay{std::chrono::microseconds(300)}, crop, flip), "delays");
    }
}

}  // namespace
}  // namespace headrace::test
