// Options, statistics and errors of an engine.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace headrace {

/// What shutting down left behind.
struct ShutdownReport {
  bool clean = true;        ///< nothing of the job runs any more
  unsigned steps_left = 0;  ///< steps that a thread is still inside; their slots live until it comes out
};

struct EngineOptions {
  unsigned threads = 0;  ///< worker threads; 0: everything runs in the consumer's calls, as plain loops
  unsigned window = 3;   ///< steps in flight, 1 to 65535
  unsigned hold = 2;     ///< leases the consumer may keep at once, at least 1
  unsigned spares = 0;   ///< slots more than window + hold, for steps that were cancelled while a thread was inside
  unsigned batch = 1;    ///< the most items a step can have
  unsigned span = 0;     ///< 0: delivered in order. Else completion order: the first step that is complete among the
                         ///< oldest one and the `span` after it; at most 256. Without workers the order stays strict
  bool help = true;      ///< the waiting consumer works on the step it waits for
  bool help_ahead =
      false;          ///< and, when all of that step is in other hands, on what comes next: more work is done, but
                      ///< a step that gets ready meanwhile waits for one part, or one item, of a later one
  bool steal = true;  ///< parts of one item run on several threads
  std::chrono::milliseconds shutdown_timeout = std::chrono::seconds(10);  ///< how long destruction waits for the job
  std::function<void(const ShutdownReport&)> on_detach{};  ///< called by the destructor when that was not enough
};

/// Snapshots of counters; exact when nothing runs.
struct EngineStats {
  unsigned threads = 0;  ///< workers that can really come, of those asked for
  std::uint64_t steps_delivered = 0;
  std::uint64_t steps_ahead = 0;   ///< of these, delivered before an older one (completion order)
  std::uint64_t parts_stolen = 0;  ///< run by another thread than the one that opened the item
  std::uint64_t helped = 0;        ///< items opened and parts run by the waiting consumer
  std::uint64_t last_resorts = 0;  ///< times the consumer worked because no worker ever came
  std::uint64_t launches = 0;      ///< workers asked of oneTBB
  std::uint64_t failed_launches = 0;
  std::uint64_t sleeps = 0;        ///< the consumer's sleeps
  std::uint64_t rescues = 0;       ///< wakeups that were lost and caught by a bounded sleep: must be 0
  unsigned window_high_water = 0;  ///< most steps in flight; never above `window`
  unsigned slots_high_water = 0;   ///< most slots in use; never above `window + hold + spares`
};

/// next() was called while `hold` leases were kept. Nothing was changed by the call.
class HoldError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What next_for() and try_next() found.
enum class NextStatus {
  ready,    ///< the lease is there
  pending,  ///< not yet
  end       ///< there are no more steps
};

}  // namespace headrace
