// A loader made before fork() refuses to work in the child, and harms neither of the two.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/runtime/fork_guard.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>

#include "support/volumes.hpp"

namespace headrace::test {
namespace {

Pipeline pipeline() {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 6, .num_samples = 3}));
}

// Runs f in a child; its exit code, or -1 when it did not end by itself within 20 s.
template <class F>
int in_child(F&& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    int code = 99;
    try {
      code = f();
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
template <class F>
bool refuses(F&& f) {
  try {
    f();
  } catch (const ForkError& e) {
    return std::string(e.what()).find("fork") != std::string::npos;
  }
  return false;
}

TEST(LoaderFork, TheChildIsRefusedAndTheParentGoesOn) {
  const auto reference = digests(MemoryDataset(coded_samples(9)), pipeline(), {.threads = 0}, 3);
  for (const unsigned threads : {0u, 1u, 4u}) {
    auto loader =
        std::make_unique<Loader>(MemoryDataset(coded_samples(9)), pipeline(), LoaderOptions{.threads = threads});
    DigestChain chain;
    chain.add(*loader->next());
    auto held = loader->next();
    chain.add(*held);
    const int code = in_child([&] {
      if (!refuses([&] { (void)loader->next(); })) return 1;
      if (!refuses([&] { (void)loader->try_next(); })) return 2;
      if (!refuses([&] { (void)loader->next_for(std::chrono::milliseconds(10)); })) return 3;
      if (!refuses([&] {
            for (Batch& b : loader->epoch(0)) (void)b;
          }))
        return 4;
      if (held->origin(0).index != 1) return 5;  // what was delivered can be read
      held.reset();
      loader.reset();  // and everything let go of
      // A loader of the child's own.
      for (const unsigned own : {0u, 2u})
        if (digests(MemoryDataset(coded_samples(9)), pipeline(), {.threads = own}, 3) != reference) return 6;
      const CacheDataset cache(MemoryDataset(coded_samples(9)), Pipeline());
      if (!cache.fill(2).empty()) return 7;
      return 0;
    });
    EXPECT_EQ(code, 0) << "threads " << threads;
    held.reset();
    while (const auto b = loader->next()) chain.add(*b);
    EXPECT_EQ(chain.ordered().hex(), reference[0]);
  }
}

TEST(LoaderFork, InTheMiddleOfALoopTheRangeIsDroppedQuietly) {
  Loader loader(MemoryDataset(coded_samples(9)), pipeline(), {.threads = 2});
  const int code = in_child([&] { return 0; });
  EXPECT_EQ(code, 0);
  int steps = 0, child = -1;
  for (Batch& b : loader.epoch(0)) {
    if (b.step() == 3) {
      child = ::fork();
      if (child == 0) {
        ::alarm(20);
        break;  // the range's destructor runs in the child
      }
    }
    ++steps;
  }
  if (child == 0) ::_exit(steps == 3 ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(steps, 9);
}

}  // namespace
}  // namespace headrace::test
