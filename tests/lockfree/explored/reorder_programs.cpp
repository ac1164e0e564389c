// ReorderRing, explored: publishers with given numbers, one consumer, stamps that wrap, and the race of two publishers
// and a revoker for one place.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/lockfree/reorder_ring.hpp"
#include "support/explored_programs.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {
namespace {

constexpr std::uint64_t near_the_wrap = (std::uint64_t{1} << 47) - 2;

// Publisher t makes the numbers t, t + publishers, ... and tries until the window reaches them.
ExploredProgram in_order(std::size_t capacity, unsigned publishers, std::uint64_t numbers, bool looks_first) {
  return {"ReorderRing",
          "capacity " + std::to_string(capacity) + ", " + std::to_string(publishers) + " publishers, " +
              std::to_string(numbers) + " numbers" + (looks_first ? ", ready() first" : ""),
          [=](Execution& run) {
            ReorderRing<Watched, ExploredAtomic> ring(capacity, near_the_wrap);
            std::array<RaceCell<std::uint64_t>, 8> made;  // what a consumer may use as soon as it is ready
            for (unsigned t = 0; t < publishers; ++t) {
              run.spawn([&, t] {
                for (std::uint64_t s = t; s < numbers; s += publishers) {
                  made[s].write(s);
                  while (!ring.publish(near_the_wrap + s, Watched(s * 7))) Execution::pass();
                }
              });
            }
            run.spawn([&] {
              for (std::uint64_t s = 0; s < numbers;) {
                if (looks_first && !ring.ready()) {
                  Execution::pass();
                  continue;
                }
                if (looks_first && made[s].read() != s) run.fail("ready without what was made");
                const auto value = ring.try_take();
                if (!value) {
                  if (looks_first) run.fail("ready and then not");
                  Execution::pass();
                } else if (value->value() != s++ * 7) {
                  run.fail("out of order");
                }
              }
              if (ring.try_take()) run.fail("more than was published");
            });
            run.run();
          },
          publishers == 1 && numbers == 1};
}

// Both publishers write a plain result before they publish; the winner's is the consumer's.
ExploredProgram first_wins(bool revokes) {
  return {"ReorderRing", std::string("two publishers of one number, ") + (revokes ? "revoked" : "taken"),
          [=](Execution& run) {
            ReorderRing<std::uint16_t, ExploredAtomic> ring(1, near_the_wrap + 1);
            RaceCell<int> results[4];
            std::optional<std::uint16_t> got[2];
            bool won[4] = {};
            for (unsigned t = 0; t < 2; ++t) {
              run.spawn([&, t] {
                for (unsigned i = 0; i < 2; ++i) {
                  results[2 * i + t].write(5);
                  won[2 * i + t] = ring.publish_first(near_the_wrap + 1 + i, static_cast<std::uint16_t>(t));
                }
              });
            }
            run.spawn([&] {
              for (unsigned i = 0; i < 2; ++i) {
                if (revokes) {
                  got[i] = ring.revoke();
                } else {
                  // The place of the second number opens when the first is taken; perhaps too late for both.
                  for (int look = 0; look < 3 && !got[i]; ++look) {
                    got[i] = ring.try_take();
                  }
                  if (!got[i]) return;
                }
                if (got[i] && results[2 * i + *got[i]].read() != 5) run.fail("the value without its result");
              }
            });
            if (run.run() != Execution::Outcome::finished) return;
            for (unsigned i = 0; i < 2; ++i) {
              if (won[2 * i] && won[2 * i + 1]) run.fail("both won");
              if (got[i] && !won[2 * i + *got[i]]) run.fail("the loser's value");
              if (revokes && (won[2 * i] || won[2 * i + 1]) != got[i].has_value()) run.fail("won and revoked");
            }
          }};
}

const AddPrograms added{{
    in_order(1, 1, 1, false),
    in_order(2, 1, 1, true),
    in_order(1, 1, 4, false),
    in_order(1, 2, 4, false),
    in_order(2, 2, 5, true),
    in_order(2, 2, 6, false),
    in_order(3, 2, 7, false),
    in_order(2, 3, 6, false),
    first_wins(true),
    first_wins(false),
}};

}  // namespace
}  // namespace headrace::test
