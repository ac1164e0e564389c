#include "headrace/lockfree/slab_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(SlabPool, Every_slab_once_and_then_none_for_every_size) {
  for (std::uint32_t n : {1u, 2u, 3u, 63u, 64u, 65u, 127u, 128u, 129u, 255u, 256u, 257u, 1000u}) {
    SlabPool pool(n);
    EXPECT_EQ(pool.capacity(), n);
    for (int lap = 0; lap < 3; ++lap) {
      std::set<std::uint32_t> got;
      while (const auto slab = pool.acquire()) {
        ASSERT_LT(*slab, n);
        ASSERT_TRUE(got.insert(*slab).second);
      }
      ASSERT_EQ(got.size(), n);
      ASSERT_EQ(pool.available(), 0u);
      for (const auto slab : got) pool.release(slab);
      ASSERT_EQ(pool.available(), n);
    }
  }
}

TEST(SlabPool, Sizes_that_make_no_sense_are_refused) {
  EXPECT_THROW(SlabPool(0), std::invalid_argument);
  EXPECT_THROW(SlabPool(SlabPool<>::max_slabs + 1), std::invalid_argument);
}

TEST(SlabPool, A_slab_has_one_holder_at_a_time_and_its_writes_are_seen_by_the_next) {
  SlabPool pool(3);
  std::uint64_t memory[3] = {};  // plain: the thread sanitizer checks the pool's orders
  std::atomic<std::uint64_t> total{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000;) {
          if (const auto slab = pool.acquire()) {
            ++memory[*slab];
            pool.release(*slab);
            ++total;
            ++i;
          } else {
            std::this_thread::yield();
          }
        }
      });
    }
  }
  EXPECT_EQ(memory[0] + memory[1] + memory[2], total);
}

}  // namespace
}  // namespace headrace
