// The freeze test's common part: what was found, how the other threads' calls are counted, and a line that can be
// quoted.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/scheduler.hpp"

namespace headrace::test {

using Points = std::vector<std::uint64_t>;

/// Calls of the threads that were not frozen: how many returned, and how many accesses the longest one made. Counted by
/// several threads at once when a blocked run is let go.
struct CallCounts {
  std::atomic<std::uint64_t> calls{0}, longest{0};

  void add(std::uint64_t accesses) noexcept {
    ++calls;
    std::uint64_t most = longest;
    while (accesses > most && !longest.compare_exchange_weak(most, accesses)) {
    }
  }
};

struct FreezeVerdict {
  unsigned points = 0;  // accesses before which a victim did stop
  Points blocking;      // those at which the others could not go on
  std::uint64_t calls = 0;
  std::uint64_t longest = 0;

  void add(const CallCounts& counts) {
    calls += counts.calls;
    longest = std::max<std::uint64_t>(longest, counts.longest);
  }
};

/// Runs the calls of one thread and counts the accesses that each makes.
class Meter {
 public:
  Meter(Scheduler& scheduler, unsigned thread, CallCounts& counts)
      : scheduler_(&scheduler), thread_(thread), counts_(&counts) {}

  template <class Call>
  auto operator()(Call&& call) const {
    const std::uint64_t before = scheduler_->accesses(thread_);
    if constexpr (std::is_void_v<std::invoke_result_t<Call&>>) {
      call();
      counts_->add(scheduler_->accesses(thread_) - before);
    } else {
      auto result = call();
      counts_->add(scheduler_->accesses(thread_) - before);
      return result;
    }
  }

 private:
  Scheduler* scheduler_;
  unsigned thread_;
  CallCounts* counts_;
};

/// One line of the table of results: run the test program by hand, or ctest -V, to read it.
inline void print_verdict(const std::string& structure, const std::string& victims, const FreezeVerdict& verdict) {
  static const bool header = [] {
    std::printf("| %-22s | %-44s | points | blocked at | calls of the others | accesses of the longest |\n",
                "structure", "frozen");
    return true;
  }();
  static_cast<void>(header);
  std::string blocking;
  for (const std::uint64_t point : verdict.blocking) blocking += (blocking.empty() ? "" : ", ") + std::to_string(point);
  std::printf("| %-22s | %-44s | %6u | %10s | %19llu | %23llu |\n", structure.c_str(), victims.c_str(), verdict.points,
              blocking.empty() ? "nowhere" : blocking.c_str(), static_cast<unsigned long long>(verdict.calls),
              static_cast<unsigned long long>(verdict.longest));
}

}  // namespace headrace::test
