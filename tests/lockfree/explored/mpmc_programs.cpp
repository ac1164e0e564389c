// MpmcRing, explored: short programs on rings of 1 to 3 places that start at the edge of a lap, with an index of 8 bits
// of cycle that wraps on the way.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "lockfree/explored/queue_recorder.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

using Queue = MpmcRing<Watched, std::uint16_t, ExploredAtomic>;
constexpr std::uint16_t near_the_wrap = 0xFE;

struct Shape {
  std::size_t capacity;
  std::size_t offset;  // elements that have already gone through
  std::size_t filled;  // elements inside
};

// One letter per call: p push, o pop, c close, d drained.
void calls(Queue& queue, QueueRecorder& record, const char* plan, std::uint64_t base) {
  for (std::uint64_t i = 0; plan[i] != 0; ++i) {
    switch (plan[i]) {
      case 'p':
        record.push(queue, base + i);
        break;
      case 'o':
        record.pop(queue);
        break;
      case 'c':
        record.close(queue);
        break;
      default:
        record.drained(queue);
        break;
    }
  }
}

std::string name_of(const Shape& shape, const std::vector<const char*>& plans) {
  std::string name = "capacity " + std::to_string(shape.capacity) + ", " + std::to_string(shape.offset) + " gone, " +
                     std::to_string(shape.filled) + " inside:";
  for (const char* plan : plans) name += std::string(" ") + plan;
  return name;
}

ExploredProgram program(Shape shape, std::vector<const char*> plans) {
  bool small = plans.size() == 2;
  for (const char* plan : plans) small = small && plan[1] == 0;
  return {"MpmcRing", name_of(shape, plans),
          [shape, plans, good = std::make_shared<GoodHistories>()](Execution& run) {
            Queue queue(shape.capacity, near_the_wrap);
            QueueRecorder record(run);
            for (std::uint64_t i = 0; i < shape.offset; ++i) calls(queue, record, "po", 100 + 2 * i);
            for (std::uint64_t i = 0; i < shape.filled; ++i) record.push(queue, 200 + i);
            for (std::size_t t = 0; t < plans.size(); ++t)
              run.spawn([&, t] { calls(queue, record, plans[t], 10 * t); });
            if (run.run() == Execution::Outcome::finished) record.judge(queue, shape.capacity, *good);
          },
          small};
}

// The victim stops before one of its accesses, whichever; the others come to their end all the same (capacity 2 or
// more, one victim), and so does the victim afterwards.
ExploredProgram freeze(Shape shape, std::vector<const char*> plans, unsigned accesses) {
  return {"MpmcRing",
          "frozen, " + name_of(shape, plans),
          [shape, plans, accesses, good = std::make_shared<GoodHistories>()](Execution& run) {
            Queue queue(shape.capacity, near_the_wrap);
            QueueRecorder record(run);
            for (std::uint64_t i = 0; i < shape.offset; ++i) calls(queue, record, "po", 100 + 2 * i);
            for (std::uint64_t i = 0; i < shape.filled; ++i) record.push(queue, 200 + i);
            const unsigned victim = run.spawn([&] { calls(queue, record, plans[0], 0); });
            for (std::size_t t = 1; t < plans.size(); ++t)
              run.spawn([&, t] { calls(queue, record, plans[t], 10 * t); });
            run.freeze(victim, run.choose(accesses));
            if (run.run() != Execution::Outcome::finished) return;
            run.thaw();
            if (run.run() == Execution::Outcome::finished) record.judge(queue, shape.capacity, *good);
          },
          false,
          false,
          2'000};
}

// What was done before the close is there for whoever is refused or told the end.
ExploredProgram close_carries(std::uint64_t filled) {
  return {"MpmcRing", "what came before the close, " + std::to_string(filled) + " inside", [=](Execution& run) {
            Queue queue(2, near_the_wrap);
            for (std::uint64_t i = 0; i < filled; ++i) static_cast<void>(queue.try_push(Watched(i)));
            RaceCell<int> reason;
            run.spawn([&] {
              reason.write(7);
              queue.close();
            });
            run.spawn([&] {
              if (queue.try_push(Watched(10)) == PushResult::closed && reason.read() != 7) run.fail("no reason");
            });
            run.spawn([&] {
              if (queue.drained() && reason.read() != 7) run.fail("no reason");
              if (queue.closed() && reason.read() != 7) run.fail("no reason");
            });
            run.run();
          }};
}

const AddPrograms added{{
    close_carries(0),
    close_carries(1),
    program({1, 0, 0}, {"p", "p"}),
    program({1, 0, 0}, {"p", "o"}),
    program({1, 1, 1}, {"p", "o"}),
    program({1, 1, 1}, {"o", "o"}),
    program({1, 1, 0}, {"p", "c"}),
    program({2, 1, 0}, {"p", "p"}),
    program({2, 1, 1}, {"p", "o"}),
    program({2, 1, 2}, {"p", "o"}),
    program({2, 2, 2}, {"o", "o"}),
    program({3, 2, 1}, {"p", "o"}),
    program({3, 3, 0}, {"p", "c"}),
    program({1, 0, 0}, {"popo", "popo"}),
    program({1, 1, 0}, {"pp", "oo", "po"}),
    program({1, 2, 1}, {"op", "op", "op"}),
    program({1, 1, 0}, {"ppc", "od", "od"}),
    program({2, 1, 0}, {"pppp", "oooo"}),
    program({2, 1, 1}, {"popo", "opop"}),
    program({2, 1, 0}, {"ppp", "ppo", "ooo"}),
    program({2, 2, 2}, {"opo", "opo", "pop"}),
    program({2, 1, 1}, {"ppc", "od", "pod"}),
    program({3, 2, 0}, {"pppp", "popo"}),
    program({3, 2, 0}, {"ppp", "ppp", "ooo"}),
    program({3, 2, 2}, {"popo", "opop", "po"}),
    program({3, 3, 1}, {"pppc", "ood", "pd"}),
    freeze({2, 1, 0}, {"po", "popo", "po"}, 14),
    freeze({2, 2, 1}, {"op", "opop", "op"}, 14),
    freeze({3, 2, 1}, {"po", "ppoo", "op"}, 14),
    freeze({3, 3, 0}, {"ppo", "popopopo"}, 20),
}};

}  // namespace
}  // namespace headrace::test
