// The explorer: runs a program again and again, every time with other decisions, until one fails or the search is over.
//
//     DepthFirst everything;                       // or DepthFirst(3), Randomised(seed, length), Replay(choices)
//     const Exploration e = explore(everything, {.weak_memory = true}, program);
//     EXPECT_FALSE(e.failure) << e.failure->text();
//
// See execution.hpp for programs, choosers.hpp for the searches, memory_model.hpp for what the weak mode can see.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "support/choosers.hpp"
#include "support/execution.hpp"
#include "support/explored_atomic.hpp"

namespace headrace::test {

using Program = std::function<void(Execution&)>;

/// Why the explorer does not run in this build, or null. One thread of the operating system holds nothing for
/// ThreadSanitizer to see, and its record of every switch of stacks takes gigabytes.
#if defined(HEADRACE_TEST_TSAN)
inline constexpr const char* explorer_left_out = "explored programs run on one thread: nothing for ThreadSanitizer";
#else
inline constexpr const char* explorer_left_out = nullptr;
#endif

struct Failure {
  std::string what;
  std::uint64_t run = 0;   ///< its number, from 1
  std::uint64_t seed = 0;  ///< of a Randomised search, with its length
  Choices choices;         ///< replays it

  [[nodiscard]] std::string text() const {
    return what + " (run " + std::to_string(run) + ", seed " + std::to_string(seed) +
           "; replay: " + test::text(choices) + ")";
  }
};

struct Exploration {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::uint64_t expired = 0;  ///< sleeps that only time ended
  bool complete = false;      ///< nothing is left within the search's bounds
  std::optional<Failure> failure;
};

/// At most `most_runs` runs; stops at the first failure.
inline Exploration explore(Chooser& chooser, const ExploreLimits& limits, const Program& program,
                           std::uint64_t most_runs = ~std::uint64_t{0}) {
  Exploration e;
  while (e.runs < most_runs && chooser.begin()) {
    Execution run(chooser, limits);
    program(run);
    ++e.runs;
    e.steps += run.steps();
    e.expired += run.expired();
    if (!run.failed()) continue;
    e.failure = Failure{run.failure(), e.runs, chooser.seed(), run.choices()};
    return e;
  }
  e.complete = chooser.complete();
  return e;
}

/// How many decisions a run has, from one run without a switch; for Randomised.
inline unsigned length_of(const Program& program, const ExploreLimits& limits = {}) {
  Replay nothing{{}};
  return static_cast<unsigned>(explore(nothing, limits, program).steps);
}

/// What happened in a run, access by access.
inline std::string trace_of(const Program& program, const ExploreLimits& limits, const Choices& choices) {
  Replay replay(choices);
  replay.begin();
  Execution run(replay, limits);
  run.keep_trace();
  program(run);
  return run.trace() + (run.failed() ? run.failure() : std::string("no failure")) + "\n";
}

}  // namespace headrace::test
