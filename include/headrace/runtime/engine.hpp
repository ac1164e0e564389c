// Engine: makes a global sequence of steps on many threads and delivers them in order, with bounded memory.
//
// What it is. A step is a batch of items; an item is a prefix and parts. A job (see job.hpp) says what they are; the
// engine says when, where and in which slot they run. Up to `window` steps are in flight; idle threads and the waiting
// consumer claim the parts of the oldest items first; next() hands out a lease on the slot of the next step. With
// `threads = 0` the same steps run as plain loops inside next(): the reference implementation. With `span = n`,
// delivery is in completion order: no step waits for an older one that is slow, and none is overtaken by more than n
// others.
//
//   struct Squares {                                       // items by index: step s holds 4 s .. 4 s + 3
//     struct Slot { std::uint64_t value[4]; };
//     std::uint64_t steps;
//     unsigned bind(std::uint64_t s, Slot&) noexcept { return s < steps ? 4 : 0; }
//     unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 1; }
//     void part(std::uint64_t s, unsigned i, unsigned, Slot& slot, headrace::PartInfo) noexcept {
//       slot.value[i] = (4 * s + i) * (4 * s + i);
//     }
//   };
//   headrace::Engine<Squares> engine(Squares{1000}, {.threads = 8, .window = 4, .batch = 4});
//   while (auto lease = engine.next()) use(lease->value);
//
// When not to use it. For work whose order of delivery does not matter and whose memory is not worth bounding, oneTBB
// alone is simpler.
//
// Threads. One thread at a time calls an engine's operations; leases may be released and destroyed on any thread, also
// after the engine is gone. `threads = n, help = false` means n computing threads in all.
//
// docs/engine.md tells how it works.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "headrace/runtime/engine_consumer.hpp"
#include "headrace/runtime/engine_core.hpp"
#include "headrace/runtime/engine_types.hpp"
#include "headrace/runtime/job.hpp"

namespace headrace {

/// A lease on the slot of one delivered step. Movable. Releasing (also by destruction) is allowed on any thread and
/// outlives the engine; it does not block.
template <class Core>
class SlotLease {
 public:
  using Slot = typename Core::Slot;

  SlotLease() = default;
  SlotLease(SlotLease&& other) noexcept
      : core_(std::move(other.core_)), record_(std::exchange(other.record_, nullptr)) {}
  SlotLease& operator=(SlotLease&& other) noexcept {
    if (this != &other) {
      release();
      core_ = std::move(other.core_);
      record_ = std::exchange(other.record_, nullptr);
    }
    return *this;
  }
  ~SlotLease() { release(); }

  /// Is a slot held?
  explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] Slot& operator*() const noexcept { return record_->slot; }
  [[nodiscard]] Slot* operator->() const noexcept { return &record_->slot; }
  /// The step number that bind() was given.
  [[nodiscard]] std::uint64_t step() const noexcept { return record_->step; }
  /// The number of items that bind() returned.
  [[nodiscard]] unsigned items() const noexcept { return record_->count; }
  /// The slot's number, below Engine::slots().
  [[nodiscard]] unsigned slot_index() const noexcept { return record_->index; }
  /// The lowest item whose open() returned more than max_parts, if any; such an item has no parts.
  [[nodiscard]] std::optional<unsigned> refused_item() const noexcept {
    // relaxed: published with the step.
    const auto item = record_->refused.load(std::memory_order_relaxed);
    if (item == Core::Record::nothing_refused) return std::nullopt;
    return item;
  }
  /// Gives the slot back. Nothing happens when none is held.
  void release() noexcept {
    if (Record* record = std::exchange(record_, nullptr)) {
      core_->release_lease(record->index);
      core_.reset();
    }
  }

 private:
  using Record = typename Core::Record;
  template <class, template <class> class, class>
  friend class BasicEngine;
  SlotLease(std::shared_ptr<Core> core, Record* record) noexcept : core_(std::move(core)), record_(record) {}

  std::shared_ptr<Core> core_;
  Record* record_ = nullptr;
};

/// Engine with its atomics and its source of workers as parameters, for tests. Use Engine<Job>.
template <class Job, template <class> class Atom, class WorkerSource>
class BasicEngine {
  using Core = detail::EngineCore<Job, Atom, WorkerSource>;
  using Consumer = detail::EngineConsumer<Core>;
  using Clock = std::chrono::steady_clock;

 public:
  using Slot = typename Job::Slot;
  using Lease = SlotLease<Core>;

  struct Next {
    NextStatus status;
    Lease lease;  ///< held when status is ready
  };

  /// Throws std::invalid_argument naming the option that is out of range. Makes the slots; starts nothing yet.
  BasicEngine(std::shared_ptr<Job> job, EngineOptions options)
      : options_(checked(std::move(options))), consumer_(std::make_shared<Core>(std::move(job), options_), options_) {}
  BasicEngine(Job job, EngineOptions options)
      : BasicEngine(std::make_shared<Job>(std::move(job)), std::move(options)) {}
  BasicEngine(const BasicEngine&) = delete;
  BasicEngine& operator=(const BasicEngine&) = delete;

  /// Shuts down, and calls `on_detach` if that was not clean. In a child after fork() it does nothing.
  ~BasicEngine() {
    if (consumer_.in_child()) {
      // Another thread may have been inside when the process was forked: what it owned is left as it is.
      static_cast<void>(new std::shared_ptr<Core>(std::move(consumer_.core())));
      return;
    }
    const ShutdownReport report = shutdown();
    if (!report.clean && options_.on_detach) options_.on_detach(report);
  }

  /// Starts making steps before they are asked for. Otherwise the first next() does.
  void start() {
    if (!stopped_) consumer_.start();
  }

  /// The next step in order, or no lease at the end (and again at the end when asked again). Helps or sleeps meanwhile.
  /// With `span`, the first step that is complete among the oldest and the `span` after it; helps with the oldest.
  /// Throws HoldError when `hold` leases are kept, ForkError in a child, std::length_error when bind() returned more
  /// than `batch`; a call that threw has changed nothing.
  /// Progress: blocks (parks) until the step is made; while it can help it does not sleep.
  [[nodiscard]] Lease next() { return get(Consumer::Patience::endless, Clock::time_point::max()).lease; }

  /// As next, but waits at most `timeout` and does not help; with no workers it runs the step, however long that takes.
  [[nodiscard]] Next next_for(std::chrono::nanoseconds timeout) {
    const auto now = Clock::now();
    const auto most = Clock::time_point::max() - now;
    return get(Consumer::Patience::limited, timeout < most ? now + timeout : Clock::time_point::max());
  }

  /// As next, but does not wait or help; with no workers it runs the step.
  [[nodiscard]] Next try_next() { return get(Consumer::Patience::none, Clock::time_point::min()); }

  /// Voids every step in flight: what was not begun never runs, what runs is not delivered. Steps delivered so far stay
  /// leased. Returns at once; threads still inside keep their slots until they come out. Step numbers go on counting;
  /// nothing is bound until start() or next().
  void cancel() {
    if (!consumer_.in_child()) consumer_.cancel();
  }

  /// cancel(), then `change(job)` - where the next bind() gets its items from - then start(). `change` must leave alone
  /// what open() and part() use: threads may still be inside a voided step.
  template <class Change>
  void restart(Change&& change) {
    cancel();
    std::forward<Change>(change)(job());
    start();
  }

  /// Cancels, and waits for the threads inside the job, at most `shutdown_timeout`. From then on next() says end.
  ShutdownReport shutdown() noexcept {
    stopped_ = true;
    consumer_.cancel();
    ShutdownReport report;
    report.clean = consumer_.await_quiet(Clock::now() + options_.shutdown_timeout);
    report.steps_left = consumer_.steps_left();
    return report;
  }

  [[nodiscard]] Job& job() noexcept { return *core().job; }
  [[nodiscard]] const Job& job() const noexcept { return *core().job; }
  /// Slots made: window + hold + spares; 1 + hold where there are no workers.
  [[nodiscard]] unsigned slots() const noexcept { return core().slots; }
  /// Workers that can really come.
  [[nodiscard]] unsigned threads() const noexcept { return core().threads; }
  [[nodiscard]] EngineStats stats() const noexcept {
    EngineStats s;
    const Core& c = core();
    s.threads = c.threads;
    s.parts_stolen = c.stolen.load(std::memory_order_relaxed);              // relaxed: a statistic
    s.helped = c.helped.load(std::memory_order_relaxed);                    // relaxed: a statistic
    s.launches = c.launches.load(std::memory_order_relaxed);                // relaxed: a statistic
    s.failed_launches = c.failed_launches.load(std::memory_order_relaxed);  // relaxed: a statistic
    s.sleeps = c.events.sleeps();
    s.rescues = c.events.rescues();
    consumer_.add_to(s);
    return s;
  }

 private:
  const Core& core() const noexcept { return *consumer_.core(); }

  Next get(typename Consumer::Patience patience, Clock::time_point deadline) {
    if (stopped_) return {NextStatus::end, {}};
    typename Core::Record* record = nullptr;
    const NextStatus status = consumer_.next(patience, deadline, record);
    if (status != NextStatus::ready) return {status, {}};
    return {status, Lease(consumer_.core(), record)};
  }

  static EngineOptions checked(EngineOptions o) {
    const auto require = [](bool good, const char* what) {
      if (!good) throw std::invalid_argument(std::string("EngineOptions: ") + what);
    };
    require(o.window >= 1 && o.window <= 65535, "window must be between 1 and 65535");
    require(o.hold >= 1 && o.hold <= 65535, "hold must be between 1 and 65535");
    require(o.spares <= 65535, "spares must be at most 65535");
    require(std::uint64_t{o.window} + o.hold + o.spares <= 65535, "window + hold + spares must be at most 65535");
    require(o.batch >= 1 && o.batch <= (1u << 20), "batch must be between 1 and 1048576");
    require(o.span <= 256, "span must be at most 256");
    require((std::uint64_t{o.window} + o.span) * o.batch <= (1u << 26),
            "(window + span) * batch must be at most 2^26 items");
    require(o.shutdown_timeout.count() >= 0, "shutdown_timeout must not be negative");
    return o;
  }

  EngineOptions options_;
  Consumer consumer_;
  bool stopped_ = false;
};

/// The engine.
template <EngineJob Job>
using Engine = BasicEngine<Job, std::atomic, detail::Workers>;

}  // namespace headrace
