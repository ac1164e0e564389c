// The programs that an explorer binary runs: each file of programs adds its own, explore_main.cpp runs what is linked
// in.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "support/explorer.hpp"

namespace headrace::test {

struct ExploredProgram {
  std::string structure;
  std::string name;
  Program body;
  bool small = false;  ///< 2 threads with one operation each: searched to the end
  bool weak = true;    ///< also in the weak memory mode
  std::uint64_t most_steps = 5'000;
  unsigned stale_reads = 2;  ///< old values per run, in the weak memory mode
};

inline std::vector<ExploredProgram>& explored_programs() {
  static std::vector<ExploredProgram> all;
  return all;
}

/// A file says: const AddPrograms added{{...}, {...}};
struct AddPrograms {
  explicit AddPrograms(std::vector<ExploredProgram> programs) {
    for (auto& p : programs) explored_programs().push_back(std::move(p));
  }
};

}  // namespace headrace::test
