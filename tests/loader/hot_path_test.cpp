// The hot path, counted: what happens per step in the steady state. Prints a table; the counters are shown to see what
// they should by planting each fault in an op.
//
// A round is a number of steps. Workers "stay busy" in a round when neither in it nor in the rounds before and after it
// one was started (a worker that leaves is started again by the next step) or the consumer slept.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/runtime/worker_arena.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

#if defined(HEADRACE_TEST_SANITIZED)

TEST(HotPath, Counted) {
  GTEST_SKIP() << "sanitizers have an allocator, locks and page faults of their own: the other presets count";
}

#else

#include <linux/futex.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "support/hot_path.hpp"

namespace headrace::test {
namespace {

using namespace std::chrono_literals;

struct Round {
  HotPathCounts counts;
  std::uint64_t launches = 0, sleeps = 0;
  bool busy() const noexcept { return launches + sleeps == 0; }
};

struct Measured {
  std::vector<Round> rounds;
  std::uint64_t steps_per_round = 0;

  Round all() const {
    Round sum;
    for (const Round& r : rounds) {
      sum.counts += r.counts;
      sum.launches += r.launches;
      sum.sleeps += r.sleeps;
    }
    return sum;
  }
  // Were there no page faults in the last rounds? A worker that comes late touches its stack and oneTBB's memory for
  // it.
  static constexpr std::ptrdiff_t settled = 6;
  bool has_settled() const {
    return std::ssize(rounds) >= settled &&
           std::all_of(rounds.end() - settled, rounds.end(), [](const Round& r) { return r.counts.page_faults == 0; });
  }
  // The rounds in which the workers stayed busy.
  std::vector<Round> busy() const {
    std::vector<Round> some;
    for (std::size_t i = 1; i + 1 < rounds.size(); ++i)
      if (rounds[i - 1].busy() && rounds[i].busy() && rounds[i + 1].busy()) some.push_back(rounds[i]);
    return some;
  }
};

Dataset cached() {
  return CacheDataset(MemoryDataset(coded_samples(12)), compose(FgBgToIndices({.label_key = "label"})));
}

// The random part of a real job, small; `extra` runs last.
Pipeline job(const Transform& extra = [](Sample&) {}) {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 8, .num_samples = 4}),
                 RandAffine({.prob = 0.5, .rotate_range = {0.3, 0.3, 0.3}}),
                 RandFlip({.prob = 0.5, .spatial_axis = {0}}), extra);
}

// Rounds of `steps` steps, over epoch boundaries, after a warm-up; `trainer` is what the consumer does with a batch.
// Stops after `most` rounds, or when `enough` says so.
template <class Trainer, class Enough>
Measured measure(Loader& loader, std::uint64_t steps, std::size_t most, Trainer&& trainer, Enough&& enough) {
  Measured m{.rounds = {}, .steps_per_round = steps};
  m.rounds.reserve(most);
  std::uint32_t epoch = 0;
  float sum = 0;
  const auto step = [&] {
    std::optional<Batch> batch = loader.next();
    while (!batch) {
      // Chooses the epoch that is being prefetched already.
      static_cast<void>(loader.epoch(++epoch));
      batch = loader.next();
    }
    const Tensor image = (*batch)["image"], label = (*batch)["label"];
    sum += *image.data<float>();
    trainer();
  };
  for (int i = 0; i < 300; ++i) step();
  while (m.rounds.size() < most && !enough(m)) {
    const EngineStats before = loader.stats().engine;
    const HotPathCounts counts = hot_path_counts();
    for (std::uint64_t i = 0; i < steps; ++i) step();
    Round round{.counts = hot_path_counts() - counts};
    const EngineStats after = loader.stats().engine;
    round.launches = after.launches - before.launches;
    round.sleeps = after.sleeps - before.sleeps;
    m.rounds.push_back(round);
  }
  EXPECT_NE(sum, 0.0f);
  return m;
}

void print_head() {
  std::printf("%-44s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s\n", "per step", "steps", "started", "sleeps", "locks",
              "heap B", "scal. B", "mapping", "faults", "futex", "switch");
}
void print(const char* what, std::uint64_t steps, const Round& r) {
  const auto per_step = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(steps); };
  std::printf("%-44s %7llu %7.3f %7.3f %7.3f %7.1f %7.2f %7.3f %7.3f %7.3f %7.3f\n", what,
              static_cast<unsigned long long>(steps), per_step(r.launches), per_step(r.sleeps),
              per_step(r.counts.locks), per_step(r.counts.heap_bytes), per_step(r.counts.scalable_bytes),
              per_step(r.counts.mapping_calls), per_step(r.counts.page_faults), per_step(r.counts.futex()),
              per_step(r.counts.voluntary_switches));
}

// What holds in every steady state, also where workers come and go.
void expect_no_lock_and_no_memory(const Round& r, const std::string& what) {
  EXPECT_EQ(r.counts.locks, 0u) << what;
  EXPECT_EQ(r.counts.heap_bytes, 0u) << what << ": " << r.counts.heap_calls << " requests";
  EXPECT_EQ(r.counts.mapping_calls, 0u) << what;
}

// Ends the threads of the test before: one that goes to sleep late would be counted here.
void begin_quietly() {
  const auto limit = std::chrono::steady_clock::now() + 30s;
  while (!shutdown()) {  // a launch that has not started yet
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::sleep_for(1ms);
  }
}

class HotPathOn : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, HotPathOn, testing::Values(0u, 1u, 2u));

TEST_P(HotPathOn, Nothing_at_all_happens_while_the_workers_stay_busy) {
  const Deadline deadline;
  for (const bool in_sequence : {true, false}) {
    const std::string what =
        "threads " + std::to_string(GetParam()) + (in_sequence ? ", in sequence" : ", completion order");
    begin_quietly();
    Loader loader(cached(), job(),
                  {.batch_size = 3,
                   .shuffle = true,
                   .threads = GetParam(),
                   .window = 64,
                   .order = in_sequence ? Order(Sequence{}) : Order(Completion{4})});
    const Measured m = measure(
        loader, 16, 4000, [] {},
        [](const Measured& so_far) {
          return so_far.rounds.size() >= 80 && so_far.rounds.size() % 20 == 0 && so_far.busy().size() >= 5;
        });
    const std::vector<Round> busy = m.busy();
    ASSERT_GE(busy.size(), 5u) << what << ": the machine is so busy that the workers never stayed";
    Round sum;
    for (const Round& r : busy) {
      sum.counts += r.counts;
      expect_no_lock_and_no_memory(r, what);
      EXPECT_EQ(r.counts.page_faults, 0u) << what;
      EXPECT_EQ(r.counts.scalable_bytes, 0u) << what;
      EXPECT_EQ(r.counts.futex(), 0u) << what;
    }
    print_head();
    print((what + ", workers busy").c_str(), busy.size() * m.steps_per_round, sum);
    print((what + ", all rounds").c_str(), m.rounds.size() * m.steps_per_round, m.all());
  }
}

TEST_P(HotPathOn, Coming_and_going_costs_two_futex_calls_a_worker_and_two_a_sleep) {
  const Deadline deadline;
  const unsigned threads = GetParam();
  print_head();
  const auto check = [&](const std::string& name, Loader& loader, auto&& trainer) {
    const std::string what = "threads " + std::to_string(threads) + ", " + name;
    Measured m = measure(loader, 50, 100, trainer, [](const Measured& so_far) { return so_far.has_settled(); });
    EXPECT_TRUE(m.has_settled()) << what << ": fresh pages again and again";
    m.rounds.erase(m.rounds.begin(), m.rounds.end() - Measured::settled);
    const Round all = m.all();
    const std::uint64_t steps = m.rounds.size() * m.steps_per_round;
    print(what.c_str(), steps, all);
    expect_no_lock_and_no_memory(all, what);
    EXPECT_LE(all.counts.futex(), 2 * all.launches + 2 * steps) << what;
    // oneTBB keeps what is enqueued in std::deques, which ask for a chunk of 64 pointers as the queue moves on and give
    // one back: 8 bytes a worker started.
    constexpr std::uint64_t chunk = 512, lanes = 4;
    EXPECT_LE(all.counts.scalable_bytes, 8 * all.launches + lanes * chunk) << what;
  };
  {
    begin_quietly();
    Loader loader(cached(), job(), {.batch_size = 3, .threads = threads, .window = 4});
    check("slow trainer: workers leave, come back", loader, [] { std::this_thread::sleep_for(1ms); });
  }
  {
    begin_quietly();
    const auto slow = [](Sample&) { std::this_thread::sleep_for(200us); };
    Loader loader(cached(), job(slow), {.batch_size = 1, .threads = threads, .window = 4, .help = threads == 0});
    check("slow items: the consumer sleeps", loader, [] {});
  }
}

// ---- The test can fail: each fault planted in an op is seen, once per part
// --------------------------------------------

HotPathCounts with_fault(const Transform& fault) {
  Loader loader(cached(), job(fault), {.batch_size = 3, .threads = 1, .window = 4});
  return measure(
             loader, 10, 1, [] {}, [](const Measured&) { return false; })
      .all()
      .counts;
}
constexpr std::uint64_t parts = 10 * 3 * 4 / 2;  // at least: steps x items x patches, less what was made before

TEST(HotPathFaults, A_planted_lock_is_seen) {
  static std::mutex mutex;
  const Round round{.counts = with_fault([](Sample&) { const std::lock_guard lock(mutex); })};
  EXPECT_GE(round.counts.locks, parts);
  EXPECT_NONFATAL_FAILURE(expect_no_lock_and_no_memory(round, "planted"), "locks");
}
TEST(HotPathFaults, A_planted_allocation_is_seen) {
  const Round round{.counts = with_fault([](Sample&) {
                      void* volatile p = ::operator new(100);
                      ::operator delete(p);
                    })};
  EXPECT_GE(round.counts.heap_bytes, parts * 100);
  EXPECT_NONFATAL_FAILURE(expect_no_lock_and_no_memory(round, "planted"), "heap_bytes");
  const auto aligned = [](Sample&) {
    void* volatile p = std::aligned_alloc(64, 128);
    std::free(p);
  };
  EXPECT_GE(with_fault(aligned).heap_bytes, parts * 128);
}
TEST(HotPathFaults, A_planted_request_to_the_scalable_allocator_is_seen) {
  const auto fault = [](Sample&) {
    tbb::cache_aligned_allocator<char> allocator;
    allocator.deallocate(allocator.allocate(100), 100);
  };
  const HotPathCounts counts = with_fault(fault);
  EXPECT_GE(counts.scalable_bytes + counts.heap_bytes, parts * 100)
      << "where oneTBB's allocator is absent it uses malloc";
  if (counts.scalable_bytes == 0) std::printf("oneTBB's scalable allocator is not there: malloc stands for it\n");
}
TEST(HotPathFaults, A_planted_mapping_and_a_fresh_page_are_seen) {
  const auto fault = [](Sample&) {
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
    ::munmap(page, 4096);
  };
  const HotPathCounts counts = with_fault(fault);
  EXPECT_GE(counts.mapping_calls, 2 * parts);
  EXPECT_GE(counts.page_faults, parts);
}
TEST(HotPathFaults, A_planted_futex_call_and_a_sleep_are_seen) {
  const auto wake = [](Sample&) {
    static std::uint32_t word = 0;
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  };
  EXPECT_GE(with_fault(wake).futex_wakes, parts);
  const auto sleep = [](Sample&) { std::this_thread::sleep_for(50us); };
  EXPECT_GE(with_fault(sleep).voluntary_switches, parts / 2);
}

}  // namespace
}  // namespace headrace::test

#endif
