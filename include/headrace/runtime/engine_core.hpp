// EngineCore: what the threads of one engine share, and what a worker does. (The consumer's half: engine_consumer.hpp.)
//
// The work is one global sequence of tickets; ticket t is item t % batch of step t / batch. A worker takes the next
// ticket with one compare-exchange if it is below the limit, runs the item's prefix and opens its parts; anybody claims
// parts, oldest item first. Counts go down as parts, items and steps are completed; the last count of a step publishes
// its slot into the reorder ring. Nobody waits inside a task.
//
// Invariants
//   I1  bound: a step below the limit has a slot, a record and a binding; so memory is there before the right to write
//   it. I2  tickets: next_ never goes back; every ticket is taken once, by a worker, by the consumer, or as void by
//   cancel. I3  counts: each item and part taken is counted down exactly once, by who took it; the thread that takes
//   the last
//       count of a record publishes it, or returns its slot if the step's place in the ring was taken away.
//   I4  no thread touches a record without an uncounted item or part of it, save for item words by compare-exchange.
//   I5  workers: see activity.hpp; every new ticket and every opened item is announced after it can be found.
//
// Atom and WorkerSource are parameters so that tests can run this very code under a deterministic scheduler.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/lockfree/cache_line.hpp"
#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/reorder_ring.hpp"
#include "headrace/lockfree/slab_pool.hpp"
#include "headrace/runtime/activity.hpp"
#include "headrace/runtime/engine_types.hpp"
#include "headrace/runtime/float_mode.hpp"
#include "headrace/runtime/job.hpp"
#include "headrace/runtime/open_items.hpp"
#include "headrace/runtime/step_record.hpp"
#include "headrace/runtime/worker_arena.hpp"

namespace headrace::detail {

/// A number for the calling thread that no other living thread has.
inline const void* this_thread_mark() noexcept {
  static thread_local char mark;
  return &mark;
}

template <EngineJob Job, template <class> class Atom = std::atomic, class WorkerSource = Workers>
class EngineCore final : public WorkerTask, public std::enable_shared_from_this<EngineCore<Job, Atom, WorkerSource>> {
 public:
  using Slot = typename Job::Slot;
  using Record = StepRecord<Slot, Atom>;
  static constexpr std::uint64_t no_step = ~std::uint64_t{0};
  static constexpr unsigned spins = std::is_same_v<Atom<int>, std::atomic<int>> ? 200 : 0;  // before a sleep

  struct Claim {
    std::uint64_t ticket;
    std::uint16_t slot;
    unsigned item;
    unsigned count;  // items of the step
    bool more;       // further tickets are below the limit
  };

  EngineCore(std::shared_ptr<Job> its_job, const EngineOptions& options)
      : job(std::move(its_job)),
        workers(options.threads),
        threads(workers.threads()),
        window(threads == 0 ? 1 : options.window),
        span(threads == 0 ? 0 : options.span),
        places(window + span),
        batch(options.batch),
        steal(options.steal),
        slots(threads == 0 ? 1 + options.hold : window + options.hold + options.spares),
        open_items(std::size_t{places} * batch),
        bindings(std::make_unique<Atom<std::uint64_t>[]>(places)),
        ring(places),
        pool(slots) {
    records.reserve(slots);
    for (unsigned i = 0; i < slots; ++i) {
      const auto make_slot = [&]() -> Slot {
        if constexpr (requires { Slot(job->make_slot(i)); })
          return job->make_slot(i);
        else
          return Slot{};
      };
      records.push_back(std::make_unique<Record>(make_slot, static_cast<std::uint16_t>(i), batch));
    }
  }

  // ---- A worker's life -----------------------------------------------------------------------------------------

  WorkerExit work() noexcept override {
    running.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count for the last resort
    WorkerExit exit = WorkerExit::left;
    for (;;) {
      const auto seen = activity.look();
      if (work_once()) {
        if (!workers.crowded()) continue;
        exit = WorkerExit::yielded;
        break;
      }
      if (linger(seen)) continue;
      if (activity.leave(seen)) break;
    }
    running.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a count for the last resort
    return exit;
  }

  void abandoned() noexcept override { activity.withdraw(); }

  /// Runs one open part, or else one item. False: there was nothing. Progress: lock-free, but for the job's own code.
  bool work_once(bool helping = false) noexcept {
    // relaxed: only where the search begins.
    const std::size_t oldest = oldest_position.load(std::memory_order_relaxed);
    if (steal && run_open_part(oldest, open_items.positions(), helping)) return true;
    const std::optional<Claim> claim = claim_item(no_step);
    if (claim) run_item(*claim, helping);
    return claim.has_value();
  }

  // ---- Claims --------------------------------------------------------------------------------------------------

  /// Takes the next ticket if it is below `end` and the limit. Progress: lock-free.
  std::optional<Claim> claim_item(std::uint64_t end) noexcept {
    std::uint64_t ticket = next_ticket.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange decides
    for (;;) {
      // [A1] acquire, from [R1]: the step's record, slot and binding are there.
      const std::uint64_t limit = ticket_limit.load(std::memory_order_acquire);
      if (ticket >= limit || ticket >= end) return std::nullopt;
      const std::uint64_t step = ticket / batch;
      // Read before the exchange: while nobody has the ticket, its step is neither delivered nor cancelled, so a
      // successful exchange proves that this binding was the step's.
      // [A2] acquire, from [R2]: a binding of a later step brings the exchange that took this ticket, so ours fails.
      const std::uint64_t binding = bindings[step % places].load(std::memory_order_acquire);
      // [X1] acq_rel, with [X2], [X5]: one thread has the ticket; a cancel that took it is seen by whoever fails here.
      if (next_ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return Claim{ticket, static_cast<std::uint16_t>(binding & 0xFFFF), static_cast<unsigned>(ticket - step * batch),
                     static_cast<unsigned>(binding >> 16), ticket + 1 < limit};
      }
    }
  }

  /// Claims and runs one part of the oldest open item among `count` positions from `from`. False: none is open.
  /// Progress: lock-free, but for the job's own code.
  bool run_open_part(std::size_t from, std::size_t count, bool helping) noexcept {
    for (;;) {
      const std::size_t p = open_items.find(from, count);
      if (p == open_items.none) return false;
      Record& record = record_at(p);
      const auto i = static_cast<unsigned>(p % batch);
      ItemRecord<Atom>& item = record.items[i];
      // relaxed: a guess; the exchange decides.
      std::uint64_t word = item.word.load(std::memory_order_relaxed);
      while (PartWord::left(word) != 0) {
        // [A3] acquire, from [R3]: the item's prefix, its number of parts and its opener. (The record may be bound to
        // another step than the one the bit was for: then this is an open part of that step, as good as any.)
        if (item.word.compare_exchange_weak(word, word - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
          run_part(record, i, PartWord::left(word), helping);
          return true;
        }
      }
      close_bit(p);  // nothing is open behind it
    }
  }

  // ---- Running what was claimed --------------------------------------------------------------------------------

  void run_item(const Claim& claim, bool helping = false) noexcept {
    if (claim.more) wake_next();
    if (claim.item >= claim.count) return;  // a short step: this ticket stands for no item
    Record& record = *records[claim.slot];
    const unsigned i = claim.item;
    if (helping) helped.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    if (is_void(claim.ticket)) return finish_items(record, 1);
    const unsigned parts = open_checked(record, i);
    if (parts < 2 || !steal) {
      for (unsigned k = 0; k < parts && !is_void(claim.ticket); ++k) call_part(record, i, k, {.helped = helping});
      return finish_items(record, 1);
    }
    const std::size_t p = position(record.step, i);
    ItemRecord<Atom>& item = record.items[i];
    item.parts = parts;
    item.opener = this_thread_mark();
    item.unfinished.store(parts, std::memory_order_relaxed);  // relaxed: published by the word
    // relaxed: only cancel changes the word of an item that was not opened.
    std::uint64_t word = item.word.load(std::memory_order_relaxed);
    // [R3] release, to [A3], [A4]: the prefix, and how many parts there are. Fails when cancel was here first.
    if (PartWord::is_of(word, claim.ticket) ||
        !item.word.compare_exchange_strong(word, PartWord::make(claim.ticket, parts), std::memory_order_release,
                                           std::memory_order_relaxed)) {
      return finish_items(record, 1);
    }
    announce_open(p);  // the record may be another step's by now
  }

  /// Takes `count` parts of an item off: the last one completes the item.
  void finish_parts(Record& record, ItemRecord<Atom>& item, unsigned count) noexcept {
    // [X3] acq_rel, with [X3]: whoever takes the last count has seen the work of all others.
    if (item.unfinished.fetch_sub(count, std::memory_order_acq_rel) == count) finish_items(record, 1);
  }

  /// Takes `count` items off a step: the last one publishes the step, or returns the slot of a cancelled one.
  void finish_items(Record& record, unsigned count) noexcept {
    // [X4] acq_rel, with [X4]: as [X3], for the step.
    if (record.unfinished.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    const std::uint16_t slot = record.index;
    const std::uint64_t step = record.step;
    if (ring.publish_first(step, slot)) {
      // A consumer that sleeps until another step is complete is left asleep.
      // relaxed: the event count's word brings what the consumer wrote before it announced itself.
      return events.notify_one_if(
          [&]() noexcept { return step - awaited_step.load(std::memory_order_relaxed) <= span; });
    }
    pool.release(slot);
    // [R5] release, to [A5]: nothing of the step runs any more.
    voided.fetch_sub(1, std::memory_order_release);
    events.notify_one();
  }

  // ---- Shared with the consumer --------------------------------------------------------------------------------

  /// The bit of an item whose parts are all claimed. It may be late: the position may belong to a later item by now,
  /// and then the bit is set again. Progress: wait-free.
  void close_bit(std::size_t p) noexcept {
    open_items.clear(p);
    ItemRecord<Atom>& item = record_at(p).items[p % batch];
    // [A4] acquire, from [R3]: an item opened before the clear is seen open.
    if (PartWord::left(item.word.load(std::memory_order_acquire)) != 0) announce_open(p);
  }

  /// New work is there: tell those about to leave, start a worker.
  void announce() noexcept {
    if (activity.announce(threads)) launch();
  }

  /// More work was seen than one thread does: the next worker comes, who wakes the next.
  void wake_next() noexcept {
    if (activity.active() < threads && activity.join(threads)) launch();
  }

  /// Runs the prefix; a number of parts that is too large is refused.
  unsigned open_checked(Record& record, unsigned i) noexcept {
    const unsigned parts = call_open(record, i);
    if (parts <= max_parts) return parts;
    std::uint32_t lowest = record.refused.load(std::memory_order_relaxed);  // relaxed: published with the step's count
    while (i < lowest &&
           !record.refused.compare_exchange_weak(lowest, i, std::memory_order_relaxed,  // relaxed: as above
                                                 std::memory_order_relaxed)) {
    }
    if constexpr (requires { job->refuse(record.step, i, record.slot, parts); })
      job->refuse(record.step, i, record.slot, parts);
    return 0;
  }

  // The job's code always runs under the fixed floating-point mode; not inlined, so that no arithmetic leaves it.
  unsigned call_open(Record& record, unsigned i) noexcept {
    const FloatMode mode;
    return job_open(*job, record, i);
  }
  void call_part(Record& record, unsigned i, unsigned k, PartInfo info) noexcept {
    const FloatMode mode;
    job_part(*job, record, i, k, info);
  }

  bool is_void(std::uint64_t ticket) const noexcept {
    return ticket < void_below.load(std::memory_order_relaxed);  // relaxed: advice to skip the job's code
  }
  std::size_t position(std::uint64_t step, unsigned i) const noexcept {
    return static_cast<std::size_t>(step % places) * batch + i;
  }
  Record& record_at(std::size_t p) noexcept {
    // [A6] acquire, from [R2]: the binding of the step whose bit led here, or a later one.
    return *records[bindings[p / batch].load(std::memory_order_acquire) & 0xFFFF];
  }

  /// Is a part or an item of `step` there to be claimed?
  bool claimable(std::uint64_t step) const noexcept {
    if (steal && open_items.find(position(step, 0), batch) != open_items.none) return true;
    // relaxed: only the consumer, who asks, raises the limit; a ticket that is there does not go unseen.
    return next_ticket.load(std::memory_order_relaxed) < (step + 1) * batch;
  }

  /// Gives a delivered slot back, from any thread. Progress: wait-free when the consumer does not sleep.
  void release_lease(std::uint16_t slot) noexcept {
    pool.release(slot);
    // [R7] release, to [A7]: the slot is free before the lease is off the count.
    leases.fetch_sub(1, std::memory_order_release);
    events.notify_one();
  }

  const std::shared_ptr<Job> job;
  WorkerSource workers;
  const unsigned threads;
  const unsigned window;
  const unsigned span;    // how far a step may overtake
  const unsigned places;  // of the ring: steps from the oldest undelivered one to the newest that can be bound
  const unsigned batch;
  const bool steal;
  const unsigned slots;

  std::vector<std::unique_ptr<Record>> records;
  OpenItems<Atom> open_items;
  std::unique_ptr<Atom<std::uint64_t>[]> bindings;  // per place: items of the step, slot number (16 bits)
  ReorderRing<std::uint16_t, Atom> ring;
  SlabPool<Atom> pool;
  EventCount<Atom> events;
  Activity<Atom> activity;

  alignas(cache_line) Atom<std::uint64_t> next_ticket{0};
  // Written by the consumer, read by workers.
  alignas(cache_line) Atom<std::uint64_t> ticket_limit{0};
  Atom<std::uint64_t> void_below{0};
  Atom<std::uint64_t> helped_step{no_step};   // the step the waiting consumer works on
  Atom<std::uint64_t> awaited_step{no_step};  // the oldest step that would end the waiting consumer's sleep
  Atom<std::uint64_t> oldest_position{0};
  // Written where workers start and leave, and by leases.
  alignas(cache_line) Atom<std::uint32_t> running{0};
  Atom<std::uint32_t> voided{0};  // records of cancelled steps that are not counted down
  Atom<std::uint32_t> leases{0};
  alignas(cache_line) std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> helped{0};
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> failed_launches{0};

 private:
  void run_part(Record& record, unsigned i, unsigned left, bool helping) noexcept {
    ItemRecord<Atom>& item = record.items[i];
    if (left == 1)
      close_bit(position(record.step, i));
    else
      wake_next();
    const bool is_stolen = item.opener != this_thread_mark();
    if (is_stolen) stolen.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    if (helping) helped.fetch_add(1, std::memory_order_relaxed);    // relaxed: a statistic
    if (!is_void(record.step * batch + i)) call_part(record, i, item.parts - left, {is_stolen, helping});
    finish_parts(record, item, 1);
  }

  // An item's parts can be claimed: its bit, a tick, and the consumer if it sleeps before this very step.
  void announce_open(std::size_t p) noexcept {
    open_items.set(p);
    announce();
    // [S1] seq_cst, with [S2]: with the bit set before it, see OpenItems.
    const std::uint64_t waited_for = helped_step.load(std::memory_order_seq_cst);
    if (waited_for != no_step && position(waited_for, 0) == p - p % batch) events.notify_one();
  }

  // A worker that found nothing looks a few more times before it leaves: coming back costs far more.
  bool linger(typename Activity<Atom>::Seen seen) const noexcept {
    for (unsigned i = 0; i < lingering; ++i) {
      if (activity.changed(seen)) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    return false;
  }

  void launch() noexcept {
    launches.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    if (workers.launch(this->shared_from_this())) return;
    failed_launches.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    activity.withdraw();
  }

  [[gnu::noinline]] static unsigned job_open(Job& job, Record& record, unsigned i) noexcept {
    return job.open(record.step, i, record.slot);
  }
  [[gnu::noinline]] static void job_part(Job& job, Record& record, unsigned i, unsigned k, PartInfo info) noexcept {
    job.part(record.step, i, k, record.slot, info);
  }

  static constexpr unsigned lingering = std::is_same_v<Atom<int>, std::atomic<int>> ? 100 : 0;
};

// Ordering table (with engine_consumer.hpp)
//   | pair               | publishes                           | who relies on it    | why not weaker               |
//   | R1 -> A1           | record, slot, binding of each step  | who takes a ticket  | relaxed: work in a slot that |
//   |                    | below the limit                     |                     | is not bound yet             |
//   | R2 -> A2, A6       | that the place's last step is over: | who takes a ticket, | relaxed: a ticket of a       |
//   |                    | its tickets are taken               | who follows a bit   | cancelled step in a new slot |
//   | X1 <-> X2, X5      | who has a ticket                    | I2                  | relaxed would do for the     |
//   |                    |                                     |                     | count, not for R2's promise  |
//   | R3 -> A3, A4       | the prefix, the number of parts     | who claims a part   | relaxed: parts that do not   |
//   |                    |                                     |                     | see what they are parts of   |
//   | X3 <-> X3          | each part's work                    | the last finisher   | relaxed: an item delivered   |
//   | X4 <-> X4          | each item's work                    |                     | with half its work unseen    |
//   | R5 -> A5           | the job's last access               | shutdown            | relaxed: the host frees what |
//   |                    |                                     |                     | the job still writes         |
//   | R7 -> A7           | the slot's return to the pool       | next()              | relaxed: room for a lease    |
//   |                    |                                     |                     | but no slot                  |
//   | S1 <-> S2          | bit set against step chosen         | a consumer about to | acq_rel: both sides could    |
//   |                    |                                     | sleep, an opener    | miss each other              |

}  // namespace headrace::detail
