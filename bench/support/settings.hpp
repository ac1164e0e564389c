// What every benchmark of this folder takes from its command line besides Google Benchmark's own flags, and the work
// that stands for making an item.
//   --quick               a smoke run: few items; the figures mean nothing
//   --units-per-us=N      how many units of spin() are a microsecond of work, so that all processes do the same work;
//                         measured at the start where it is not given
//   --calibrate           prints that number and ends
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

struct Settings {
  bool quick = false;
  double units_per_us = 0;
};
inline Settings settings;  // set once, by start(), before any benchmark runs

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "wrong result: %s\n", what.c_str());
  std::_Exit(1);
}

inline std::int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Processor work that no compiler removes; one unit is about a nanosecond.
inline void spin(std::uint64_t units) noexcept {
  std::uint64_t x = units | 1;
  for (std::uint64_t i = 0; i < units; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    asm volatile("" : "+r"(x));
  }
}

// The fastest of many short runs: the machine's speed when nobody disturbs.
inline double measured_units_per_us() {
  constexpr std::uint64_t units = 20'000;
  std::int64_t best = std::int64_t{1} << 62;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t begin = nanoseconds();
    spin(units);
    best = std::min(best, nanoseconds() - begin);
  }
  return double(units) * 1e3 / double(best);
}

inline std::uint64_t work_units(double microseconds) {
  return static_cast<std::uint64_t>(microseconds * settings.units_per_us + 0.5);
}

// Reads the command line, lets `add` register benchmarks and runs them. The exit status.
template <class Add>
int start(int argc, char** argv, Add&& add) {
  std::vector<char*> rest;
  bool calibrate = false;
  static char shortest[] = "--benchmark_min_time=0.000001";
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick")
      settings.quick = true;
    else if (argument == "--calibrate")
      calibrate = true;
    else if (argument.rfind("--units-per-us=", 0) == 0)
      settings.units_per_us = std::atof(argument.c_str() + 15);
    else
      rest.push_back(argv[i]);
  }
  if (settings.quick) rest.push_back(shortest);
  if (!(settings.units_per_us > 0)) settings.units_per_us = measured_units_per_us();
  if (calibrate) {
    std::printf("%.3f\n", settings.units_per_us);
    return 0;
  }
  add();
  int count = static_cast<int>(rest.size());
  rest.push_back(nullptr);
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
