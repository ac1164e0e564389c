// Interleaved timing: every candidate in turn, round after round, so that a machine that changes speed changes it for
// all. Figures are the median and the range; ratios are taken round by round, then their median.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Candidate {
  std::string name;
  std::function<double()> run;  // one round: the figure (a rate, or a time), already checked
  std::vector<double> figures{};

  double median() const { return middle(figures); }
  static double middle(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
  }
};

inline void interleave(std::vector<Candidate>& candidates, int rounds) {
  for (int r = 0; r < rounds; ++r)
    for (Candidate& c : candidates) c.figures.push_back(c.run());
}

// One line per candidate: median [min..max] and the ratio to candidate `base`.
inline void print(const std::vector<Candidate>& candidates, const char* unit, std::size_t base = 0) {
  for (const Candidate& c : candidates) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < c.figures.size(); ++r) ratios.push_back(c.figures[r] / candidates[base].figures[r]);
    const auto [low, high] = std::minmax_element(c.figures.begin(), c.figures.end());
    const auto [rl, rh] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("  %-58s %10.4g [%.4g..%.4g] %s   x%.3f [%.3f..%.3f]\n", c.name.c_str(), c.median(), *low, *high, unit,
                Candidate::middle(ratios), *rl, *rh);
  }
}

inline bool quick(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--quick") == 0) return true;
  return false;
}

inline void print_machine() {
  std::printf("%u processors", std::thread::hardware_concurrency());
  if (FILE* f = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f))
      if (std::strncmp(line, "model name", 10) == 0) {
        std::printf(", %s", std::strchr(line, ':') + 2);
        break;
      }
    std::fclose(f);
  }
}

}  // namespace bench
