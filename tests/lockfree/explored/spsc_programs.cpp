// SpscRing, explored: rings of 1 to 3 places, positions that come round to 0 on the way, elements made in place and
// not.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/lockfree/spsc_ring.hpp"
#include "lockfree/explored/queue_recorder.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

using Queue = SpscRing<Watched, ExploredAtomic>;
using Kind = QueueOp::Kind;

// One letter per call: p push, i push in place, o pop, f front and pop, c close, d drained.
void calls(Queue& queue, QueueRecorder& record, const char* plan, std::uint64_t base) {
  for (std::uint64_t i = 0; plan[i] != 0; ++i) {
    switch (plan[i]) {
      case 'p':
        record.push(queue, base + i);
        break;
      case 'i':
        record.record([&] {
          Watched* const place = queue.try_claim();
          if (place == nullptr) return QueueOp{Kind::full, base + i};
          std::construct_at(place, base + i);
          queue.publish();
          return QueueOp{Kind::pushed, base + i};
        });
        break;
      case 'o':
        record.pop(queue);
        break;
      case 'f':
        record.record([&] {
          Watched* const element = queue.front();
          if (element == nullptr) return QueueOp{Kind::nothing};
          const std::uint64_t value = element->value();
          queue.pop();
          return QueueOp{Kind::popped, value};
        });
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

ExploredProgram program(std::size_t capacity, std::uint64_t offset, const char* producer, const char* consumer) {
  return {
      "SpscRing",
      "capacity " + std::to_string(capacity) + ", " + std::to_string(offset) + " gone: " + producer + " " + consumer,
      [=, good = std::make_shared<GoodHistories>()](Execution& run) {
        Queue queue(capacity);
        QueueRecorder record(run);
        for (std::uint64_t i = 0; i < offset; ++i) calls(queue, record, "po", 100 + 2 * i);
        run.spawn([&] { calls(queue, record, producer, 0); });
        run.spawn([&] { calls(queue, record, consumer, 0); });
        if (run.run() == Execution::Outcome::finished) record.judge(queue, capacity, *good);
      },
      producer[1] == 0 && consumer[1] == 0};
}

// What was done before the close is there for whoever sees it.
ExploredProgram close_carries() {
  return {"SpscRing", "what came before the close", [](Execution& run) {
            Queue queue(1);
            RaceCell<int> reason;
            run.spawn([&] {
              reason.write(7);
              queue.close();
            });
            run.spawn([&] {
              if (queue.closed() && reason.read() != 7) run.fail("the close without its reason");
            });
            run.run();
          }};
}

const AddPrograms added{{
    close_carries(),
    program(1, 0, "p", "o"),
    program(1, 1, "i", "f"),
    program(2, 3, "p", "f"),
    program(1, 1, "pp", "oo"),
    program(1, 0, "iiii", "ffff"),
    program(1, 1, "pppc", "odod"),
    program(2, 3, "pppp", "oooo"),
    program(2, 2, "iiic", "ffdf"),
    program(3, 5, "pppp", "ffff"),
    program(3, 4, "ippip", "ofofo"),
    program(3, 3, "ppppc", "oodod"),
}};

}  // namespace
}  // namespace headrace::test
