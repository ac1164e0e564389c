// SlabPool, explored: fewer slabs than threads, in one word and in two; each holder writes plain memory.
#include <array>
#include <cstdint>
#include <string>

#include "headrace/lockfree/slab_pool.hpp"
#include "support/explored_programs.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {
namespace {

// A pool of `count` slabs of which all but the two around the edge of a word are taken.
ExploredProgram holders(std::uint32_t count, unsigned threads, unsigned rounds) {
  return {
      "SlabPool",
      std::to_string(count) + " slabs, " + std::to_string(threads) + " threads, " + std::to_string(rounds) + " rounds",
      [=](Execution& run) {
        SlabPool<ExploredAtomic> pool(count);
        for (std::uint32_t i = 0; i < count; ++i) static_cast<void>(pool.acquire());
        const std::uint32_t first = count - 2;
        pool.release(first);
        pool.release(first + 1);
        std::array<RaceCell<unsigned>, 2> memory;
        std::array<int, 2> holder{};
        for (unsigned t = 0; t < threads; ++t) {
          run.spawn([&, t] {
            for (unsigned i = 0; i < rounds;) {
              const auto slab = pool.acquire();
              if (!slab) {
                Execution::pass();
                continue;
              }
              const std::uint32_t own = *slab - first;
              if (holder[own]++ != 0) run.fail("two holders");
              memory[own].write(t);
              if (memory[own].read() != t) run.fail("another one wrote");
              --holder[own];
              pool.release(*slab);
              ++i;
            }
          });
        }
        if (run.run() == Execution::Outcome::finished && pool.available() != 2) run.fail("a slab is lost");
      },
      threads == 2 && rounds == 1};
}

// Empty means empty: with a slab for everyone nobody is refused.
ExploredProgram enough(unsigned threads) {
  return {"SlabPool", "a slab for each of " + std::to_string(threads),
          [=](Execution& run) {
            SlabPool<ExploredAtomic> pool(threads);
            for (unsigned t = 0; t < threads; ++t) {
              run.spawn([&] {
                for (int i = 0; i < 2; ++i) {
                  const auto slab = pool.acquire();
                  if (!slab) return run.fail("refused though a slab is free");
                  pool.release(*slab);
                }
              });
            }
            run.run();
          },
          false, false};  // with weak memory an old bitmap may look empty
}

const AddPrograms added{{
    holders(2, 2, 1),
    holders(65, 2, 1),
    holders(2, 2, 3),
    holders(2, 3, 2),
    holders(65, 3, 2),
    holders(130, 3, 2),
    enough(2),
    enough(3),
}};

}  // namespace
}  // namespace headrace::test
