// Runs explored programs and prints what was searched. Every file of programs that is linked in has added its own.
//
//   explore [--full] [--only TEXT] [--memory sequential|weak] [--runs N] [--seed N] [--stop] [--verbose]
//   explore --only NAME --memory MODE --replay "CHOICES"      one run, access by access
//   explore --list
//
// For each program: sequentially consistent, then with weak memory; small ones to the end, others depth first with at
// most 3 preemptions (2 with weak memory) and with randomised priorities. --runs: at most so many of each kind (2000;
// with --full 40000), of small ones ten times as many. Exit status: 0 no failure, 1 a failure, 2 wrong use, 77 left out
// in this build.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "support/explored_programs.hpp"

namespace headrace::test {
namespace {

struct Settings {
  bool full = false, stop = false, verbose = false, sequential = true, weak = true;
  std::string only, replay;
  bool replays = false;
  std::uint64_t runs = 0, seed = 1;
};

struct Row {
  std::uint64_t programs = 0, to_the_end = 0, exhaustive = 0, bounded = 0, random = 0, failures = 0;
};

class Searches {
 public:
  explicit Searches(const Settings& settings) : settings_(settings) {}

  // False: stop here.
  bool program(const ExploredProgram& p) {
    for (const bool weak : {false, true}) {
      if (weak ? !settings_.weak || !p.weak : !settings_.sequential) continue;
      ExploreLimits limits;
      limits.weak_memory = weak;
      limits.most_steps = p.most_steps;
      limits.stale_reads = p.stale_reads;
      Row& row = rows_[p.structure + (weak ? ", weak memory" : "")];
      ++row.programs;
      DepthFirst deep(p.small ? DepthFirst::unbounded : weak ? 2 : 3);
      const std::uint64_t most = p.small ? settings_.runs * 10 : settings_.runs;
      const Exploration first = explore(deep, limits, p.body, most);
      (p.small ? row.exhaustive : row.bounded) += first.runs;
      row.to_the_end += first.complete;
      if (settings_.verbose)
        std::printf("%s %s: depth first %llu%s\n", weak ? "weak" : "    ", p.name.c_str(),
                    static_cast<unsigned long long>(first.runs), first.complete ? " (all)" : "");
      if (!verdict(p, weak, p.small ? "exhaustive" : "depth first", first, row)) return false;
      if (first.failure || (p.small && first.complete)) continue;
      Randomised random(settings_.seed, length_of(p.body, limits));
      const Exploration second = explore(random, limits, p.body, settings_.runs);
      row.random += second.runs;
      if (!verdict(p, weak, "randomised", second, row)) return false;
    }
    return true;
  }

  int table(double seconds) const {
    std::printf("%-32s %9s %12s %12s %12s %12s %9s\n", "structure", "programs", "to the end", "exhaustive", "bounded",
                "randomised", "failures");
    Row sum;
    for (const auto& [name, row] : rows_) {
      print(name, row);
      sum.programs += row.programs;
      sum.to_the_end += row.to_the_end;
      sum.exhaustive += row.exhaustive;
      sum.bounded += row.bounded;
      sum.random += row.random;
      sum.failures += row.failures;
    }
    print("all", sum);
    std::printf("%llu schedules in %.1f s\n",
                static_cast<unsigned long long>(sum.exhaustive + sum.bounded + sum.random), seconds);
    return sum.failures != 0 || sum.programs == 0 ? 1 : 0;
  }

 private:
  bool verdict(const ExploredProgram& p, bool weak, const char* search, const Exploration& e, Row& row) {
    if (!e.failure) return true;
    ++row.failures;
    std::printf("FAILED %s, %s (%s, %s): after %llu schedules: %s\n", p.structure.c_str(), p.name.c_str(), search,
                weak ? "weak memory" : "sequentially consistent", static_cast<unsigned long long>(e.runs),
                e.failure->text().c_str());
    return !settings_.stop;
  }
  static void print(const std::string& name, const Row& r) {
    const auto u = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%-32s %9llu %12llu %12llu %12llu %12llu %9llu\n", name.c_str(), u(r.programs), u(r.to_the_end),
                u(r.exhaustive), u(r.bounded), u(r.random), u(r.failures));
  }

  const Settings& settings_;
  std::map<std::string, Row> rows_;
};

constexpr int left_out = 77;  // ctest counts it as skipped

int wrong_use(const char* what) {
  std::fprintf(stderr, "explore: %s (see the head of explore_main.cpp)\n", what);
  return 2;
}

int run(int argc, char** argv) {
  if (explorer_left_out != nullptr) {
    std::printf("Skipped: %s\n", explorer_left_out);
    return left_out;
  }
  Settings settings;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--full")
      settings.full = true;
    else if (name == "--stop")
      settings.stop = true;
    else if (name == "--verbose")
      settings.verbose = true;
    else if (name == "--list")
      list = true;
    else if (value == nullptr)
      return wrong_use("unknown option, or a value is missing");
    else {
      ++i;
      if (name == "--only")
        settings.only = value;
      else if (name == "--memory") {
        settings.weak = std::strcmp(value, "weak") == 0;
        settings.sequential = !settings.weak;
      } else if (name == "--runs")
        settings.runs = std::strtoull(value, nullptr, 10);
      else if (name == "--seed")
        settings.seed = std::strtoull(value, nullptr, 10);
      else if (name == "--replay")
        settings.replay = value, settings.replays = true;
      else
        return wrong_use("unknown option");
    }
  }
  if (settings.runs == 0) settings.runs = settings.full ? 40'000 : 2'000;
  const auto start = std::chrono::steady_clock::now();
  Searches searches(settings);
  for (const ExploredProgram& p : explored_programs()) {
    if ((p.structure + ", " + p.name).find(settings.only) == std::string::npos) continue;
    if (list) {
      std::printf("%s, %s\n", p.structure.c_str(), p.name.c_str());
    } else if (settings.replays) {
      ExploreLimits limits;
      limits.weak_memory = !settings.sequential;
      limits.most_steps = p.most_steps;
      limits.stale_reads = p.stale_reads;
      std::printf("%s, %s\n%s", p.structure.c_str(), p.name.c_str(),
                  trace_of(p.body, limits, choices_from(settings.replay)).c_str());
    } else if (!searches.program(p)) {
      break;
    }
  }
  if (list || settings.replays) return 0;
  return searches.table(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace
}  // namespace headrace::test

int main(int argc, char** argv) { return headrace::test::run(argc, argv); }
