// What needs a process of its own: use after fork(), and threads that cannot be created. (Label fork.)
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "headrace/runtime/engine.hpp"

namespace headrace {
namespace {

struct Counting {
  struct Slot {
    std::uint64_t value = 0;
  };
  unsigned bind(std::uint64_t s, Slot&) noexcept { return s < 100 ? 1 : 0; }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 1; }
  void part(std::uint64_t s, unsigned, unsigned, Slot& slot, PartInfo) noexcept { slot.value = s * 3; }
};
using E = Engine<Counting>;

// Runs `f` in a child that must end by itself within a minute; its exit status, or -1.
template <class F>
int in_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool delivers(E& engine) {
  for (std::uint64_t s = 0; s < 100; ++s) {
    const auto lease = engine.next();
    if (!lease || lease->value != s * 3) return false;
  }
  return !engine.next();
}

// First, while this process has not used oneTBB: the child is a fresh process.
TEST(Fork, A_Threads_that_cannot_be_created_are_not_promised) {
  EXPECT_EQ(in_child([] {
              std::uint64_t pages = 0;
              std::ifstream("/proc/self/statm") >> pages;
              const rlim_t now = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
              const rlimit limit{now + (40u << 20), now + (40u << 20)};  // room for a few stacks of 4 MB
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              E engine(Counting{}, {.threads = 64});
              if (engine.threads() >= 64) return 3;
              return delivers(engine) ? 0 : 4;
            }),
            0);
  EXPECT_EQ(in_child([] {
              std::uint64_t pages = 0;
              std::ifstream("/proc/self/statm") >> pages;
              const rlim_t now = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
              const rlimit limit{now + (3u << 20), now + (3u << 20)};  // none at all
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              E engine(Counting{}, {.threads = 2});
              if (engine.threads() != 0) return 3;
              return delivers(engine) ? 0 : 4;
            }),
            0);
}

TEST(Fork, B_An_engine_made_before_fork_is_refused_in_the_child) {
  for (unsigned threads : {0u, 2u}) {
    E engine(Counting{}, {.threads = threads});
    auto lease = engine.next();
    ASSERT_TRUE(lease);
    EXPECT_EQ(in_child([&] {
                const auto refused = [](auto&& call) {
                  try {
                    call();
                  } catch (const ForkError& error) {
                    return std::string(error.what()).find("fork") != std::string::npos;
                  }
                  return false;
                };
                if (!refused([&] { static_cast<void>(engine.next()); })) return 1;
                if (!refused([&] { static_cast<void>(engine.try_next()); })) return 2;
                if (!refused([&] { static_cast<void>(engine.next_for(std::chrono::seconds(1))); })) return 3;
                if (!refused([&] { engine.start(); })) return 4;
                if (!refused([&] { engine.restart([](Counting&) {}); })) return 5;
                engine.cancel();
                lease.release();
                return 0;
              }),
              0);
    EXPECT_TRUE(engine.next()) << "the parent's engine goes on";
  }
}

TEST(Fork, C_The_child_may_destroy_the_parents_engine_and_make_its_own) {
  auto engine = std::make_unique<E>(Counting{}, EngineOptions{.threads = 2});
  ASSERT_TRUE(engine->next());
  EXPECT_EQ(in_child([&] {
              engine.reset();
              E own(Counting{}, {.threads = 2});
              if (!delivers(own)) return 1;
              return in_child([&] {  // and so on
                try {
                  static_cast<void>(own.next());
                } catch (const ForkError&) {
                  return 0;
                }
                return 1;
              });
            }),
            0);
}

}  // namespace
}  // namespace headrace
