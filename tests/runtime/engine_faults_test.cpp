// Faults that users of thread pools reported: a loop inside a loop whose waiting thread starts an outer item, consumers
// and leases on threads that come and go. Each is seen to fail when its fault is planted: tools/plant_faults.
#include <gtest/gtest.h>
#include <oneapi/tbb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "headrace/runtime/engine.hpp"
#include "support/deadline.hpp"

namespace headrace {
namespace {

// Parts that run a loop of their own without isolation, as a transform of a user would. A thread that waits for its
// loop must not begin another part of ours: a part may hold a scratch buffer, a lease or the user's lock.
struct Nested {
  struct Slot {
    std::atomic<std::uint64_t> sum{0};
  };
  std::uint64_t steps = 0;
  std::atomic<int>* reentered = nullptr;

  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    slot.sum = 0;
    return s < steps ? 3 : 0;
  }
  unsigned open(std::uint64_t, unsigned i, Slot&) noexcept { return i == 2 ? 0 : 4; }
  void part(std::uint64_t s, unsigned, unsigned, Slot& slot, PartInfo) noexcept {
    static thread_local bool inside = false;
    if (std::exchange(inside, true)) ++*reentered;
    tbb::parallel_for(
        0, 8,
        [&](int j) {
          // Long enough for others to come for the rest, so that somebody has to wait.
          std::this_thread::sleep_for(std::chrono::microseconds(20));
          slot.sum += static_cast<unsigned>(j) + s % 2;
        },
        tbb::simple_partitioner());
    inside = false;
  }
};

TEST(EngineFaults, A_part_that_waits_for_its_own_loop_begins_no_other_part) {
  const test::Deadline deadline;
  for (const unsigned threads : {0u, 1u, 2u, 4u}) {
    for (const bool help : {true, false}) {
      std::atomic<int> reentered{0};
      const auto steps = static_cast<std::uint64_t>(test::scaled(60));
      Engine<Nested> engine(Nested{steps, &reentered}, {.threads = threads, .window = 1, .batch = 3, .help = help});
      std::uint64_t got = 0;
      while (const auto lease = engine.next()) {
        ASSERT_EQ(lease->sum, 2u * 4u * (28u + 8u * (lease.step() % 2)));
        ++got;
        // The workers have left when the next step begins: they are started anew, some by a worker about to wait.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      EXPECT_EQ(got, steps);
      EXPECT_EQ(reentered, 0);
    }
  }
}

struct Counting {
  struct Slot {
    std::uint64_t value = 0;
  };
  std::uint64_t steps = 0;
  unsigned bind(std::uint64_t s, Slot&) noexcept { return s < steps ? 1 : 0; }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 2; }
  void part(std::uint64_t s, unsigned, unsigned k, Slot& slot, PartInfo) noexcept {
    if (k == 0) slot.value = s * 3;
  }
};

// Every next() and every release is made by a thread of its own, which then ends.
TEST(EngineFaults, Consumers_that_come_and_go_get_every_step_and_leave_nothing_behind) {
  const test::Deadline deadline;
  for (const bool help : {true, false}) {
    const auto steps = static_cast<std::uint64_t>(test::scaled(1500));
    Engine<Counting> engine(Counting{steps}, {.threads = 2, .window = 3, .batch = 1, .help = help});
    std::uint64_t got = 0;
    for (bool end = false; !end;) {
      Engine<Counting>::Lease lease;
      std::thread([&] {
        lease = engine.next();
        end = !lease;
        if (!end && lease->value == lease.step() * 3 && lease.step() == got) ++got;
      }).join();
      std::thread([&] { lease.release(); }).join();
    }
    EXPECT_EQ(got, steps);
    const EngineStats stats = engine.stats();
    EXPECT_LE(stats.slots_high_water, 3u + 2u + 1u);
    EXPECT_EQ(stats.rescues, 0u);
  }
}

}  // namespace
}  // namespace headrace
