// The engine's freeze test: a worker stops before each of its atomic accesses in turn (launching included) and stands
// there. What must go on without it, at that very moment:
//   * try_next() and cancel() return, within a fixed number of their own accesses;
//   * every step before the one that the frozen worker holds a piece of is delivered: by the waiting consumer, if it
//     helps, whatever the others do; by the other workers, unless they sleep because the frozen one has yet to wake
//     them (a raised limit wakes one worker, which wakes the next before its first item; opened parts are announced
//     after they can be found);
//   * after a cancel fresh steps are made and delivered, whatever step the frozen worker is in, if there is a slot for
//     them (a spare);
//   * when the worker goes on, everything ends as if nothing had been.
// The step that the frozen worker holds a piece of is not delivered: for that it would have to be made a second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "runtime/explored/engine_world.hpp"
#include "support/explored_fixture.hpp"

namespace headrace::test {
namespace {

enum class Then { wait, cancel, close };

struct Frozen {
  EnginePlan plan;
  Then then = Then::wait;
};

struct Seen {
  std::uint64_t most_try_next = 0, most_cancel = 0;  // own accesses of one call
  unsigned reached = 0, needed = 0, asleep = 0;      // runs: it stood; its own step was next; nobody woke the others
};

std::uint64_t accesses_of(Execution& run, const std::function<void()>& call) {
  const std::uint64_t before = run.accesses(run.self());
  call();
  return run.accesses(run.self()) - before;
}

// True when nobody else could do anything.
bool quiet(Execution& run) {
  const std::uint64_t before = run.steps();
  Execution::pass();
  return run.steps() == before + 1;
}

void deliver(Book& book, const ExploredEngine::Lease& lease) {
  if (!lease || lease.step() != book.delivered) return book.run.fail("a step did not come, or another one");
  ++book.delivered;
  check_step(book, lease);
}

// Thread `victim` stops before its access number `access`. False: it has not so many.
bool stand(Chooser& chooser, const Frozen& f, unsigned victim, std::uint64_t access, Seen& seen, std::string& wrong) {
  chooser.begin();
  Execution run(chooser, {.most_steps = 20'000});
  run.freeze(victim, access);
  one_engine(run, f.plan, [&](ExploredEngine& engine, Book& book) {
    engine.start();
    for (bool was_quiet = false; book.delivered < book.first;) {
      ExploredEngine::Next next;
      seen.most_try_next = std::max(seen.most_try_next, accesses_of(run, [&] { next = engine.try_next(); }));
      if (next.status == NextStatus::ready)
        deliver(book, next.lease);
      else if (next.status == NextStatus::end || was_quiet)
        break;
      else
        was_quiet = quiet(run);
    }
    if (!run.reached_freeze(victim)) return take_all(engine, book);
    ++seen.reached;
    const auto goes_on = std::make_shared<bool>(false);
    const auto let_go_when_quiet = [&] {
      run.spawn([&run, goes_on] {
        while (!quiet(run)) {
        }
        *goes_on = true;
        run.thaw();
      });
    };
    if (f.then == Then::close) return let_go_when_quiet();
    if (f.then == Then::cancel) {
      seen.most_cancel = std::max(seen.most_cancel, accesses_of(run, [&] { engine.cancel(); }));
      book.delivered = book.bound;
      book.first = book.bound + 3;
      deliver(book, engine.next());
      deliver(book, engine.next());
      run.thaw();
      return take_all(engine, book);
    }
    if (book.delivered != book.first) {
      let_go_when_quiet();
      deliver(book, engine.next());
      if (*goes_on)
        ++seen.needed;
      else if (ExploredArena::current()->must_wake(victim) || f.plan.options.threads == 1)
        ++seen.asleep;
      else
        run.fail("the others left work of a step that the frozen worker holds nothing of");
    }
    run.thaw();
    take_all(engine, book);
  });
  if (run.failed()) wrong = run.failure();
  return run.reached_freeze(victim);
}

void freeze_everywhere(const char* name, const Frozen& f, unsigned schedules) {
  Seen seen;
  for (unsigned victim = 1; victim <= f.plan.options.threads; ++victim) {
    for (unsigned schedule = 0; schedule < schedules; ++schedule) {
      for (std::uint64_t access = 0;; ++access) {
        std::string wrong;
        bool reached = false;
        if (schedule == 0) {
          Replay first({});
          reached = stand(first, f, victim, access, seen, wrong);
        } else {
          Randomised random(schedule, 100);
          reached = stand(random, f, victim, access, seen, wrong);
        }
        ASSERT_EQ(wrong, "") << name << ": worker " << victim << " frozen before access " << access << ", schedule "
                             << schedule;
        if (!reached) break;
      }
    }
  }
  ASSERT_GT(seen.reached, 10u);
  std::printf(
      "%-50s %6u stands, its step was next %6u, others asleep %6u; accesses: try_next <= %llu, cancel <= %llu\n", name,
      seen.reached, seen.needed, seen.asleep, static_cast<unsigned long long>(seen.most_try_next),
      static_cast<unsigned long long>(seen.most_cancel));
}

#if defined(HEADRACE_TEST_ASAN)
constexpr unsigned schedules = 3;  // a switch of stacks costs a hundred times as much there
#else
constexpr unsigned schedules = 40;
#endif

class EngineFreeze : public ExploredFixture {};

TEST_F(EngineFreeze, Steps_before_the_frozen_workers_are_delivered) {
  freeze_everywhere("three workers", {{.options = {.threads = 3, .window = 2, .hold = 1}, .steps = 5}}, schedules);
  freeze_everywhere("three workers, two items a step",
                    {{.options = {.threads = 3, .window = 2, .hold = 1}, .steps = 5, .batch = 2}}, schedules);
  freeze_everywhere("three workers, short steps",
                    {{.options = {.threads = 3, .window = 3, .hold = 1}, .steps = 6, .batch = 3, .whole = false}},
                    schedules);
}
TEST_F(EngineFreeze, The_helping_consumer_needs_no_other_worker) {
  freeze_everywhere("one worker", {{.options = {.threads = 1, .window = 2, .hold = 1}, .steps = 5}}, schedules);
  freeze_everywhere("two workers", {{.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5}}, schedules);
}
TEST_F(EngineFreeze, After_a_cancel_fresh_steps_come) {
  freeze_everywhere("cancel, one worker and the helping consumer",
                    {{.options = {.threads = 1, .window = 2, .hold = 1, .spares = 2}, .steps = 5}, Then::cancel},
                    schedules);
  freeze_everywhere(
      "cancel, three workers, no help",
      {{.options = {.threads = 3, .window = 2, .hold = 1, .spares = 2, .help = false}, .steps = 5}, Then::cancel},
      schedules);
}
TEST_F(EngineFreeze, Destruction_waits_for_the_frozen_worker_and_no_longer) {
  freeze_everywhere("close, two workers",
                    {{.options = {.threads = 2, .window = 2, .hold = 1}, .steps = 5}, Then::close}, schedules);
}

}  // namespace
}  // namespace headrace::test
