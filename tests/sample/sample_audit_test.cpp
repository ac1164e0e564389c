// What must not allocate, counted by operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <headrace/sample/sample.hpp>
#include <new>

namespace {
std::atomic<long> allocations{0};
std::atomic<std::size_t> largest{0};  // request; one thread at a time is enough here
void* counted(std::size_t bytes, std::size_t align) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (bytes > largest.load(std::memory_order_relaxed)) largest.store(bytes, std::memory_order_relaxed);
  void* p = align ? std::aligned_alloc(align, (bytes + align - 1) / align * align) : std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

// Not inlined: g++ would take the pair of a malloc here and a free there for a mistake.
[[gnu::noinline]] void* operator new(std::size_t n) { return counted(n, 0); }
[[gnu::noinline]] void* operator new[](std::size_t n) { return counted(n, 0); }
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new[](std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace headrace;

template <class F>
long allocations_in(F&& f) {
  const long before = allocations.load();
  f();
  return allocations.load() - before;
}

Sample cached() {
  Sample s;
  s.set("image", Tensor::zeros(DType::f32, {1, 20, 20, 20}), Affine::scaling({2, 2, 2}));
  s.set_path("image", "a path that is far too long for a string to hold in place.nii.gz");
  s.set("label", Tensor::zeros(DType::u8, {1, 20, 20, 20}));
  s.set("a name of 47 bytes; no name can be longer, here", std::int64_t{1});
  s.set("weight", 0.5);
  s.set("text", std::string("another text that is too long to be held in place"));
  s.set("fg", std::make_shared<const VoxelSet>(Shape{64}, std::vector<std::uint64_t>{3}));
  s.freeze();
  return s;
}

TEST(Audit, TheCounterCounts) {
  EXPECT_EQ(allocations_in([] { ::operator delete(::operator new(8)); }), 1);
  EXPECT_EQ(allocations_in([] { (void)Tensor::empty(DType::f32, {1000}); }), 2) << "the block and its memory";
}

TEST(Audit, FillingARecordOfTheSameLayoutAllocatesNothing) {
  const Sample source = cached(), other = cached();
  Sample record = source;
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 10; ++i) {
                record.release_values();
                record = i % 2 ? source : other;
              }
            }),
            0);
  EXPECT_EQ(record.get("image").raw(), source.get("image").raw());
  EXPECT_EQ(allocations_in([&] { Sample moved = std::move(record); }), 0);
  EXPECT_EQ(allocations_in([&] { Sample copy = source; }), 1) << "the map itself";
}

TEST(Audit, ReadingAndViewsAllocateNothing) {
  Sample s = cached();
  const std::int64_t start[] = {2, 3, 4}, size[] = {8, 8, 8};
  EXPECT_EQ(
      allocations_in([&] {
        const Tensor patch = s.get("image").crop(start, size).flip({1, 3}).permute({0, 3, 2, 1});
        s.set("image", patch.select(0, 0).unsqueeze(0), s.affine("image") * Affine::flip(0, 8));
        s.set("weight", 0.25);
        (void)(s.real("weight") + static_cast<double>(s.integer("a name of 47 bytes; no name can be longer, here")));
        (void)s.voxels("fg").select(1);
        (void)s.text("text");
      }),
      0);
  Tensor slot = Tensor::empty(DType::f32, s.get("image").shape()), other = Tensor::empty(DType::u8, slot.shape());
  EXPECT_EQ(allocations_in([&] { slot.copy_from(s.get("image")), other.copy_from(slot), slot.add_(1).fill_(2); }), 0);
}

TEST(Audit, AbsurdSizesAreRefusedWithoutAskingForMemory) {
  for (const Shape& shape :
       {Shape{std::int64_t{1} << 47}, Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}, Shape{-1}}) {
    largest.store(0);
    EXPECT_THROW((void)Tensor::empty(DType::f32, shape), std::length_error);
    EXPECT_LT(largest.load(), 1000u) << "more than an error message was asked for";
  }
}

}  // namespace
