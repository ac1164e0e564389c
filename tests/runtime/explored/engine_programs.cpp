// The engine, explored: workers that come and go, parts, short steps, polling, leases, launches that fail or never
// start.
#include "runtime/explored/engine_world.hpp"
#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

ExploredProgram whole_run(std::string name, EnginePlan plan) {
  return {"Engine", std::move(name), [=](Execution& run) { one_engine(run, plan, take_all); }};
}

void poll_all(ExploredEngine& engine, Book& book) {
  for (;;) {
    auto next = engine.try_next();
    if (next.status == NextStatus::end) break;
    if (next.status == NextStatus::pending) {
      Execution::pass();
      continue;
    }
    if (next.lease.step() != book.delivered) book.run.fail("out of order");
    ++book.delivered;
    check_step(book, next.lease);
  }
  if (book.delivered != book.first) book.run.fail("ended early");
}

// Every delivered slot is kept while the next step is asked for, and given back by another thread.
void give_back_elsewhere(ExploredEngine& engine, Book& book) {
  ExploredEngine::Lease kept;
  while (auto lease = engine.next()) {
    ++book.delivered;
    check_step(book, lease);
    if (kept) {
      const auto shared = std::make_shared<ExploredEngine::Lease>(std::move(kept));
      const auto over = std::make_shared<ExploredAtomic<std::uint32_t>>(0u);
      book.run.spawn([shared, over] {
        shared->release();
        over->store(1, std::memory_order_release);
      });
      while (over->load(std::memory_order_acquire) == 0) Execution::pass();
    }
    kept = std::move(lease);
    if (book.delivered == book.first) break;
  }
}

template <class Change>
ExploredProgram changed_arena(std::string name, EnginePlan plan, Change change) {
  return {"Engine", std::move(name), [=](Execution& run) {
            one_engine(run, plan, take_all, [&](ExploredArena& arena, Book&) { change(arena); });
          }};
}

// Each part makes two pieces of nested work for the arena's threads and waits for them by working, as a parallel loop
// inside a transform does under isolation.
ExploredProgram nested(std::string name, EnginePlan plan) {
  return {"Engine", std::move(name), [=](Execution& run) {
            one_engine(run, plan, take_all, [&](ExploredArena& arena, Book& book) {
              book.in_part = [&](std::uint64_t, unsigned, unsigned) {
                const auto left = std::make_shared<ExploredAtomic<std::uint32_t>>(2u);
                for (int i = 0; i < 2; ++i)
                  arena.enqueue_piece([left] { left->fetch_sub(1, std::memory_order_acq_rel); });
                while (left->load(std::memory_order_acquire) != 0) {
                  if (!arena.run_piece()) Execution::pass();
                }
              };
            });
          }};
}

// The parts of an item end when all have begun: as many threads as parts must come, whoever sleeps must be woken.
ExploredProgram meeting(std::string name, EnginePlan plan, unsigned stale_reads = 2) {
  return {.structure = "Engine",
          .name = std::move(name),
          .body =
              [=](Execution& run) {
                one_engine(run, plan, take_all, [&](ExploredArena&, Book& book) {
                  book.in_part = [&](std::uint64_t s, unsigned i, unsigned) {
                    const auto begun = [&] {
                      unsigned n = 0;
                      for (unsigned k = 0; k < book.parts; ++k) n += book.made[s][i][k];
                      return n;
                    };
                    while (begun() < book.parts) Execution::pass();
                  };
                });
              },
          .stale_reads = stale_reads};
}

// Two engines on the same threads, each with its consumer.
ExploredProgram two_engines(std::string name, EnginePlan plan, bool turns) {
  return {"Engine", std::move(name), [=](Execution& run) {
            ExploredArena arena(run, plan.arena, 2);
            arena.turns = turns;
            const std::shared_ptr<Book> books[] = {make_book(run, plan), make_book(run, plan)};
            for (const auto& book : books) run.spawn([&, book] { live(book, plan, take_all); });
            run.run();
          }};
}

const AddPrograms added{{
    whole_run("one worker", {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .parts = 1}),
    whole_run("one worker, window 2",
              {.options = {.threads = 1, .window = 2, .hold = 1, .help = false}, .steps = 5, .parts = 1}),
    whole_run("one worker, helping consumer", {.options = {.threads = 1, .window = 1, .hold = 1}}),
    whole_run("one worker, helping consumer, window 2",
              {.options = {.threads = 1, .window = 2, .hold = 1}, .steps = 5}),
    whole_run("one worker, a consumer that helps ahead, window 2",
              {.options = {.threads = 1, .window = 2, .hold = 1, .help_ahead = true}, .steps = 4}),
    whole_run("two workers", {.options = {.threads = 2, .window = 1, .hold = 1, .help = false}}),
    whole_run("two workers, window 2",
              {.options = {.threads = 2, .window = 2, .hold = 1, .help = false}, .steps = 5, .parts = 1}),
    whole_run("two workers, helping consumer, three parts",
              {.options = {.threads = 2, .window = 1, .hold = 1}, .parts = 3}),
    whole_run("short steps, items without parts",
              {.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5, .batch = 3, .whole = false}),
    whole_run(
        "short steps, no stealing",
        {.options = {.threads = 2, .window = 1, .hold = 1, .steal = false}, .steps = 4, .batch = 2, .whole = false}),
    {"Engine", "a consumer that polls",
     [](Execution& run) {
       one_engine(run, {.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5}, poll_all);
     }},
    {"Engine", "leases given back elsewhere",
     [](Execution& run) {
       one_engine(run, {.options = {.threads = 1, .window = 1, .hold = 2}, .steps = 4, .parts = 1},
                  give_back_elsewhere);
     }},
    whole_run("an arena of one thread for two workers",
              {.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5, .arena = 1}),
    whole_run("an arena of one thread, no help",
              {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .arena = 1}),
    changed_arena("launches that never start", {.options = {.threads = 1, .window = 2, .hold = 1}, .arena = 1},
                  [](ExploredArena& arena) { arena.starts_nobody = true; }),
    changed_arena("launches that fail", {.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5},
                  [](ExploredArena& arena) { arena.fail_one_in = 2; }),
    {"Engine", "no launch succeeds: each raised limit tries again",
     [](Execution& run) {
       const auto take_and_count = [](ExploredEngine& engine, Book& book) {
         take_all(engine, book);
         if (engine.stats().launches < book.first) book.run.fail("gave up launching");
       };
       one_engine(run, {.options = {.threads = 1, .window = 1, .hold = 1}}, take_and_count,
                  [](ExploredArena& arena, Book&) { arena.fail_one_in = 1; });
     }},
    nested("nested work in every part", {.options = {.threads = 1, .window = 1, .hold = 1}, .parts = 1, .arena = 2}),
    nested("nested work, an arena of one thread",
           {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .parts = 1, .arena = 1}),
    // A sleep against an opening takes three old values: at two looks for parts and at the last one before the sleep.
    meeting("one step of two parts that meet, one worker and the helping consumer",
            {.options = {.threads = 1, .window = 1, .hold = 1}, .steps = 1}, 4),
    meeting("parts that meet, one worker and the helping consumer",
            {.options = {.threads = 1, .window = 1, .hold = 1}}),
    meeting("parts that meet, two workers", {.options = {.threads = 2, .window = 1, .hold = 1, .help = false}}),
    meeting("three parts that meet, two workers and the helping consumer",
            {.options = {.threads = 2, .window = 1, .hold = 1}, .steps = 2, .parts = 3}),
    two_engines("two engines on two threads",
                {.options = {.threads = 2, .window = 1, .hold = 1}, .parts = 1, .arena = 2}, false),
    two_engines("two engines take turns on one thread",
                {.options = {.threads = 1, .window = 1, .hold = 1, .help = false}, .parts = 1, .arena = 1}, true),
}};

}  // namespace
}  // namespace headrace::test
