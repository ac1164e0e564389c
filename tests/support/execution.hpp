// One run of the explorer: fibers that take turns, one decision before every atomic access.
//
// A program spawns threads, runs them, and looks at the outcome:
//     explore(chooser, {}, [](Execution& run) {
//       MpmcRing<Watched, std::uint16_t, ExploredAtomic> ring(2);
//       run.spawn([&] { ... });
//       run.spawn([&] { ... });
//       if (run.run() != Execution::Outcome::finished) return;   // the failure is already noted
//       if (...) run.fail("what is wrong");
//     });
// The program is called once per run and must do the same things when the same decisions are made: no clocks, no
// addresses, no random numbers of its own (it may call choose()).
//
// Everything happens on the calling thread. Atomic accesses of the program itself, before and after run(), are no
// decisions; in the weak memory mode they happen before, and after, what the threads do.
// A thread that waits for another one in a loop calls Execution::pass() there: it goes on when somebody has written.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/choosers.hpp"
#include "support/fiber.hpp"
#include "support/memory_model.hpp"

namespace headrace::test {

struct ExploreLimits {
  bool weak_memory = false;           ///< loads may return old values
  unsigned stale_reads = 2;           ///< old values (and spurious failures) per run
  bool sleep_may_expire = false;      ///< false: a sleep that only time can end is a failure (a lost wakeup)
  std::uint64_t most_steps = 20'000;  ///< per run; more is a failure (no end)
};

class Execution {
 public:
  enum class Outcome {
    finished,  ///< every thread that was not frozen has ended
    stuck,     ///< somebody sleeps and nobody can wake it
    endless,   ///< the limit of steps was reached
    failed     ///< fail() was called
  };
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  static constexpr unsigned most_spawned = most_threads - 1;
  static constexpr unsigned program = most_threads - 1;  ///< the number of the program's own context

  Execution(Chooser& chooser, const ExploreLimits& limits)
      : chooser_(chooser), limits_(limits), stale_left_(limits.stale_reads), outer_(std::exchange(active_, this)) {
    if (limits.weak_memory) memory_ = std::make_unique<MemoryModel>();
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution() { active_ = outer_; }

  // ---- For programs ----------------------------------------------------------------------------------------------

  /// Adds a thread, from the program or from a thread; its number, from 0. What was done so far happened before it.
  unsigned spawn(std::function<void()> body) {
    if (count_ == most_spawned) {
      fail("more than " + std::to_string(most_spawned) + " threads");
      return 0;
    }
    Thread& thread = threads_[count_];
    thread.number = count_;
    thread.body = std::move(body);
    thread.execution = this;
    fibers(count_).start(&body_of, &thread);
    if (memory_) memory_->synchronise(self(), count_);
    thread.state = State::fresh;
    return count_++;
  }
  /// The thread stops before its access number `access` (from 0), until thaw().
  void freeze(unsigned thread, std::uint64_t access) { threads_[thread].freeze_at = access; }
  /// Frozen threads go on at the next run().
  void thaw() {
    for (unsigned t = 0; t < count_; ++t) {
      threads_[t].freeze_at = never;
      if (threads_[t].state == State::frozen) threads_[t].state = State::runnable;
    }
  }
  /// Lets the threads run until each has ended or is frozen. May be called again. Program only.
  Outcome run() {
    if (failed()) return outcome_;
    hand_on(nullptr);
    if (memory_) {
      for (unsigned t = 0; t < count_; ++t) {
        if (threads_[t].state == State::finished) memory_->synchronise(t, program);
      }
    }
    return outcome_;
  }
  /// Notes what is wrong; the first note counts. Called by a thread, it ends the run there and then.
  void fail(std::string what) {
    if (!failed()) {
      failure_ = std::move(what);
      outcome_ = Outcome::failed;
    }
    if (running_ != nullptr) stop();
  }
  /// One of n ways to go on, explored like everything else.
  unsigned choose(unsigned n) {
    if (n <= 1) return 0;
    const unsigned answer = chooser_.pick(n);
    choices_.push_back(answer);
    return answer;
  }
  /// The calling thread waits for something that another one writes. No-op outside.
  static void pass() {
    Execution* const run = active_;
    if (run == nullptr || run->running_ == nullptr) return;
    run->running_->state = State::runnable;
    run->running_->passing = true;
    run->step(true);
  }
  [[nodiscard]] static Execution* active() { return active_; }

  [[nodiscard]] bool failed() const { return failure_.has_value(); }
  [[nodiscard]] const std::string& failure() const { return *failure_; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Sleeps that only time ended.
  [[nodiscard]] std::uint64_t expired() const { return expired_; }
  [[nodiscard]] bool reached_freeze(unsigned thread) const { return threads_[thread].was_frozen; }
  [[nodiscard]] std::uint64_t accesses(unsigned thread) const { return threads_[thread].accesses; }
  /// The running thread, or `program`.
  [[nodiscard]] unsigned self() const { return running_ != nullptr ? running_->number : program; }

  /// When an operation's accesses were: no order of the calls is lost, because nothing is shared outside them.
  struct Interval {
    std::uint64_t first = 0, last = 0;
  };
  /// The operation of the calling context begins here; its interval so far.
  void begin_interval() { threads_[self()].interval = {}; }
  [[nodiscard]] Interval interval() const {
    const Interval& own = threads_[self()].interval;
    return own.first == 0 ? Interval{time_, time_} : own;
  }

  // ---- For the atomics -------------------------------------------------------------------------------------------

  /// Before an atomic access.
  void point() {
    if (running_ != nullptr) {
      const bool was_fresh = running_->state == State::fresh;
      running_->state = State::runnable;
      if (running_->accesses++ == running_->freeze_at) {
        running_->state = State::frozen;
        running_->was_frozen = true;
      }
      step(was_fresh);
    } else if (++own_steps_ > limits_.most_steps) {
      std::fprintf(stderr, "explorer: no end within %llu accesses of the program itself\n",
                   static_cast<unsigned long long>(limits_.most_steps));
      std::abort();  // there is no other context to go on in
    }
    Interval& interval = threads_[self()].interval;
    interval.last = ++time_;
    if (interval.first == 0) interval.first = time_;
  }
  /// After a write: those who pass() look again.
  void wrote() {
    idle_rounds_ = 0;
    for (unsigned t = 0; t < count_; ++t) threads_[t].passing = false;
  }
  [[nodiscard]] MemoryModel* memory() { return memory_.get(); }
  /// What is known of a plain object at this address, for the weak memory mode.
  MemoryModel::Plain& plain(const void* place) { return plain_[place]; }
  /// Which of n readable values (0: the newest), within the run's allowance.
  unsigned stale(unsigned n) {
    if (n <= 1 || stale_left_ == 0 || running_ == nullptr) return 0;
    const unsigned back = choose(n);
    if (back != 0) --stale_left_;
    return back;
  }
  /// Sleeps at `address`. False: woken by time.
  bool sleep(const void* address) {
    if (running_ == nullptr) return false;
    Thread& thread = *running_;
    thread.state = State::asleep;
    thread.address = address;
    thread.timed_out = false;
    step(false);
    return !thread.timed_out;
  }
  void wake(const void* address, int most) {
    for (unsigned t = 0; t < count_ && most > 0; ++t) {
      if (threads_[t].state != State::asleep || threads_[t].address != address) continue;
      threads_[t].state = State::runnable;
      --most;
    }
  }

  /// Keeps a line per access; for the replay of a failure.
  void keep_trace() { tracing_ = true; }
  [[nodiscard]] bool tracing() const { return tracing_; }
  void note(const void* object, const std::string& what) {
    const auto [name, added] = names_.try_emplace(object, names_.size());
    trace_ += (running_ ? "thread " + std::to_string(running_->number) : std::string("program ")) + "  object " +
              std::to_string(name->second) + "  " + what + "\n";
  }
  [[nodiscard]] const std::string& trace() const { return trace_; }

 private:
  enum class State { none, fresh, runnable, asleep, frozen, finished };
  struct Thread {
    unsigned number = 0;
    State state = State::none;
    bool passing = false;
    bool timed_out = false;
    bool was_frozen = false;
    const void* address = nullptr;
    std::uint64_t accesses = 0;
    std::uint64_t freeze_at = never;
    Interval interval;
    Execution* execution = nullptr;
    std::function<void()> body;
  };

  // Stacks are kept from run to run: asking the kernel for one costs more than a run.
  static Fiber& fibers(unsigned t) {
    static std::array<std::unique_ptr<Fiber>, most_spawned> all;
    if (!all[t]) all[t] = std::make_unique<Fiber>();
    return *all[t];
  }
  static Fiber& programs_fiber() {
    static Fiber fiber{Fiber::OfTheThread{}};
    return fiber;
  }
  static void body_of(void* argument) {
    Thread& thread = *static_cast<Thread*>(argument);
    Execution& run = *thread.execution;
    thread.body();
    thread.body = nullptr;
    thread.state = State::finished;
    run.wrote();  // an end can be what others wait for
    Fiber& next = run.next(nullptr);
    Fiber::leave_for_good(fibers(thread.number), next);
  }

  void step(bool passed) {
    ++steps_;
    if (steps_ > limits_.most_steps) {
      if (!failed()) failure_ = "no end within " + std::to_string(limits_.most_steps) + " steps";
      outcome_ = Outcome::endless;
      stop();
    }
    Thread* const self = running_;
    hand_on(!passed && self->state == State::runnable ? self : nullptr);
  }
  void hand_on(Thread* current) {
    Fiber& from = running_ != nullptr ? fibers(running_->number) : programs_fiber();
    Fiber& to = next(current);
    if (&from != &to) Fiber::switch_to(from, to);
  }
  // The program goes on; the running thread never does.
  [[noreturn]] void stop() {
    Fiber& from = fibers(running_->number);
    running_ = nullptr;
    Fiber::leave_for_good(from, programs_fiber());
  }

  // Decides who runs, and sets running_. The program, when all is over.
  Fiber& next(Thread* current) {
    // What a thread does before its first access concerns nobody: no decision.
    if (current != nullptr) before_fresh_ = current;
    for (unsigned t = 0; t < count_; ++t) {
      if (threads_[t].state != State::fresh) continue;
      running_ = &threads_[t];
      return fibers(t);
    }
    current = std::exchange(before_fresh_, nullptr);
    std::array<unsigned, most_threads> list;
    std::size_t runnable = list_runnable(list);
    if (runnable == 0 && (runnable = look_again(list)) != 0) {
      if (++idle_rounds_ > most_idle_rounds) return over(Outcome::stuck, "everybody waits for somebody to write");
    }
    if (runnable == 0) {
      const std::size_t asleep = list_state(list, State::asleep);
      if (asleep == 0) return over(Outcome::finished, nullptr);
      if (!limits_.sleep_may_expire)
        return over(Outcome::stuck, "lost wakeup: somebody sleeps and nobody will wake it");
      ++expired_;
      Thread& sleeper = threads_[list[choose(static_cast<unsigned>(asleep))]];
      sleeper.timed_out = true;
      sleeper.state = State::runnable;
      running_ = &sleeper;
      return fibers(sleeper.number);
    }
    const unsigned chosen =
        chooser_.thread({list.data(), runnable}, current != nullptr ? current->number : Chooser::none);
    if (runnable > 1) choices_.push_back(chosen);
    running_ = &threads_[chosen];
    return fibers(chosen);
  }
  Fiber& over(Outcome outcome, const char* failure) {
    if (failure != nullptr) failure_ = failure;
    outcome_ = outcome;
    running_ = nullptr;
    return programs_fiber();
  }
  std::size_t list_runnable(std::array<unsigned, most_threads>& list) const {
    std::size_t n = 0;
    for (unsigned t = 0; t < count_; ++t) {
      if (threads_[t].state == State::runnable && !threads_[t].passing) list[n++] = t;
    }
    return n;
  }
  // All that can run are passing: each gets one more look.
  std::size_t look_again(std::array<unsigned, most_threads>& list) {
    for (unsigned t = 0; t < count_; ++t) threads_[t].passing = false;
    return list_runnable(list);
  }
  std::size_t list_state(std::array<unsigned, most_threads>& list, State state) const {
    std::size_t n = 0;
    for (unsigned t = 0; t < count_; ++t) {
      if (threads_[t].state == state) list[n++] = t;
    }
    return n;
  }

  static constexpr std::size_t most_idle_rounds = 8;  // looks that may still bring something: old values
  static inline Execution* active_ = nullptr;

  Chooser& chooser_;
  const ExploreLimits limits_;
  unsigned stale_left_;
  Execution* const outer_;
  std::unique_ptr<MemoryModel> memory_;
  std::unordered_map<const void*, MemoryModel::Plain> plain_;
  std::array<Thread, most_threads> threads_;  // the last: the program
  unsigned count_ = 0;
  Thread* running_ = nullptr;
  Thread* before_fresh_ = nullptr;  // who was at its decision when fresh threads got their start
  Outcome outcome_ = Outcome::finished;
  std::optional<std::string> failure_;
  Choices choices_;
  std::uint64_t steps_ = 0;
  std::uint64_t own_steps_ = 0;
  std::uint64_t time_ = 0;
  std::size_t idle_rounds_ = 0;
  std::uint64_t expired_ = 0;
  bool tracing_ = false;
  std::string trace_;
  std::unordered_map<const void*, std::size_t> names_;
};

}  // namespace headrace::test
