// Blocking<MpmcRing> and Blocking<SpscRing>, explored: pushes and pops that sleep at once when they cannot go on,
// close, cancel. A sleep that nobody ends is a failure.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "headrace/lockfree/blocking.hpp"
#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "lockfree/explored/queue_recorder.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

using Mpmc = Blocking<MpmcRing<Watched, std::uint64_t, ExploredAtomic>, ExploredAtomic>;
using Spsc = Blocking<SpscRing<Watched, ExploredAtomic>, ExploredAtomic>;
using Kind = QueueOp::Kind;
constexpr BlockingOptions sleeps_at_once{.spins = 0, .yields = 0, .wake_interval = std::chrono::nanoseconds(0)};

// One letter per call: P push, O pop (both wait), p try_push, o try_pop, c close, x cancel, a all that comes (pops
// until the end).
template <class Queue>
void calls(Queue& queue, QueueRecorder& record, const char* plan, std::uint64_t base) {
  for (std::uint64_t i = 0; plan[i] != 0; ++i) {
    switch (plan[i]) {
      case 'P':
        record.record([&] { return record.pushed(queue.push(Watched(base + i)), base + i); });
        break;
      case 'O':
        record.record([&] { return record.popped(queue.pop(), Kind::drained); });
        break;
      case 'p':
        record.push(queue, base + i);
        break;
      case 'o':
        record.pop(queue);
        break;
      case 'c':
        record.close(queue);
        break;
      case 'x':
        queue.cancel();
        break;
      default:
        while (record.record([&] { return record.popped(queue.pop(), Kind::drained); }) == Kind::popped) continue;
    }
  }
}

template <class Queue>
ExploredProgram program(std::size_t capacity, std::vector<const char*> plans) {
  std::string name = "capacity " + std::to_string(capacity) + ":";
  bool small = plans.size() == 2, cancels = false;
  for (const char* plan : plans) {
    name += std::string(" ") + plan;
    small = small && plan[1] == 0;
    cancels = cancels || std::string(plan).find('x') != std::string::npos;
  }
  return {std::is_same_v<Queue, Mpmc> ? "Blocking<MpmcRing>" : "Blocking<SpscRing>", name,
          [=, good = std::make_shared<GoodHistories>()](Execution& run) {
            Queue queue(capacity, sleeps_at_once);
            QueueRecorder record(run);
            for (std::size_t i = 0; i < capacity; ++i) calls(queue, record, "po", 100 + 2 * i);  // the edge of a lap
            for (std::size_t t = 0; t < plans.size(); ++t)
              run.spawn([&, t] { calls(queue, record, plans[t], 10 * t); });
            if (run.run() != Execution::Outcome::finished) return;
            if (queue.rescues() != 0) run.fail("a rescue without a lost wakeup");
            if (!cancels) record.judge(queue, capacity, *good);  // after a cancel elements may be left
          },
          small};
}

// What was done before the cancel is there for whoever is told the end.
template <class Queue>
ExploredProgram cancel_carries(bool pushes) {
  return {std::is_same_v<Queue, Mpmc> ? "Blocking<MpmcRing>" : "Blocking<SpscRing>",
          std::string("what came before the cancel, ") + (pushes ? "push" : "pop"), [=](Execution& run) {
            Queue queue(1, sleeps_at_once);
            RaceCell<int> reason;
            if (pushes) static_cast<void>(queue.push(Watched(1)));
            run.spawn([&] {
              reason.write(7);
              queue.cancel();
            });
            run.spawn([&] {
              const bool end = pushes ? queue.push(Watched(2)) == PushResult::closed : !queue.pop();
              if (!end || reason.read() != 7) run.fail("no end, or no reason");
            });
            run.run();
          }};
}

const AddPrograms mpmc{{
    cancel_carries<Mpmc>(false),
    cancel_carries<Mpmc>(true),
    program<Mpmc>(1, {"P", "O"}),
    program<Mpmc>(2, {"P", "O"}),
    program<Mpmc>(1, {"O", "c"}),
    program<Mpmc>(1, {"O", "x"}),
    program<Mpmc>(1, {"PPP", "OOO"}),
    program<Mpmc>(2, {"PPPP", "OOOO"}),
    program<Mpmc>(1, {"PP", "PP", "OOOO"}),
    program<Mpmc>(1, {"PPPP", "OO", "OO"}),
    program<Mpmc>(2, {"PPP", "O", "OO"}),
    program<Mpmc>(2, {"PPc", "a", "a"}),
    program<Mpmc>(1, {"PPc", "a"}),
    program<Mpmc>(1, {"PP", "x", "a"}),
    program<Mpmc>(2, {"pp", "P", "OOo"}),
}};
const AddPrograms spsc{{
    cancel_carries<Spsc>(false),
    cancel_carries<Spsc>(true),
    program<Spsc>(1, {"P", "O"}),
    program<Spsc>(2, {"P", "O"}),
    program<Spsc>(1, {"c", "O"}),
    program<Spsc>(1, {"PPP", "OOO"}),
    program<Spsc>(2, {"PPPP", "OOOO"}),
    program<Spsc>(3, {"PPPPP", "OOOOO"}),
    program<Spsc>(1, {"PPc", "a"}),
    program<Spsc>(2, {"PPPc", "a"}),
    program<Spsc>(1, {"PP", "a", "x"}),
    program<Spsc>(2, {"pPp", "Oo"}),
}};

}  // namespace
}  // namespace headrace::test
