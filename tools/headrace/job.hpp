// The job that `headrace run` and `headrace verify` share: which data, which pipeline, from the same options.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <concepts>
#include <cstdint>
#include <headrace/headrace.hpp>
#include <optional>
#include <string>
#include <vector>

namespace headrace::tool {

struct JobOptions {
  std::string data;
  std::vector<std::int64_t> patch{96, 96, 96};
  unsigned samples = 4;
  std::uint32_t batch_size = 2;
  std::uint64_t seed = 0;
  std::vector<double> spacing{0, 0, 0};
  std::string intensity = "percentile";
  std::string label_dtype = "i16";
  std::string augment = "affine,flip";
  bool no_shuffle = false;
  bool no_cache = false;

  void add_to(CLI::App& app);
};

struct Job {
  NiftiDataset files;
  Pipeline deterministic;
  Pipeline random;
};

// Throws std::invalid_argument naming the option, IoError for the data.
Job make_job(const JobOptions& options);

// An option that takes a whole number from `low` to `high`, in decimal digits and nothing else: no sign, no 010, no 0x10.
template <std::unsigned_integral T>
void add_count(CLI::App& app, const std::string& name, T& value, std::uint64_t low, std::uint64_t high,
               const std::string& text);

// "1,2,8" or repeated options; refuses signs, so that -1 is an error and not four thousand million threads.
std::vector<unsigned> parse_counts(const std::string& text, const std::string& option);

}  // namespace headrace::tool
