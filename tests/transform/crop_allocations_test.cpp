// Planning and applying a crop on a cached sample asks the allocator for nothing.
#include <atomic>
#include <cstdlib>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <new>

#include "transform/ops_support.hpp"

namespace {
std::atomic<long> allocations{0};
void* counted(std::size_t n, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  void* p = alignment > alignof(std::max_align_t)
                ? std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment)
                : std::malloc(n == 0 ? 1 : n);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t n) { return counted(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) { return counted(n, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace headrace {
namespace {

TEST(CropAllocations, A_patch_of_a_cached_sample_allocates_nothing) {
  Sample cached;
  cached.set("image", test::counting<float>({1, 20, 21, 22}));
  cached.set_path("image", "/a/path/that/is/too/long/for/a/short/string.nii.gz");
  Tensor label = Tensor::zeros(DType::u8, {1, 20, 21, 22});
  label.mutable_data<std::uint8_t>()[1234] = 1;
  cached.set("label", std::move(label));
  FgBgToIndices({.image_key = "image"}).apply(cached);
  cached.freeze();
  const RandCropByPosNegLabel op({.spatial_size = {9, 8, 7}, .num_samples = 4});
  for (std::uint32_t patch = 0; patch < 4; ++patch) {
    Sample s = cached;
    Rng rng = test::stream(1, patch);
    const long before = allocations.load(std::memory_order_relaxed);  // relaxed: one thread
    op.apply(s, op.plan(s, rng));
    EXPECT_EQ(allocations.load(std::memory_order_relaxed), before);  // relaxed: one thread
  }
}

}  // namespace
}  // namespace headrace
