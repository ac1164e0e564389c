// The process's worker threads: oneTBB threads in arenas of our own, shared by all engines.
//
// oneTBB creates and keeps the threads; an engine asks for one to come and run its work() until there is nothing left
// to do. What this layer adds is what a library needs to be a good guest:
//  * One process-wide oneTBB limit, raised once to 256 and only by the first engine, so that more workers than
//    processors can exist (a reading worker costs no core). oneTBB applies the smallest limit alive, so a host's own
//    limit still rules, and a host's own loops keep their width.
//  * Never more threads than the largest `threads` any engine asked for so far: when a larger number is asked, an arena
//    with the difference is added, and all engines share all arenas. Where engines compete, workers take turns.
//  * An arena is never larger than what oneTBB allows at that moment (it would print a warning on the host's stderr).
//  * Threads are proven before they are promised: oneTBB ends the process when it cannot create a thread, so as many
//    plain threads as are new are created and joined once, and the promise is cut to what worked.
//  * Nothing ever waits for a launch that has not started: on a host's only worker it might never start.
#pragma once
#include <memory>

namespace headrace {

/// Ends oneTBB's worker threads, if no engine is alive and the host uses no oneTBB; they start again when needed.
/// True when they ended or none was started. Blocks until they have. False, at once, while an engine or a launch is
/// alive or a host's oneTBB limit allows no worker. Not from inside a oneTBB task.
bool shutdown() noexcept;

namespace detail {

enum class WorkerExit {
  left,    ///< nothing to do; gone until launched again
  yielded  ///< more to do, but others wait for a thread: put at the end of the queue
};

/// Something that workers work on. Each launch holds a reference until its work() has returned.
class WorkerTask {
 public:
  WorkerTask() = default;
  WorkerTask(const WorkerTask&) = delete;
  WorkerTask& operator=(const WorkerTask&) = delete;
  virtual ~WorkerTask() = default;
  virtual WorkerExit work() noexcept = 0;
  /// A launch that had yielded could not be queued again.
  virtual void abandoned() noexcept = 0;
};

/// A claim on workers; move-free, cheap. While one lives, shutdown() refuses.
class Workers {
 public:
  /// Asks for `threads` workers; see threads() for what can be had. Throws nothing but std::bad_alloc.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Workers that can really come: the number asked for, cut to 255, to oneTBB's limit in force and to the threads that
  /// could be created. 0: nobody will come, the caller does the work.
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Queues one worker for `task`. False when that failed (no memory). Never blocks on a thread; oneTBB takes its own
  /// short locks.
  [[nodiscard]] bool launch(std::shared_ptr<WorkerTask> task) noexcept;

  /// Are all threads busy while launches of some engine wait? Progress: wait-free (two loads).
  [[nodiscard]] static bool crowded() noexcept;

 private:
  unsigned threads_ = 0;
  bool counted_ = false;
};

}  // namespace detail
}  // namespace headrace
