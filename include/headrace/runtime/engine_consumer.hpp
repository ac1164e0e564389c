// EngineConsumer: the consumer's half of the engine: binds slots, raises the limit, takes steps, helps, sleeps,
// cancels. All of it runs on one thread at a time, and what is a plain member here is that thread's.
//
// Invariants
//   I1  Steps before oldest() are delivered; it is not, or is not bound. Steps in [oldest, bound) are in flight, but
//       for those taken ahead (completion order): at most `span`, none after oldest + span. At most `window` steps are
//       in flight, so bound <= oldest + window + span: the ring has a place for each.
//   I2  A slot is free, in flight, leased, or void (its step was cancelled while a thread was inside).
//   I3  A refused next() has changed nothing.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "headrace/runtime/engine_core.hpp"
#include "headrace/runtime/fork_guard.hpp"

namespace headrace::detail {

template <class Core>
class EngineConsumer {
 public:
  using Record = typename Core::Record;
  using Clock = std::chrono::steady_clock;
  enum class Patience { endless, limited, none };

  EngineConsumer(std::shared_ptr<Core> core, const EngineOptions& options)
      : core_(std::move(core)), hold_(options.hold), helps_(options.help), helps_ahead_(options.help_ahead) {}

  /// The next step to deliver. On `ready`, `record` is leased: give it back with core().release_lease.
  NextStatus next(Patience patience, Clock::time_point deadline, Record*& record) {
    guard_.require_this_process();
    require_room_for_a_lease();
    if (core_->threads == 0) return next_plain(record);
    fill();
    const bool there = patience == Patience::endless   ? wait_and_help()
                       : patience == Patience::limited ? wait_until(deadline)
                                                       : look_once();
    if (!there) {
      if (at_end()) return end();
      return NextStatus::pending;
    }
    record = take();
    fill();
    return NextStatus::ready;
  }

  /// Starts making steps ahead of next().
  void start() {
    guard_.require_this_process();
    if (core_->threads != 0) fill();
  }

  /// Voids everything in flight; the next fill() goes on with fresh steps, bound anew. Progress: lock-free, never
  /// waits.
  void cancel() noexcept {
    const std::uint64_t end = bound_ * core_->batch;
    core_->void_below.store(end, std::memory_order_relaxed);  // relaxed: advice
    // [X2] acq_rel, with [X1]: tickets from `first` on are void, and whoever still tries one sees that they are taken.
    const std::uint64_t first = core_->next_ticket.exchange(end, std::memory_order_acq_rel);
    while (oldest() != bound_) void_step(oldest(), first);
    ended_ = false;
    bad_bind_ = 0;
  }

  /// Waits until no thread is inside a cancelled step, or the deadline.
  bool await_quiet(Clock::time_point deadline) noexcept {
    return core_->events.await([&]() noexcept { return steps_left() == 0; }, deadline);
  }
  unsigned steps_left() const noexcept {
    // [A5] acquire, from [R5]: the job's last access is over.
    return core_->voided.load(std::memory_order_acquire);
  }

  bool in_child() const noexcept { return guard_.in_child(); }
  const std::shared_ptr<Core>& core() const noexcept { return core_; }
  std::shared_ptr<Core>& core() noexcept { return core_; }
  void add_to(EngineStats& stats) const noexcept {
    stats.steps_delivered = taken_;
    stats.steps_ahead = ahead_;
    stats.last_resorts = last_resorts_;
    stats.window_high_water = window_high_water_;
    stats.slots_high_water = slots_high_water_;
  }

 private:
  struct Guard : ForkGuard {
    void require_this_process() const {
      if (in_child()) {
        throw ForkError(
            "engine used in a child of the process that made it: its worker threads are not here; "
            "make a new one after fork()");
      }
    }
  };

  // How long nobody may have come for claimable work before the consumer does it although it was asked not to help.
  static constexpr std::chrono::milliseconds patience_with_workers{500};

  void require_room_for_a_lease() const {
    // [A7] acquire, from [R7]: a lease off the count has given its slot back.
    if (core_->leases.load(std::memory_order_acquire) < hold_) return;
    throw HoldError("next(): " + std::to_string(hold_) + " leases are still held and `hold` is " +
                    std::to_string(hold_) + ": release one first, or set `hold` higher");
  }

  // The oldest step that was not delivered.
  std::uint64_t oldest() const noexcept { return core_->ring.next_sequence(); }
  unsigned in_flight() const noexcept { return static_cast<unsigned>(bound_ - oldest() - core_->ring.taken_ahead()); }

  // ---- Binding -------------------------------------------------------------------------------------------------

  // Binds slots to steps until `window` are in flight, as far as there are slots and steps; then raises the limit.
  void fill() noexcept {
    bool raised = false;
    while (!ended_ && in_flight() < core_->window && bind_one()) raised = true;
    if (!raised) return;
    // relaxed: only where searches begin.
    core_->oldest_position.store(core_->position(oldest(), 0), std::memory_order_relaxed);
    // [R1] release, to [A1]: records, slots and bindings of all steps below the limit.
    core_->ticket_limit.store(bound_ * core_->batch, std::memory_order_release);
    core_->announce();
  }

  bool bind_one() noexcept {
    const auto slot = core_->pool.acquire();
    if (!slot) return false;
    Record& record = *core_->records[*slot];
    const unsigned count = core_->job->bind(bound_, record.slot);
    if (count == 0 || count > core_->batch) {
      ended_ = true;
      bad_bind_ = count;
      core_->pool.release(*slot);
      return false;
    }
    record.step = bound_;
    record.count = count;
    record.unfinished.store(count, std::memory_order_relaxed);                 // relaxed: published by the limit
    record.refused.store(Record::nothing_refused, std::memory_order_relaxed);  // relaxed: published by the limit
    // [R2] release, to [A2], [A6]: what made the place free: its last step is delivered or cancelled.
    core_->bindings[bound_ % core_->places].store(std::uint64_t{count} << 16 | *slot, std::memory_order_release);
    ++bound_;
    window_high_water_ = std::max(window_high_water_, in_flight());
    // relaxed: a statistic. A slot on its way back may be counted twice for a moment, hence the limit.
    const std::uint32_t elsewhere = core_->leases.load(std::memory_order_relaxed) + steps_left();
    const unsigned in_use = in_flight() + elsewhere;
    slots_high_water_ = std::max(slots_high_water_, std::min(in_use, core_->slots));
    return true;
  }

  bool at_end() const noexcept { return ended_ && oldest() == bound_; }
  NextStatus end() const {
    if (bad_bind_ != 0) {
      throw std::length_error("engine: bind() returned " + std::to_string(bad_bind_) + " items for step " +
                              std::to_string(bound_) + ", but `batch` is " + std::to_string(core_->batch));
    }
    return NextStatus::end;
  }

  // ---- Taking --------------------------------------------------------------------------------------------------

  // How many steps after the oldest one may be delivered before it.
  std::uint64_t reach() const noexcept {
    if (core_->span == 0) return 0;
    std::uint64_t end = bound_;
    if constexpr (requires { core_->job->group_end(oldest()); }) end = std::min(end, core_->job->group_end(oldest()));
    return std::min<std::uint64_t>(core_->span, end - oldest() - 1);
  }

  Record* take() noexcept {
    const auto taken = core_->ring.try_take_within(reach());
    if (taken->sequence >= oldest()) ++ahead_;
    void_missing_tickets(taken->sequence);
    return lease(taken->value);
  }

  // A short step's missing tickets are void. They are taken off before the step's place is bound again, so that whoever
  // still gets a ticket of a step finds that step's binding. (The step is complete: all tickets before them are taken,
  // also where it overtakes an older step.)
  void void_missing_tickets(std::uint64_t step) noexcept {
    const std::uint64_t end = (step + 1) * core_->batch;
    std::uint64_t ticket =
        core_->next_ticket.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange decides
    while (ticket < end) {
      // [X5] acq_rel, with [X1]: as a cancel's exchange.
      if (core_->next_ticket.compare_exchange_weak(ticket, end, std::memory_order_acq_rel, std::memory_order_relaxed))
        return;
    }
  }

  Record* lease(std::uint16_t slot) noexcept {
    ++taken_;
    core_->leases.fetch_add(1, std::memory_order_relaxed);  // relaxed: only this thread adds
    return core_->records[slot].get();
  }

  // No workers: the step as plain loops, the reference for everything else.
  NextStatus next_plain(Record*& record) {
    if (ended_ || !bind_one()) return end();
    Record& r = *core_->records[core_->bindings[0].load(std::memory_order_relaxed) & 0xFFFF];  // relaxed: our own store
    core_->ring.revoke();
    for (unsigned i = 0; i < r.count; ++i) {
      const unsigned parts = core_->open_checked(r, i);
      for (unsigned k = 0; k < parts; ++k) core_->call_part(r, i, k, {});
    }
    core_->next_ticket.store(bound_ * core_->batch, std::memory_order_relaxed);  // relaxed: no other thread
    record = lease(r.index);
    return NextStatus::ready;
  }

  // ---- Waiting -------------------------------------------------------------------------------------------------

  bool ready() const noexcept { return oldest() != bound_ && core_->ring.ready_within(reach()); }

  // True when a step can be taken, false at the end.
  bool wait_and_help() noexcept {
    for (;;) {
      if (ready()) return true;
      if (oldest() == bound_) {
        fill();
        if (at_end()) return false;
        if (oldest() == bound_) await_slot(Clock::time_point::max());
        continue;
      }
      if (helps_ || alone_) {
        choose_step_to_help();
        if (help()) continue;
      }
      if (helps_) {
        if (spin()) continue;
        sleep_until([&]() noexcept { return ready() || core_->claimable(oldest()); }, Clock::time_point::max());
      } else if (!spin() && !sleep_until([&]() noexcept { return ready(); }, Clock::now() + patience_with_workers)) {
        look_for_workers(true);
      }
    }
  }

  // True when a step can be taken, false when the time is over or the steps are.
  bool wait_until(Clock::time_point deadline) noexcept {
    for (;;) {
      if (ready()) return true;
      if (at_end()) return false;
      const auto now = Clock::now();
      if (oldest() == bound_) {
        if (now >= deadline || !await_slot(deadline)) return false;
        fill();
        continue;
      }
      if (alone_ && help()) continue;
      if (now >= deadline) {
        look_for_workers(false);
        return ready();
      }
      const auto slice = std::min(deadline, now + patience_with_workers);
      if (!sleep_until([&]() noexcept { return ready(); }, slice)) look_for_workers(slice < deadline);
    }
  }

  bool look_once() noexcept {
    if (ready()) return true;
    if (oldest() == bound_) return false;
    look_for_workers(false);
    while (alone_ && !ready() && help()) {
    }
    return ready();
  }

  // Sleeps until a step can be taken (or what else `condition` says), and tells publishers which ones that is.
  template <class Condition>
  bool sleep_until(Condition&& condition, Clock::time_point deadline) noexcept {
    core_->awaited_step.store(oldest(), std::memory_order_relaxed);  // relaxed: the event count's word publishes it
    return core_->events.await(condition, deadline);
  }

  // A slot of a cancelled step, or of a lease, comes back.
  bool await_slot(Clock::time_point deadline) noexcept {
    return core_->events.await([&]() noexcept { return core_->pool.available() != 0; }, deadline);
  }

  // Work on the oldest step, which is waited for: a part, or an item. When asked to, and all of that is in other hands,
  // on what comes next. False: there is nothing to claim.
  bool help() noexcept {
    if (core_->steal && core_->run_open_part(core_->position(oldest(), 0), core_->batch, true)) return true;
    const auto claim = core_->claim_item((oldest() + 1) * core_->batch);
    if (claim) core_->run_item(*claim, true);
    return claim.has_value() || (helps_ahead_ && core_->work_once(true));
  }

  void choose_step_to_help() noexcept {
    if (chosen_ == oldest()) return;
    chosen_ = oldest();
    // [S2] seq_cst, with [S1]: before the look at this step's bits that precedes a sleep.
    core_->helped_step.store(oldest(), std::memory_order_seq_cst);
  }

  // The last resort: launches may never start (a host's limit of 1, a host's only worker is us). When nobody has been
  // inside for a while although there is work in the step waited for, the consumer does it, until somebody comes.
  void look_for_workers(bool long_enough) noexcept {
    // relaxed: a count; a worker that comes meanwhile does no harm.
    if (core_->running.load(std::memory_order_relaxed) != 0 || !core_->claimable(oldest())) {
      nobody_since_ = Clock::time_point::max();
      alone_ = alone_ && core_->running.load(std::memory_order_relaxed) == 0;  // relaxed: as above
      return;
    }
    const auto now = Clock::now();
    if (nobody_since_ == Clock::time_point::max()) nobody_since_ = now;
    if (alone_ || (!long_enough && now - nobody_since_ < patience_with_workers)) return;
    alone_ = true;
    ++last_resorts_;
  }

  // A step of short items is ready sooner than a sleep begins.
  bool spin() const noexcept {
    for (unsigned i = 0; i < Core::spins; ++i) {
      if (ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    return false;
  }

  // ---- Cancelling ----------------------------------------------------------------------------------------------

  // Takes the step's place in the ring away, then counts down for whoever will not come: tickets from `first` on, and
  // parts that nobody claimed. Threads inside count down for themselves; the last one returns the slot.
  void void_step(std::uint64_t step, std::uint64_t first) noexcept {
    Core& core = *core_;
    // relaxed: our own store.
    const std::uint64_t binding = core.bindings[step % core.places].load(std::memory_order_relaxed);
    core.voided.fetch_add(1, std::memory_order_relaxed);  // relaxed: only this thread adds
    if (const auto complete = core.ring.revoke()) {
      core.voided.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
      core.pool.release(*complete);
      return;
    }
    Record& record = *core.records[binding & 0xFFFF];
    unsigned untaken = 0;
    for (unsigned i = 0; i < record.count; ++i) {
      if (step * core.batch + i >= first)
        ++untaken;
      else
        void_parts(record, i);
    }
    if (untaken != 0) core.finish_items(record, untaken);
  }

  void void_parts(Record& record, unsigned i) noexcept {
    auto& item = record.items[i];
    const std::uint64_t ticket = record.step * core_->batch + i;
    const std::uint64_t used_up = PartWord::make(ticket, 0);
    std::uint64_t word = item.word.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange decides
    while (word != used_up) {
      // [A3] acquire, from [R3]: the item's count of parts. (An item not yet opened is used up before its opening.)
      if (!item.word.compare_exchange_weak(word, used_up, std::memory_order_acquire, std::memory_order_relaxed))
        continue;
      if (!PartWord::is_of(word, ticket)) return;
      core_->close_bit(core_->position(record.step, i));
      core_->finish_parts(record, item, PartWord::left(word));
      return;
    }
  }

  std::shared_ptr<Core> core_;
  Guard guard_;
  const unsigned hold_;
  const bool helps_, helps_ahead_;

  std::uint64_t bound_ = 0;  // the next step to bind
  bool ended_ = false;       // bind() said that there are no more steps
  unsigned bad_bind_ = 0;    // or returned this, which is too many
  std::uint64_t chosen_ = Core::no_step;
  bool alone_ = false;
  Clock::time_point nobody_since_ = Clock::time_point::max();

  std::uint64_t taken_ = 0;
  std::uint64_t ahead_ = 0;
  std::uint64_t last_resorts_ = 0;
  unsigned window_high_water_ = 0;
  unsigned slots_high_water_ = 0;
};

}  // namespace headrace::detail
