#include "headrace/runtime/worker_arena.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "headrace/runtime/fork_guard.hpp"

namespace headrace {
namespace detail {
namespace {

constexpr unsigned limit = 256;  // oneTBB's max_allowed_parallelism: 255 workers and the calling thread

// Some threads of the process. `outstanding` counts launches queued or running in it.
struct Arena {
  // One slot is kept for a caller that never comes, so that all other slots are workers'.
  explicit Arena(unsigned count) : tasks(static_cast<int>(count) + 1, 1), size(count) {}
  tbb::task_arena tasks;
  unsigned size;
  std::atomic<unsigned> outstanding{0};
};

struct ProcessWorkers {
  std::mutex mutex;  // for what follows; never taken to launch
  std::optional<tbb::global_control> control;
  std::uint64_t token = 0;  // the process in which oneTBB was first used
  unsigned engines = 0;
  unsigned proven = 0;  // threads shown to be creatable at once

  std::atomic<Arena*> arenas[limit] = {};
  std::atomic<unsigned> arena_count{0};
  std::atomic<unsigned> size{0};     // threads of all arenas
  std::atomic<unsigned> queued{0};   // launches that have not started
  std::atomic<unsigned> running{0};  // launches inside work()
};

// Never destroyed: workers may outlive every static object of the host.
ProcessWorkers& process_workers() {
  static auto* const all = new ProcessWorkers;
  return *all;
}

// Creates up to `count` threads that exist at the same time, joins them, and says how many there were.
unsigned prove_threads(unsigned count) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable open;
    bool is_open = false;
  } gate;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  pthread_attr_setstacksize(&attributes, tbb::global_control::active_value(tbb::global_control::thread_stack_size));
  std::vector<pthread_t> threads;
  threads.reserve(count);
  while (threads.size() < count) {
    pthread_t thread;
    const auto wait_at_gate = [](void* argument) -> void* {
      Gate& g = *static_cast<Gate*>(argument);
      std::unique_lock lock(g.mutex);
      g.open.wait(lock, [&] { return g.is_open; });
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, wait_at_gate, &gate) != 0) break;
    threads.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  {
    std::lock_guard lock(gate.mutex);
    gate.is_open = true;
  }
  gate.open.notify_all();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return static_cast<unsigned>(threads.size());
}

// Under the mutex: makes sure that `count` threads can work at once; returns how many can.
unsigned grow(ProcessWorkers& all, unsigned count) {
  if (count > all.proven) all.proven += prove_threads(count - all.proven);
  count = std::min(count, all.proven);
  const unsigned before = all.size.load(std::memory_order_relaxed);
  if (count > before) {
    const unsigned n = all.arena_count.load(std::memory_order_relaxed);
    auto arena = std::make_unique<Arena>(count - before);
    arena->tasks.initialize();
    all.arenas[n].store(arena.release(), std::memory_order_relaxed);
    all.arena_count.store(n + 1, std::memory_order_release);  // pairs with the acquire in pick()
    all.size.store(count, std::memory_order_relaxed);
  }
  return count;
}

// An arena with a free thread, else the one with the shortest queue for its size.
Arena* pick(ProcessWorkers& all) {
  const unsigned n = all.arena_count.load(std::memory_order_acquire);
  Arena* best = nullptr;
  long shortest = LONG_MAX;
  for (unsigned i = 0; i < n; ++i) {
    Arena* arena = all.arenas[i].load(std::memory_order_relaxed);
    const long excess = static_cast<long>(arena->outstanding.load(std::memory_order_relaxed)) - arena->size;
    if (excess < 0) return arena;
    if (excess < shortest) {
      shortest = excess;
      best = arena;
    }
  }
  return best;
}

bool enqueue(ProcessWorkers& all, std::shared_ptr<WorkerTask> task) noexcept;

void run(ProcessWorkers& all, Arena& arena, const std::shared_ptr<WorkerTask>& task) noexcept {
  all.running.fetch_add(1, std::memory_order_relaxed);
  all.queued.fetch_sub(1, std::memory_order_relaxed);
  const WorkerExit exit = task->work();
  all.running.fetch_sub(1, std::memory_order_relaxed);
  arena.outstanding.fetch_sub(1, std::memory_order_relaxed);
  if (exit == WorkerExit::yielded && !enqueue(all, task)) task->abandoned();
}

bool enqueue(ProcessWorkers& all, std::shared_ptr<WorkerTask> task) noexcept {
  Arena* const arena = pick(all);
  if (arena == nullptr) return false;
  arena->outstanding.fetch_add(1, std::memory_order_relaxed);
  all.queued.fetch_add(1, std::memory_order_relaxed);
  try {
    arena->tasks.enqueue([&all, arena, task = std::move(task)] { run(all, *arena, task); });
    return true;
  } catch (...) {
    arena->outstanding.fetch_sub(1, std::memory_order_relaxed);
    all.queued.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
}

}  // namespace

Workers::Workers(unsigned threads) {
  if (threads == 0) return;
  ProcessWorkers& all = process_workers();
  std::lock_guard lock(all.mutex);
  if (all.token == 0) all.token = process_token();
  if (all.token != process_token()) return;  // oneTBB was used before a fork: its threads are not in this process
  ++all.engines;
  counted_ = true;
  threads = std::min(threads, limit - 1);
  try {
    if (!all.control) all.control.emplace(tbb::global_control::max_allowed_parallelism, limit);
    const std::size_t allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    threads_ = grow(all, static_cast<unsigned>(std::min<std::size_t>(threads, allowed - 1)));
  } catch (...) {
    threads_ = std::min(threads, all.size.load(std::memory_order_relaxed));
  }
}

Workers::~Workers() {
  if (!counted_) return;
  ProcessWorkers& all = process_workers();
  if (all.token != process_token()) return;  // in a child nobody counts, and the mutex may never be free again
  std::lock_guard lock(all.mutex);
  --all.engines;
}

bool Workers::launch(std::shared_ptr<WorkerTask> task) noexcept {
  return threads_ != 0 && enqueue(process_workers(), std::move(task));
}

bool Workers::crowded() noexcept {
  const ProcessWorkers& all = process_workers();
  return all.queued.load(std::memory_order_relaxed) != 0 &&
         all.running.load(std::memory_order_relaxed) >= all.size.load(std::memory_order_relaxed);
}

}  // namespace detail

bool shutdown() noexcept {
  detail::ProcessWorkers& all = detail::process_workers();
  std::lock_guard lock(all.mutex);
  if (all.engines != 0 || all.queued.load(std::memory_order_acquire) != 0 ||
      all.running.load(std::memory_order_acquire) != 0) {
    return false;
  }
  if (all.token != 0 && all.token != detail::process_token()) return false;
  if (!all.control) return true;  // nothing was started
  // oneTBB needs a worker to put its arenas away. Where none is allowed (a host's limit of 1, or one processor and our
  // limit gone first) finalize() was seen to wait for ever.
  if (tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) < 2) return false;
  try {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    const unsigned n = all.arena_count.exchange(0, std::memory_order_relaxed);
    for (unsigned i = 0; i < n; ++i) delete all.arenas[i].exchange(nullptr, std::memory_order_relaxed);
    all.size.store(0, std::memory_order_relaxed);
    all.proven = 0;
    const bool ended = tbb::finalize(handle, std::nothrow);
    all.control.reset();
    return ended;
  } catch (...) {
    return false;
  }
}

}  // namespace headrace
