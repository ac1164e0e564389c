// Ends the process with a message when a test takes longer than it may: a hang becomes a failure that names itself.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace headrace::test {

class Deadline {
 public:
  explicit Deadline(std::chrono::seconds limit = std::chrono::seconds(240)) {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    name_ = info ? std::string(info->test_suite_name()) + "." + info->name() : "test";
    watch_ = std::thread([this, limit] {
      std::unique_lock lock(mutex_);
      if (over_.wait_for(lock, limit, [this] { return done_; })) return;
      std::fprintf(stderr, "%s: still running after %lld s: it hangs\n", name_.c_str(),
                   static_cast<long long>(limit.count()));
      std::abort();
    });
  }
  ~Deadline() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_all();
    watch_.join();
  }

 private:
  std::string name_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread watch_;
};

// Fewer rounds where the code runs many times slower.
constexpr int scaled(int rounds) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return rounds / 10 > 0 ? rounds / 10 : 1;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
  return rounds / 10 > 0 ? rounds / 10 : 1;
#elif !defined(__OPTIMIZE__)
  return rounds / 4 > 0 ? rounds / 4 : 1;
#else
  return rounds;
#endif
#elif !defined(__OPTIMIZE__)
  return rounds / 4 > 0 ? rounds / 4 : 1;
#else
  return rounds;
#endif
}

}  // namespace headrace::test
