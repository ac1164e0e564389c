// Cancel and close, explored: the consumer cancels after some steps, goes on with fresh ones, or leaves, while workers
// are anywhere.
#include "runtime/explored/engine_world.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

void take(ExploredEngine& engine, Book& book, unsigned steps) {
  for (unsigned n = 0; n < steps; ++n) {
    auto lease = engine.next();
    if (!lease) return book.run.fail("no step");
    if (lease.step() != book.delivered) book.run.fail("out of order");
    ++book.delivered;
    check_step(book, lease);
  }
}

// `before` steps, a cancel, `after` fresh steps, once more a cancel, the end.
ExploredProgram cancelled(std::string name, EnginePlan plan, unsigned before, unsigned after) {
  plan.steps = Book::most_steps;
  return {"Engine cancel", std::move(name), [=](Execution& run) {
            one_engine(run, plan, [=](ExploredEngine& engine, Book& book) {
              engine.start();
              take(engine, book, before);
              engine.cancel();
              book.delivered = book.bound;
              take(engine, book, after);
              engine.restart([&](WatchedJob&) {
                book.delivered = book.bound;
                book.first = book.bound + 1;
              });
              take(engine, book, 1);
              if (engine.next()) book.run.fail("a step after the end");
            });
          }};
}

// `before` steps, then the engine goes away with everything in flight.
ExploredProgram closed(std::string name, EnginePlan plan, unsigned before) {
  plan.steps = Book::most_steps;
  return {"Engine close", std::move(name), [=](Execution& run) {
            one_engine(run, plan, [=](ExploredEngine& engine, Book& book) {
              engine.start();
              take(engine, book, before);
            });
          }};
}

const AddPrograms cancels_added{{
    cancelled("one worker, at once", {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .parts = 1}, 0,
              1),
    cancelled("one worker, helping consumer", {.options = {.threads = 1, .window = 1, .hold = 1}}, 1, 1),
    cancelled("one worker, window 2, a spare",
              {.options = {.threads = 1, .window = 2, .hold = 1, .spares = 1, .help = false}}, 1, 2),
    cancelled("two workers, three parts", {.options = {.threads = 2, .window = 1, .hold = 1}, .parts = 3}, 0, 1),
    cancelled("two workers, window 2", {.options = {.threads = 2, .window = 2, .hold = 1, .help = false}}, 1, 1),
    cancelled("short steps", {.options = {.threads = 2, .window = 2, .hold = 1}, .batch = 2, .whole = false}, 1, 2),
    cancelled("no stealing", {.options = {.threads = 2, .window = 1, .hold = 1, .steal = false}, .batch = 2}, 0, 1),
    closed("one worker, at once", {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .parts = 1}, 0),
    closed("one worker, after a step", {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}}, 1),
    closed("two workers, window 2", {.options = {.threads = 2, .window = 2, .hold = 1}, .batch = 2}, 0),
    closed("two workers, window 2, after two steps", {.options = {.threads = 2, .window = 2, .hold = 1, .help = false}},
           2),
}};

}  // namespace
}  // namespace headrace::test
