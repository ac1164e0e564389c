// EventCount, explored: tokens that waiters sleep for, with an epoch that wraps. The condition itself is relaxed: all
// order comes from the event count. A sleep that nobody ends is a failure.
#include <cstdint>
#include <string>

#include "headrace/lockfree/event_count.hpp"
#include "support/explored_programs.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint32_t near_the_wrap = 0xFFFFFFFE;

// Each waiter takes a token; the notifiers make them.
ExploredProgram tokens(unsigned waiters, unsigned notifiers, bool all) {
  return {"EventCount",
          std::to_string(waiters) + " waiters, " + std::to_string(notifiers) + " notifiers, notify_" +
              (all ? "all" : "one"),
          [=](Execution& run) {
            EventCount<ExploredAtomic> events(near_the_wrap);
            ExploredAtomic<std::uint32_t> made{0};
            for (unsigned w = 0; w < waiters; ++w) {
              run.spawn([&] {
                for (;;) {
                  events.await([&]() noexcept { return made.load(relaxed) != 0; });
                  std::uint32_t have = made.load(relaxed);
                  while (have != 0) {
                    if (made.compare_exchange_strong(have, have - 1, relaxed, relaxed)) return;
                  }
                }
              });
            }
            for (unsigned n = 0; n < notifiers; ++n) {
              run.spawn([&, n] {
                for (unsigned i = n; i < waiters; i += notifiers) {
                  made.fetch_add(1, relaxed);
                  all ? events.notify_all() : events.notify_one();
                }
              });
            }
            if (run.run() != Execution::Outcome::finished) return;
            if (events.waiters() != 0) run.fail("an announcement was not ended");
            if (events.rescues() != 0) run.fail("a rescue without a lost wakeup");
          },
          waiters == 1 && notifiers == 1};
}

// A plain value, a relaxed flag, a notify: whoever was notified, or sees the flag after announcing itself, has both.
ExploredProgram carries(bool sleeps) {
  return {"EventCount", sleeps ? "what a notify carries to a sleeper" : "what a notify carries to an announcement",
          [=](Execution& run) {
            EventCount<ExploredAtomic> events(near_the_wrap);
            RaceCell<int> value;
            run.spawn([&] {
              value.write(3);
              events.notify_all();
            });
            run.spawn([&] {
              const auto key = events.prepare();
              if (key.epoch != near_the_wrap) {
                events.cancel();
                if (value.read() != 3) run.fail("an old value");
              } else if (!sleeps) {
                events.cancel();
              } else if (events.wait(key, std::chrono::milliseconds(50)) && value.read() != 3) {
                run.fail("an old value");
              }
            });
            run.run();
          }};
}

const AddPrograms added{{
    tokens(1, 1, false),
    tokens(1, 1, true),
    tokens(2, 1, false),
    tokens(2, 1, true),
    tokens(2, 2, false),
    tokens(3, 1, false),
    carries(false),
    carries(true),
}};

}  // namespace
}  // namespace headrace::test
