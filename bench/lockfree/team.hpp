// Threads that are made and parked before the clock starts, and what a burst of items cost them.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "support/settings.hpp"

namespace bench {

// The processors this process may use.
inline const std::vector<unsigned>& processors() {
  static const std::vector<unsigned> list = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<unsigned> found;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (unsigned i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) found.push_back(i);
    return found;
  }();
  return list;
}

inline void pin_this_thread(unsigned place) {
  if (processors().empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors()[place % processors().size()], &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

struct Usage {
  double cpu_ns = 0;
  double switches = 0;
  static Usage now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    rusage r{};
    getrusage(RUSAGE_SELF, &r);
    return {double(t.tv_sec) * 1e9 + double(t.tv_nsec), double(r.ru_nvcsw + r.ru_nivcsw)};
  }
};

// Nanoseconds for a cache line to go from the first processor to the second and back: virtual processors may be two
// threads of one core now and two cores a minute later, and what queues cost goes with it. 0 with one processor.
inline double line_round_trip() {
  if (processors().size() < 2) return 0;
  const std::uint32_t trips = settings.quick ? 50 : 5'000;
  alignas(64) std::atomic<std::uint32_t> line{0};
  std::int64_t begin = 0, end = 0;
  std::thread other([&] {
    pin_this_thread(1);
    for (std::uint32_t i = 0; i < trips; ++i) {
      while (line.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      line.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::thread one([&] {
    pin_this_thread(0);
    for (std::uint32_t i = 0; i < trips; ++i) {
      if (i == trips / 10) begin = nanoseconds();  // both threads are there by then
      line.store(2 * i + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
    end = nanoseconds();
  });
  one.join();
  other.join();
  return double(end - begin) / double(trips - trips / 10);
}

class Team {
 public:
  // `place[i]`: the processor of thread i, counted among those there are.
  Team(const std::vector<unsigned>& place, std::function<void(unsigned)> body)
      : body_(std::move(body)), marks_(place.size()) {
    for (unsigned i = 0; i < place.size(); ++i) {
      threads_.emplace_back([this, i, at = place[i]] {
        pin_this_thread(at);
        done_.fetch_add(1), done_.notify_one();
        for (std::uint32_t seen = 0;;) {
          round_.wait(seen);
          seen = round_.load();
          if (stop_.load()) return;
          marks_[i].begin = nanoseconds();
          body_(i);
          marks_[i].end = nanoseconds();
          done_.fetch_add(1), done_.notify_one();
        }
      });
    }
    await_all();
  }
  ~Team() {
    stop_.store(true);
    round_.fetch_add(1), round_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  // One burst: seconds from the first thread's start to the last one's end.
  double run() {
    round_.fetch_add(1), round_.notify_all();
    await_all();
    std::int64_t begin = marks_[0].begin, end = marks_[0].end;
    for (const Mark& m : marks_) begin = std::min(begin, m.begin), end = std::max(end, m.end);
    return double(end - begin) * 1e-9;
  }

 private:
  struct alignas(64) Mark {
    std::int64_t begin = 0, end = 0;
  };
  void await_all() {
    const auto all = static_cast<std::uint32_t>(threads_.size());
    for (std::uint32_t n = done_.load(); n != all; n = done_.load()) done_.wait(n);
    done_.store(0);
  }

  std::function<void(unsigned)> body_;
  std::vector<Mark> marks_;
  alignas(64) std::atomic<std::uint32_t> round_{0};
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace bench
