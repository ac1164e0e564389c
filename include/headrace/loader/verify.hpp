// verify: is this data set, with this pipeline, really the same bits on any number of threads?
//
//     const VerifyReport report = headrace::verify(dataset, pipeline, {.loader = {.batch_size = 4, .shuffle = true}});
//     EXPECT_TRUE(report.equal) << report.message();
//
// Two examinations, the first difference found is reported with item, patch, op and field:
//   1. Hidden state, on one thread, op by op: items are made alone, then two at a time in step (plan A, plan B,
//      apply A, apply B), then again, with different garbage in new memory each time. State behind `mutable`, a
//      captured reference, a static or a leased instance, a clock, a generator of the op's own and voxels never
//      written all show as a difference.
//   2. The loader, whole epochs, over a matrix of thread counts, windows, orders and random delays per item: every
//      sample of every run against the first run's.
// An item that fails must fail in the same way every time; such items are counted and the first is named, because equal
// failures prove nothing about samples.
// What it cannot see: state that never changes the result of the items examined, and races that do not happen while it
// runs (use the thread sanitizer for those).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <headrace/loader/loader.hpp>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

struct VerifyOptions {
  LoaderOptions loader{};  // batch_size, shuffle, seed, sampler, ...; threads, window and order are varied
  std::vector<unsigned> threads{0, 1, 2, 8};
  std::vector<unsigned> windows{1, 3};
  std::vector<std::uint32_t> spans{0, 4};  // 0: in sequence; else completion order, where anything can overtake
  std::vector<std::chrono::microseconds> delays{
      std::chrono::microseconds(0)};  // the most an item or a patch is held up
  std::uint32_t epochs = 2;
  std::uint64_t hidden_state_items = 4;  // items for the first examination; 0 leaves it out
  std::function<void()> checkpoint{};    // called between items and steps; what it throws leaves verify()
};

struct VerifyDifference {
  std::string how;  // which examination, or which run against which
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // in the epoch's order (examination 2); equal to index in examination 1
  std::uint64_t index = 0;     // in the dataset
  std::uint32_t patch = 0;
  std::string op{};     // the first op after which it differs, where that is known: "3 (RandAffine)"
  std::string field{};  // the first field that differs; empty when the sample itself is another one
};

struct VerifyReport {
  bool equal = true;
  std::optional<VerifyDifference> first_difference{};
  std::uint64_t runs = 0;       // loader runs made
  std::uint64_t samples = 0;    // compared in all; failures not counted
  std::uint64_t failures = 0;   // steps that threw, in the first run of the loader
  std::string first_failure{};  // what it says
  std::string message() const;
};

// Throws what the loader's constructor throws. Items that fail are compared by their error's text.
VerifyReport verify(const Dataset& dataset, const Pipeline& pipeline, const VerifyOptions& options = {});

}  // namespace headrace
