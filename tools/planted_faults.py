"""The rows of plant_faults: the fault, the test that pins it, the change that brings it back.

A change is (file, text, text instead); the text, or one of several, must be in the file exactly once. `how`: "run" the test program;
"must not compile": a file that has to be refused and, with the change, is not; "layout": the change itself has to be
refused, by a static assertion."""
from dataclasses import dataclass

LOCKFREE = "include/headrace/lockfree/"
RUNTIME = "include/headrace/runtime/"
INDEX, MPMC, SPSC = LOCKFREE + "index_ring.hpp", LOCKFREE + "mpmc_ring.hpp", LOCKFREE + "spsc_ring.hpp"
REORDER, SLABS, EVENTS = LOCKFREE + "reorder_ring.hpp", LOCKFREE + "slab_pool.hpp", LOCKFREE + "event_count.hpp"
BLOCKING, CONSUMER = LOCKFREE + "blocking.hpp", RUNTIME + "engine_consumer.hpp"
TESTS, ENGINE_TESTS = "tests/lockfree/", "tests/runtime/"
TSAN = ("-fsanitize=thread", "-g1")


@dataclass(frozen=True)
class Row:
    number: str
    fault: str
    test: str
    cases: str
    changes: tuple
    how: str = "run"
    short: bool = False
    limit: int = 40  # seconds, for the changed program
    flags: tuple = ()


ROWS = [
    # 1: a stalled thread stops the others
    Row("1a", "MpmcRing: the tail is moved only by who filled its entry", TESTS + "rings_progress_test.cpp",
        "*with_up_to_capacity_minus_one*", (
            (INDEX, "lag_(size < most_lag ? static_cast<unsigned>(size) : most_lag)", "lag_(1)"),
            (INDEX, """        if (tail_.compare_exchange_strong(tail, position, std::memory_order_relaxed, std::memory_order_relaxed)) {
          tail = position;
        }
""", "        tail = tail_.load();\n"),
            (INDEX, """                                          std::memory_order_relaxed)) {
          return true;
""", """                                          std::memory_order_relaxed)) {
          tail_.store(next(position));
          return true;
""")), short=True),
    Row("1b", "SpscRing: try_claim waits for room", TESTS + "rings_progress_test.cpp", "*SpscRing*", (
        (SPSC, "      if (tail == full_at_) return nullptr;\n",
         "      while (tail == full_at_) full_at_ = lap_apart(head_.load(std::memory_order_acquire));\n"),), limit=10),
    Row("1c", "ReorderRing: try_take waits for the publisher", TESTS + "progress_test.cpp", "*ReorderRing*", (
        (REORDER, "    if (!is_ready(stamp, next_)) return std::nullopt;\n",
         "    while (!is_ready(place.stamp.load(std::memory_order_acquire), next_)) {\n    }\n"),), limit=10),
    Row("1d", "SlabPool: acquire takes a whole word out and puts the rest back", TESTS + "progress_test.cpp", "*SlabPool*", (
        (SLABS, "if (words_[w].bits.compare_exchange_weak(bits, rest, std::memory_order_acquire, std::memory_order_relaxed)) {",
         "if (bits = words_[w].bits.exchange(0, std::memory_order_acquire); bits != 0) {\n"
         "          words_[w].bits.fetch_or(bits & (bits - 1), std::memory_order_release);\n"
         "          static_cast<void>(rest);"),)),
    Row("1e", "EventCount: notify waits until the woken are gone", TESTS + "progress_test.cpp", "*EventCount*", (
        (EVENTS, "if (static_cast<std::uint32_t>(before) != 0) detail::Futex<Atom>::wake(word_, count);",
         "if (static_cast<std::uint32_t>(before) != 0) detail::Futex<Atom>::wake(word_, count);\n"
         "    while (static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed)) != 0) {\n    }"),)),
    # 2: the lost element of B1
    Row("2a", "SCQ: a dequeuer sets the safe bit (in the control)", TESTS + "rings_linearizable_test.cpp", "*lost_element*", (
        ("tests/support/scq_ring.hpp", "KeepsSafeBit ? safe(seen) : true", "true"),), short=True),
    Row("2b", "IndexRing: an entry of a later lap is taken for free", TESTS + "rings_linearizable_test.cpp",
        "*small_histories*", (
            (INDEX, "      if (is_free(seen, position)) {", "      if (cycle(seen) != cycle(position)) {"),)),
    # 3: exactly once, in each producer's order
    Row("3a", "IndexRing: two takers get one number", TESTS + "rings_linearizable_test.cpp", "*small_histories*", (
        (INDEX, "if (head_.compare_exchange_strong(head, next(head), std::memory_order_relaxed, std::memory_order_relaxed)) {",
         "if (head_.load(std::memory_order_relaxed) == head &&\n"
         "            (head_.store(next(head), std::memory_order_relaxed), true)) {"),), limit=10),
    Row("3b", "the same, on real threads", TESTS + "rings_stress_test.cpp", "*Histories*", (
        (INDEX, "if (head_.compare_exchange_strong(head, next(head), std::memory_order_relaxed, std::memory_order_relaxed)) {",
         "if (head_.load(std::memory_order_relaxed) == head &&\n"
         "            (head_.store(next(head), std::memory_order_relaxed), true)) {"),), short=True),
    Row("3c", "IndexRing: the tail may lag by more than a lap", TESTS + "rings_linearizable_test.cpp", "*small_histories*", (
        (INDEX, "lag_(size < most_lag ? static_cast<unsigned>(size) : most_lag)", "lag_(most_lag)"),), limit=10),
    # 4: the end of the stream is not an empty queue
    Row("4a", "MpmcRing: the end is `closed and empty`", TESTS + "rings_linearizable_test.cpp", "*close_overtakes*", (
        (MPMC, "    ready_.close();\n", ""),
        (MPMC, "if (!ready_.ended()) return false;", "if (!closed() || !ready_.empty()) return false;")), short=True),
    Row("4b", "SpscRing: looks for elements first, then for the close", TESTS + "spsc_ring_test.cpp", "Scheduled*", (
        (SPSC, "return closed() && empty();", "return empty() && closed();"),)),
    # 5: counters that wrap
    Row("5a", "IndexRing: cycles are compared by `<`", TESTS + "mpmc_ring_test.cpp", "*wrap*", (
        (INDEX, "return static_cast<Word>((cycle(entry) + 1) << index_bits) == static_cast<Word>(cycle(position) << index_bits);",
         "return cycle(entry) < cycle(position);"),), limit=15),
    Row("5b", "ReorderRing: the stamp loses the top of its sequence, the caller's does not", TESTS + "reorder_ring_test.cpp",
        "*wraps*", (
            (REORDER, "    return (stamp & ~payload_mask) == ready_stamp(s, 0);",
             "    return (stamp & ready_bit) != 0 && stamp >> sequence_shift == s;"),), short=True),
    # 6: capacities that are no power of two
    Row("6a", "IndexRing: places by mask", TESTS + "mpmc_ring_test.cpp", "*exactly_its_capacity*", (
        (INDEX, "return place(position) + 1 == size_ ?", "return ((place(position) + 1) & (size_ - 1)) == 0 ?"),),
        limit=15),
    Row("6b", "SpscRing: places by mask", TESTS + "spsc_ring_test.cpp", "*exactly_its_capacity*", (
        (SPSC, "    return position < capacity_ ? position : position - capacity_;\n  }\n  std::size_t lap_apart",
         "    return position & (capacity_ - 1);\n  }\n  std::size_t lap_apart"),), limit=15, short=True),
    # 7: capacity 0 and SIZE_MAX
    Row("7a", "MpmcRing: no check of the capacity", TESTS + "mpmc_ring_test.cpp", "*impossible*", (
        (MPMC, "if (capacity == 0 || capacity > max_capacity)", "if (false)"),), short=True),
    Row("7b", "the bytes of an array wrap", TESTS + "spsc_ring_test.cpp", "*impossible*", (
        (LOCKFREE + "aligned_array.hpp", "if (count > most / sizeof(T)) throw std::bad_array_new_length();", ""),), limit=15),
    Row("7c", "ReorderRing: no check of the capacity", TESTS + "reorder_ring_test.cpp", "*Capacity_0*", (
        (REORDER, "if (capacity == 0 || capacity > (std::size_t{1} << 32))", "if (false)"),), limit=15),
    # 8: the capacity is exact
    Row("8a", "MpmcRing: rounds up in silence; capacity() tells the old number", TESTS + "faults_test.cpp", "*high_water*", (
        (MPMC, "#include <atomic>\n", "#include <atomic>\n#include <bit>\n"),
        (MPMC, "        slots_(capacity),\n", "        slots_(capacity = std::bit_ceil(capacity)),\n")), short=True),
    Row("8b", "SpscRing: one place less", TESTS + "spsc_ring_test.cpp", "*exactly_its_capacity*", (
        (SPSC, "    return position < capacity_ ? position + capacity_ : position - capacity_;",
         "    return (position + capacity_ - (capacity_ > 1 ? 1 : 0)) % (2 * capacity_);"),)),
    # 9: copies that throw
    Row("9a", "MpmcRing: the copy is made when a place is taken", TESTS + "mpmc_ring_test.cpp", "*throwing_copy*", (
        (MPMC, "    if constexpr (std::is_nothrow_copy_constructible_v<T>) {", "    if constexpr (true) {"),), short=True),
    Row("9b", "the same, through every form of a blocking push", TESTS + "faults_test.cpp", "*copy_that_throws*", (
        (MPMC, "    if constexpr (std::is_nothrow_copy_constructible_v<T>) {", "    if constexpr (true) {"),)),
    Row("9c", "SpscRing: published before the copy is made", TESTS + "spsc_ring_test.cpp", "*throwing_copy*", (
        (SPSC, "    std::construct_at(place, value);\n    publish();\n", "    publish();\n    std::construct_at(place, value);\n"),)),
    Row("9d", "Blocking: noexcept on a push that copies", TESTS + "faults_test.cpp", "*copy_that_throws*", (
        (BLOCKING, "PushResult push(const value_type& value) requires", "PushResult push(const value_type& value) noexcept requires"),)),
    # 10: moves that throw do not compile
    Row("10a", "MpmcRing: takes elements whose move may throw", TESTS + "compile_fail/mpmc_throwing_move.cpp", "compile-fail test", (
        (LOCKFREE + "element.hpp", "std::is_nothrow_move_constructible_v<T>", "std::is_move_constructible_v<T>"),),
        how="must not compile", short=True),
    Row("10b", "SpscRing: takes elements whose destructor may throw", TESTS + "compile_fail/spsc_throwing_destructor.cpp",
        "compile-fail test", (
            (LOCKFREE + "element.hpp", "std::is_nothrow_destructible_v<T>", "std::is_destructible_v<T>"),
            (LOCKFREE + "element.hpp", "std::is_nothrow_move_constructible_v<T>", "std::is_move_constructible_v<T>")),
        how="must not compile"),
    Row("10c", "ReorderRing: takes values whose move may throw", TESTS + "compile_fail/throwing_move.cpp", "compile-fail test", (
        (REORDER, "std::is_nothrow_move_constructible_v<T> &&", "std::is_move_constructible_v<T> &&"),), how="must not compile"),
    # 11: a failed push leaves its argument
    Row("11a", "MpmcRing: moves the argument before it looks", TESTS + "mpmc_ring_test.cpp", "*failed_push*", (
        (MPMC, "  PushResult try_push(T&& value) noexcept {\n    IndexWord i;",
         "  PushResult try_push(T&& value) noexcept {\n    T taken(std::move(value));\n    IndexWord i;"),
        (MPMC, "    std::construct_at(&slots_[i].value, std::move(value));\n    if (ready_.put(i)) return PushResult::ok;",
         "    std::construct_at(&slots_[i].value, std::move(taken));\n    if (ready_.put(i)) return PushResult::ok;")), short=True),
    Row("11b", "MpmcRing: keeps the argument when the close overtakes", TESTS + "rings_linearizable_test.cpp",
        "*close_overtakes*", ((MPMC, "    give_back(value, slots_[i].value);\n", ""),)),
    Row("11c", "ReorderRing: moves the argument before it looks", TESTS + "reorder_ring_test.cpp", "*failed_publish*", (
        (REORDER, "    if (place.stamp.load(std::memory_order_acquire) != open_stamp(s)) return false;",
         "    T taken(std::move(value));\n"
         "    if (place.stamp.load(std::memory_order_acquire) != open_stamp(s)) return false;"),)),
    # 12: over-aligned elements
    Row("12a", "MpmcRing: slots from plain operator new", TESTS + "mpmc_ring_test.cpp", "*Over_aligned*", (
        (LOCKFREE + "aligned_array.hpp", "alignment = std::max(cache_line, alignof(T));", "alignment = 16;"),), short=True),
    Row("12b", "SpscRing: places from plain operator new", TESTS + "spsc_ring_test.cpp", "*Over_aligned*", (
        (LOCKFREE + "aligned_array.hpp", "alignment = std::max(cache_line, alignof(T));", "alignment = 16;"),)),
    # 13: what is left
    Row("13a", "MpmcRing: leftovers are not destroyed", TESTS + "mpmc_ring_test.cpp", "*what_is_left*", (
        (MPMC, "    while (ready_.take(i)) std::destroy_at(&slots_[i].value);", "    static_cast<void>(i);"),), short=True),
    Row("13b", "SpscRing: leftovers are not destroyed", TESTS + "faults_test.cpp", "*Leftovers*", (
        (SPSC, "    while (front() != nullptr) pop();\n", ""),)),
    Row("13c", "ReorderRing: leftovers are not destroyed", TESTS + "reorder_ring_test.cpp", "*Leftovers*", (
        (REORDER, "if (cells_[i].stamp.load(std::memory_order_relaxed) & ready_bit) std::destroy_at(&cells_[i].store.value);", ""),)),
    # 14: close before, during and after a wait
    Row("14a", "Blocking: close wakes nobody", TESTS + "blocking_test.cpp", "ScheduledBlocking.No_wakeup*", (
        (BLOCKING, "    ring_.close();\n    wake_all();\n  }\n\n  /// No push succeeds any more and every pop",
         "    ring_.close();\n  }\n\n  /// No push succeeds any more and every pop"),), short=True),
    Row("14b", "the same, on real threads", TESTS + "blocking_test.cpp", "BlockingQueues*.Sleepers*", (
        (BLOCKING, "    ring_.close();\n    wake_all();\n  }\n\n  /// No push succeeds any more and every pop",
         "    ring_.close();\n  }\n\n  /// No push succeeds any more and every pop"),)),
    Row("14c", "Blocking: a cancel is an event: waiters do not look whether it has come", TESTS + "blocking_test.cpp",
        "ScheduledBlocking.*cancel*", (
            (BLOCKING, "      if (cancelled()) return true;\n      take(value);", "      take(value);"),
            (BLOCKING, "    ring_.close();\n    wake_all();\n  }\n\n  [[nodiscard]] bool closed()",
             "    wake_all();\n  }\n\n  [[nodiscard]] bool closed()")), limit=20),
    # 15: signals and timeouts
    Row("15a", "Futex: an interrupted sleep counts as run out", TESTS + "faults_test.cpp", "*Signals*", (
        (LOCKFREE + "futex.hpp", " == 0 || errno != ETIMEDOUT;", " == 0;"),), short=True),
    Row("15b", "EventCount: an interrupted sleep begins anew", TESTS + "faults_test.cpp", "*Signals*", (
        (EVENTS, "      at_most = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(until - Clock::now()));\n", ""),),
        limit=15),
    Row("15c", "EventCount: a time of nothing sleeps a little", TESTS + "faults_test.cpp", "*No_time*", (
        (EVENTS, "        if (now >= deadline) {", "        if (now >= deadline && sleeps() != 0) {"),
        (EVENTS, "span = std::min(span, std::chrono::nanoseconds(deadline - now));",
         "span = std::max(std::chrono::nanoseconds(1'000'000), std::min(span, std::chrono::nanoseconds(deadline - now)));")),
        short=True, limit=15),
    # 16: no wait beyond the re-check
    Row("16a", "EventCount: no re-check", TESTS + "faults_test.cpp", "*one_recheck*", (
        (EVENTS, "longest_sleep = std::chrono::milliseconds(100);", "longest_sleep = std::chrono::hours(1);"),), limit=15),
    Row("16b", "EventCount: the notify does not reach the kernel", TESTS + "faults_test.cpp", "*before_the_recheck*", (
        (EVENTS, "if (static_cast<std::uint32_t>(before) != 0) detail", "if (static_cast<std::uint32_t>(before) > 1) detail"),)),
    Row("16c", "EventCount: lost wakeups are not counted", TESTS + "faults_test.cpp", "*one_recheck*", (
        (EVENTS, "if (before == (suspicion | key.epoch)) rescues_", "if (before == 0) rescues_"),), short=True),
    # 17: the epoch wraps
    Row("17a", "EventCount: epochs are compared by `<=`", TESTS + "faults_test.cpp", "*wrap_of_the_epoch*", (
        (EVENTS, "while (epoch_of(word_.load(std::memory_order_acquire)) == key.epoch) {",
         "while (epoch_of(word_.load(std::memory_order_acquire)) <= key.epoch) {"),), short=True, limit=15),
    # 18: an arena of one, one processor
    Row("18a", "engine: counts on a worker that a limit of one does not allow", ENGINE_TESTS + "neighbour_test.cpp",
        "*limit_of_one*", (
            ("src/runtime/worker_arena.cpp", "std::min<std::size_t>(threads, allowed - 1)", "std::min<std::size_t>(threads, allowed)"),),
        short=True),
    Row("18b", "engine: the consumer never does the work itself", ENGINE_TESTS + "neighbour_test.cpp", "*only_worker*", (
        (CONSUMER, "    alone_ = true;\n", ""),), limit=20),
    # 19: loops inside parts
    Row("19a", "engine: workers are started as tasks that a waiting thread may steal", ENGINE_TESTS + "engine_faults_test.cpp",
        "*its_own_loop*", (
            ("src/runtime/worker_arena.cpp", "#include <oneapi/tbb/task_arena.h>\n",
             "#include <oneapi/tbb/task_arena.h>\n#include <oneapi/tbb/task_group.h>\n"),
            ("src/runtime/worker_arena.cpp", "    arena->tasks.enqueue([&all, arena, task = std::move(task)] { run(all, *arena, task); });",
             "    static auto* const group = new tbb::task_group;\n"
             "    arena->tasks.execute([&] { group->run([&all, arena, task] { run(all, *arena, task); }); });")), short=True),
    # 20: the window
    Row("20a", "engine: one step more than the window is begun", ENGINE_TESTS + "engine_stress_test.cpp", "*Any_shape*", (
        (CONSUMER, ("bound_ - delivered_ < core_->window &&", "in_flight() < core_->window &&"),
         ("bound_ - delivered_ <= core_->window &&", "in_flight() <= core_->window &&")),), short=True),
    # 21: fork
    Row("21a", "engine: the child is not told apart", ENGINE_TESTS + "fork_test.cpp", "Fork.B*:Fork.C*", (
        (RUNTIME + "fork_guard.hpp", "return process_token() != token_;", "return false;"),), short=True, limit=20),
    # 22: threads that come and go
    Row("22a", "MpmcRing: a thread keeps a place for its next push, and takes it along", TESTS + "rings_stress_test.cpp",
        "*short_lived*", (
            (MPMC, "    if (free_.take(i)) return PushResult::ok;\n", """    static thread_local const void* keeper = nullptr;
    static thread_local IndexWord kept = 0;
    if (keeper == this) {
      keeper = nullptr;
      i = kept;
      return PushResult::ok;
    }
    if (free_.take(i)) {
      if (free_.take(kept)) keeper = this;
      return PushResult::ok;
    }
"""),), short=True),
    # 23: layout
    Row("23a", "SpscRing: both sides on one line", TESTS + "spsc_ring_test.cpp", "static_assert", (
        (SPSC, "  alignas(cache_line) Atom<std::size_t> head_{0};", "  Atom<std::size_t> head_{0};"),), how="layout", short=True),
    Row("23b", "IndexRing: head and tail on one line", TESTS + "mpmc_ring_test.cpp", "static_assert", (
        (INDEX, "  alignas(cache_line) Atom<Word> tail_{0};", "  Atom<Word> tail_{0};"),), how="layout"),
    Row("23c", "ReorderRing: the consumer's counter beside what publishers read", TESTS + "reorder_ring_test.cpp", "static_assert", (
        (REORDER, "  alignas(cache_line) std::uint64_t next_;", "  std::uint64_t next_;"),), how="layout"),
    Row("23d", "SlabPool: two words on one line", TESTS + "slab_pool_test.cpp", "static_assert", (
        (SLABS, "  struct alignas(cache_line) Word {", "  struct Word {"),), how="layout"),
    Row("23e", "EventCount: neighbours share its line", TESTS + "event_count_test.cpp", "static_assert", (
        (EVENTS, "  alignas(cache_line) Atom<std::uint64_t> word_;", "  Atom<std::uint64_t> word_;"),), how="layout"),
    # 24: orders, under the thread sanitizer
    Row("24a", "SpscRing: an element is published relaxed", TESTS + "spsc_ring_test.cpp", "*Two_threads*", (
        (SPSC, "tail_.store(next(tail), std::memory_order_release);", "tail_.store(next(tail), std::memory_order_relaxed);"),),
        flags=TSAN, short=True),
    Row("24b", "IndexRing: an entry is filled relaxed", TESTS + "rings_stress_test.cpp", "*close_sees*:*Cycles_wrap*", (
        (INDEX, "join(cycle(position), index), std::memory_order_seq_cst,", "join(cycle(position), index), std::memory_order_relaxed,"),),
        flags=TSAN),
    Row("24c", "SlabPool: a slab is released relaxed", TESTS + "slab_pool_test.cpp", "*one_holder*", (
        (SLABS, "(i % 64), std::memory_order_release);", "(i % 64), std::memory_order_relaxed);"),), flags=TSAN),
    Row("24d", "ReorderRing: a value is published relaxed", TESTS + "reorder_ring_test.cpp", "*Threads_deliver*", (
        (REORDER, "place.stamp.store(ready_stamp(s, payload(value)), std::memory_order_release);",
         "place.stamp.store(ready_stamp(s, payload(value)), std::memory_order_relaxed);"),), flags=TSAN),
    Row("24e", "MpmcRing: closed without an order", TESTS + "rings_stress_test.cpp", "*close_sees*", (
        (MPMC, "if (!closed()) closed_.store(true, std::memory_order_release);",
         "if (!closed()) closed_.store(true, std::memory_order_relaxed);"),), flags=TSAN),
]
