// Completion order, explored: a step is delivered before an older one by at most `span` others; every step once.
#include <array>

#include "runtime/explored/engine_world.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

// Takes all steps in completion order. Parts of step 0 may stall the others' order as the schedule likes.
void take_out_of_order(ExploredEngine& engine, Book& book, unsigned span) {
  std::array<bool, Book::most_steps> taken{};
  std::array<unsigned, Book::most_steps> overtaken{};
  std::uint64_t oldest = 0;
  for (std::uint64_t n = 0;; ++n) {
    const auto lease = engine.next();
    if (!lease) {
      if (n != book.first) book.run.fail("ended early");
      return;
    }
    const std::uint64_t s = lease.step();
    if (s >= book.first || taken[s]) return book.run.fail("a step delivered twice");
    taken[s] = true;
    for (std::uint64_t older = oldest; older < s; ++older) {
      if (!taken[older] && ++overtaken[older] > span) book.run.fail("overtaken by more than the span");
    }
    while (oldest < book.first && taken[oldest]) ++oldest;
    book.delivered = oldest + span;  // the newest step that may be bound lies so far ahead
    check_step(book, lease);
  }
}

ExploredProgram unordered(std::string name, EnginePlan plan) {
  return {"Engine completion order", std::move(name), [=](Execution& run) {
            one_engine(
                run, plan,
                [=](ExploredEngine& engine, Book& book) { take_out_of_order(engine, book, plan.options.span); },
                [=](ExploredArena&, Book& book) { book.delivered = plan.options.span; });
          }};
}

ExploredProgram cancelled(std::string name, EnginePlan plan) {
  plan.steps = Book::most_steps;
  return {"Engine completion order", std::move(name), [=](Execution& run) {
            one_engine(
                run, plan,
                [=](ExploredEngine& engine, Book& book) {
                  for (int round = 0; round < 2; ++round) {
                    if (auto lease = engine.next())
                      check_step(book, lease);
                    else
                      book.run.fail("no step");
                    engine.restart([&](WatchedJob&) { book.delivered = book.bound + plan.options.span; });
                  }
                  if (auto lease = engine.next()) check_step(book, lease);
                },
                [=](ExploredArena&, Book& book) { book.delivered = plan.options.span; });
          }};
}

const AddPrograms completion_added{{
    unordered("one worker and the helping consumer, window 2, span 1",
              {.options = {.threads = 1, .window = 2, .hold = 1, .span = 1}, .steps = 5, .parts = 1}),
    unordered("two workers, window 2, span 2",
              {.options = {.threads = 2, .window = 2, .hold = 1, .span = 2, .help = false}, .steps = 6, .parts = 1}),
    unordered("two workers, window 3, span 1, short steps",
              {.options = {.threads = 2, .window = 3, .hold = 1, .span = 1}, .steps = 6, .batch = 2, .whole = false}),
    cancelled("cancel, two workers, window 2, span 1",
              {.options = {.threads = 2, .window = 2, .hold = 1, .span = 1}, .parts = 2}),
}};

}  // namespace
}  // namespace headrace::test
