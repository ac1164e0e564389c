// In the steady state the engine allocates nothing: every allocation of the process is counted. (Label audit: the
// counting replaces malloc, which sanitizers do themselves.)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "headrace/runtime/engine.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
}

namespace headrace {
namespace {

struct Work {
  struct Slot {
    std::atomic<std::uint64_t> sum{0};
  };
  unsigned bind(std::uint64_t, Slot& slot) noexcept {
    slot.sum = 0;
    return 3;
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 4; }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
    volatile std::uint64_t x = 0;
    for (int n = 0; n < 200; ++n) x = x + 1;
    slot.sum += s + i + k;
  }
};

TEST(Audit, The_counter_counts) {
  const auto before = allocations.load();
  void* volatile p = ::operator new(1000);
  ::operator delete(p);
  EXPECT_GT(allocations.load(), before);
}

class AuditOn : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, AuditOn, testing::Values(0u, 1u, 2u, 4u));

TEST_P(AuditOn, Steps_in_the_steady_state_allocate_nothing) {
  Engine<Work> engine(Work{}, {.threads = GetParam(), .window = 4, .batch = 3});
  const auto run = [&](int steps) {
    for (int s = 0; s < steps; ++s) {
      // Now and then the consumer is slow: the workers fill the window, leave, and are launched again.
      if (s % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      const auto lease = engine.next();
      ASSERT_TRUE(lease);
      const auto t = lease.step();
      ASSERT_EQ(lease->sum, 12 * t + 4 * (0 + 1 + 2) + 3 * (0 + 1 + 2 + 3));
    }
  };
  run(1000);
  const auto launches = engine.stats().launches;
  const auto before = allocations.load();
  run(2000);
  const auto counted = allocations.load() - before;
  const auto launched = engine.stats().launches - launches;
  EXPECT_EQ(counted, 0u) << launched << " launches";  // oneTBB reuses the memory of its tasks
  RecordProperty("allocations", static_cast<int>(counted));
  RecordProperty("launches", static_cast<int>(launched));
  std::printf("threads %u: %llu allocations, %llu launches in 2000 steps\n", GetParam(),
              static_cast<unsigned long long>(counted), static_cast<unsigned long long>(launched));
}

}  // namespace
}  // namespace headrace
