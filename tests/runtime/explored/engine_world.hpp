// The engine in the explorer: a stand-in for oneTBB's threads, a job that watches its slots, and the book-keeping that
// says at any moment what was made how often.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "headrace/runtime/engine.hpp"
#include "support/explorer.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {

/// Threads that wait for launches, as oneTBB's do: explored threads, made when first needed, at most `threads`. A
/// launch that finds all of them busy is queued. The launch happens before the work, and orders nothing else.
class ExploredArena {
 public:
  explicit ExploredArena(Execution& run, unsigned threads, unsigned consumers = 1)
      : run_(run), most_(threads), consumers_(consumers) {
    current_ = this;
  }
  ExploredArena(const ExploredArena&) = delete;
  ExploredArena& operator=(const ExploredArena&) = delete;
  ~ExploredArena() { current_ = nullptr; }

  /// Called as a thread: work for one of the arena's threads. A thread may stop for good on its way in.
  bool enqueue(std::function<void()> work) {
    const bool before = std::exchange(must_wake_[run_.self()], true);
    run_.point();
    must_wake_[run_.self()] = before;
    queue_.push_back({std::move(work), run_.self()});
    start_one();
    return true;
  }
  /// As enqueue, for pieces of a nested loop: the waiting thread may run them, and nothing else (isolation).
  void enqueue_piece(std::function<void()> work) {
    run_.point();
    pieces_.push_back({std::move(work), run_.self()});
    start_one();
  }
  bool run_piece() { return run_from(pieces_); }
  /// A consumer is done; after the last one the threads end.
  void leave() {
    if (--consumers_ != 0) return;
    over_ = true;
    for (unsigned i = 0; i < count_; ++i) {
      servers_[i].idle = false;
      run_.wake(&servers_[i], 1);
    }
  }
  /// May others sleep although there is work, because this thread has yet to say so? From its start until it is inside
  /// the job, from an item's opening until it is inside the job again, and while it launches.
  [[nodiscard]] bool must_wake(unsigned thread) const { return must_wake_[thread]; }
  void must_wake() { must_wake_[run_.self()] = true; }
  void is_inside() { must_wake_[run_.self()] = false; }
  [[nodiscard]] bool waits() const { return !queue_.empty(); }
  static ExploredArena* current() { return current_; }

  bool starts_nobody = false;  ///< launches are queued and never run
  unsigned fail_one_in = 0;    ///< launches that fail
  bool turns = false;          ///< workers take turns where others wait

 private:
  struct Queued {
    std::function<void()> work;
    unsigned from;
  };
  struct Server {
    bool idle = false;
  };

  void start_one() {
    for (unsigned i = 0; i < count_; ++i) {
      if (!servers_[i].idle) continue;
      servers_[i].idle = false;
      run_.wake(&servers_[i], 1);
      return;
    }
    if (count_ == most_) return;
    Server& server = servers_[count_++];
    run_.spawn([this, &server] { serve(server); });
  }
  bool run_from(std::deque<Queued>& queue) {
    if (queue.empty()) return false;
    const Queued next = std::move(queue.front());
    queue.pop_front();
    if (run_.memory() != nullptr) run_.memory()->synchronise(next.from, run_.self());
    next.work();
    return true;
  }
  void serve(Server& server) {
    for (;;) {
      if (!starts_nobody && (run_from(pieces_) || run_from(queue_))) continue;
      if (over_) return;
      server.idle = true;
      run_.sleep(&server);
    }
  }

  static inline ExploredArena* current_ = nullptr;
  Execution& run_;
  const unsigned most_;
  unsigned consumers_;
  bool over_ = false;
  unsigned count_ = 0;
  std::array<Server, 8> servers_;
  std::array<bool, most_threads> must_wake_{};
  std::deque<Queued> queue_, pieces_;
};

/// The engine's source of workers: the arena of the run.
class ExploredWorkers {
 public:
  explicit ExploredWorkers(unsigned threads) : threads_(threads) {}
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }
  bool launch(std::shared_ptr<detail::WorkerTask> task) noexcept {
    ExploredArena& arena = *ExploredArena::current();
    if (arena.fail_one_in != 0 && ++asked_ % arena.fail_one_in == 0) return false;
    return arena.enqueue([task = std::move(task)] { work(task); });
  }
  static bool crowded() noexcept { return ExploredArena::current()->turns && ExploredArena::current()->waits(); }

 private:
  static void work(const std::shared_ptr<detail::WorkerTask>& task) {
    ExploredArena::current()->must_wake();
    if (task->work() == detail::WorkerExit::yielded) ExploredArena::current()->enqueue([task] { work(task); });
  }
  unsigned threads_;
  unsigned asked_ = 0;
};

/// Shape of a job and what happened to it. Steps are counted from the engine's beginning, restarts included.
struct Book {
  static constexpr unsigned most_steps = 16, most_items = 3, most_parts = 3;
  Execution& run;
  unsigned batch = 1, parts = 2;
  bool whole = true;        ///< else shapes differ from item to item, 0 parts included
  std::uint64_t first = 0;  ///< bind() says the end from here on
  unsigned window = 1;
  std::uint64_t delivered = 0;  ///< steps delivered or cancelled, kept by the consumer
  std::uint64_t bound = 0;
  std::array<std::array<unsigned, most_items>, most_steps> opened{};
  std::array<std::array<std::array<unsigned, most_parts>, most_items>, most_steps> made{};
  std::function<void(std::uint64_t, unsigned, unsigned)> in_part{};  ///< called inside each part

  [[nodiscard]] unsigned items(std::uint64_t s) const {
    return whole ? batch : 1 + static_cast<unsigned>((s + 1) % batch);
  }
  [[nodiscard]] unsigned parts_of(std::uint64_t s, unsigned i) const {
    return whole ? parts : static_cast<unsigned>((s * 2 + i + 2) % (parts + 1));
  }
  /// Items of steps [from, to) that are not wholly made.
  [[nodiscard]] unsigned unmade(std::uint64_t from, std::uint64_t to) const {
    unsigned n = 0;
    for (std::uint64_t s = from; s < to; ++s) {
      for (unsigned i = 0; i < items(s); ++i) n += !whole_item(s, i);
    }
    return n;
  }
  [[nodiscard]] bool whole_item(std::uint64_t s, unsigned i) const {
    if (opened[s][i] != 1) return false;
    for (unsigned k = 0; k < parts_of(s, i); ++k) {
      if (made[s][i][k] != 1) return false;
    }
    return true;
  }
};

/// After a clean shutdown the host may read, or free, whatever the job has written, of cancelled steps too.
inline void read_as_host(const Book& book) {
  for (std::uint64_t s = 0; s < book.bound; ++s) {
    for (unsigned i = 0; i < book.items(s); ++i) {
      if (book.opened[s][i] != 0) plain_read(&book.opened[s][i]);
      for (unsigned k = 0; k < book.parts_of(s, i); ++k) {
        if (book.made[s][i][k] != 0) plain_read(&book.made[s][i][k]);
      }
    }
  }
}

/// What every slot holds is written and read by plain accesses, which the weak memory mode watches; so a slot used too
/// early, too late or by two is a data race there, and a wrong count in every mode.
struct WatchedJob {
  struct Slot {
    Slot() {}  // NOLINT: value-initialised by the engine
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {  // the memory may serve another engine of the run
      forget(step);
      for (auto& cell : prefix) forget(cell);
      for (auto& item : part) {
        for (auto& cell : item) forget(cell);
      }
    }
    RaceCell<std::uint64_t> step;
    std::array<RaceCell<std::uint64_t>, Book::most_items> prefix;
    std::array<std::array<RaceCell<std::uint64_t>, Book::most_parts>, Book::most_items> part;
    unsigned inside = 0;  // threads in open() or part()

   private:
    static void forget(const RaceCell<std::uint64_t>& cell) {
      if (Execution* const run = Execution::active()) run->plain(&cell) = {};
    }
  };
  std::shared_ptr<Book> book;

  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    if (slot.inside != 0) book->run.fail("a slot is bound while somebody is inside");
    if (s >= book->first || s >= Book::most_steps) return 0;
    if (s >= book->delivered + 1 + book->window) book->run.fail("window exceeded");  // + 1: next() is about to return
    book->bound = s + 1;
    slot.step.write(s);
    for (unsigned i = 0; i < book->items(s); ++i) {
      slot.prefix[i].write(0);
      for (unsigned k = 0; k < book->parts_of(s, i); ++k) slot.part[i][k].write(0);
    }
    return book->items(s);
  }
  unsigned open(std::uint64_t s, unsigned i, Slot& slot) noexcept {
    enter(s, slot);
    if (s >= Book::most_steps || i >= book->items(s)) book->run.fail("an item that is none");
    slot.prefix[i].write(s + 100);
    plain_write(&book->opened[s][i]);
    if (++book->opened[s][i] != 1) book->run.fail("an item was opened twice");
    ExploredArena::current()->must_wake();
    --slot.inside;
    return book->parts_of(s, i);
  }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
    enter(s, slot);
    if (slot.prefix[i].read() != s + 100) book->run.fail("a part that does not see its prefix");
    if (k >= book->parts_of(s, i)) book->run.fail("a part that is none");
    slot.part[i][k].write(s + 200 + k);
    plain_write(&book->made[s][i][k]);
    if (++book->made[s][i][k] != 1) book->run.fail("a part was made twice");
    if (book->in_part) book->in_part(s, i, k);
    --slot.inside;
  }

 private:
  void enter(std::uint64_t s, Slot& slot) noexcept {
    ++slot.inside;
    ExploredArena::current()->is_inside();
    if (slot.step.read() != s) book->run.fail("in the slot of another step");
  }
};

using ExploredEngine = BasicEngine<WatchedJob, ExploredAtomic, ExploredWorkers>;

/// A delivered step must be whole, and nobody inside.
inline void check_step(const Book& book, const ExploredEngine::Lease& lease) {
  const std::uint64_t s = lease.step();
  if (lease->inside != 0) book.run.fail("delivered while somebody is inside");
  if (lease->step.read() != s || lease.items() != book.items(s)) book.run.fail("the wrong slot was delivered");
  for (unsigned i = 0; i < lease.items(); ++i) {
    bool right = book.whole_item(s, i) && lease->prefix[i].read() == s + 100;
    for (unsigned k = 0; k < book.parts_of(s, i); ++k) right = right && lease->part[i][k].read() == s + 200 + k;
    if (!right) book.run.fail("step " + std::to_string(s) + " item " + std::to_string(i) + " is not whole");
  }
}

/// What differs from program to program.
struct EnginePlan {
  EngineOptions options{};
  unsigned steps = 3, batch = 1, parts = 2;
  bool whole = true;
  unsigned arena = 0;  ///< threads of the arena; 0: one more than the engine's, so that no launch waits
};

inline std::shared_ptr<Book> make_book(Execution& run, const EnginePlan& plan) {
  return std::make_shared<Book>(Book{.run = run,
                                     .batch = plan.batch,
                                     .parts = plan.parts,
                                     .whole = plan.whole,
                                     .first = plan.steps,
                                     .window = plan.options.window});
}

/// Makes an engine in the calling thread, lets `consume(engine, book)` use it, checks what can be checked at the end.
template <class Consume>
void live(const std::shared_ptr<Book>& book, const EnginePlan& plan, Consume&& consume) {
  EngineOptions options = plan.options;
  options.batch = plan.batch;
  {
    ExploredEngine engine(WatchedJob{book}, options);
    consume(engine, *book);
    const EngineStats stats = engine.stats();
    if (stats.window_high_water > options.window) book->run.fail("window exceeded");
    if (stats.rescues != 0) book->run.fail("a wakeup was lost");
    if (!engine.shutdown().clean) book->run.fail("not clean");
    read_as_host(*book);
  }
  ExploredArena::current()->leave();
}

/// A program of one engine and one consumer, which is thread 0; `prepare(arena, book)` may change what is to come.
template <class Consume, class Prepare>
void one_engine(Execution& run, const EnginePlan& plan, Consume consume, Prepare prepare) {
  ExploredArena arena(run, plan.arena != 0 ? plan.arena : plan.options.threads + 1);
  const auto book = make_book(run, plan);
  prepare(arena, *book);
  run.spawn([&] { live(book, plan, consume); });
  run.run();
  run.thaw();  // a frozen thread that nobody waited for
  run.run();
}
template <class Consume>
void one_engine(Execution& run, const EnginePlan& plan, Consume consume) {
  one_engine(run, plan, std::move(consume), [](ExploredArena&, Book&) {});
}

/// Takes steps up to the end.
inline void take_all(ExploredEngine& engine, Book& book) {
  while (auto lease = engine.next()) {
    if (lease.step() != book.delivered) book.run.fail("out of order");
    ++book.delivered;
    check_step(book, lease);
  }
  if (book.delivered != book.first) book.run.fail("ended early");
}

}  // namespace headrace::test
