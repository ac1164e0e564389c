// An op that changes nothing and takes a random time, another one in each run: results must not depend on it.
#pragma once

#include <headrace/transform/transform.hpp>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>

namespace headrace::tool {

struct Delay {
  static constexpr const char* name = "Delay";
  unsigned most_us;

  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const { return {}; }
  void apply(Sample&) const {
    // The clock and the thread are the point: nothing here may reach a sample.
    static thread_local std::minstd_rand generator(
        static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())) ^
        static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count()));
    std::this_thread::sleep_for(std::chrono::microseconds(generator() % (most_us + 1)));
  }
};

}  // namespace headrace::tool
