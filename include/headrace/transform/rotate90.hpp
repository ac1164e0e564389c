// Rotate90 and RandRotate90: quarter turns in the plane of two spatial axes; Flip and RandAxisFlip: mirrors.
//
//   Rotate90({.k = 1, .spatial_axes = {0, 1}})   one turn: out[i, j] = in[j, n_b - 1 - i] for axes (a, b) = (0, 1)
//   RandRotate90({.prob = 0.5, .max_k = 3})      with probability `prob`, 1 to max_k turns
//   Flip({.spatial_axis = 0})                    no axis given: all of them
//   RandAxisFlip({.prob = 0.5})                  with probability `prob`, one axis, each alike
//
// (b, a) turns the other way. Results are views: no voxel is copied. The affine is updated with exact entries, so every
// voxel keeps its world position. Negative axes count from the last one.
//
// Draws, also when the coin says no: 2 words for the coin, then RandRotate90 below(max_k), RandAxisFlip below(rank), 2
// words but for a rejection, which happens about once in 2^60 draws.
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1, equal axes, axes outside -3..2, max_k of 0);
// for an axis that the image does not have; for keys of different rank (RandAxisFlip). infer() swaps sizes only where
// they are known to; RandRotate90 leaves two different sizes unknown, which makes batches lists: crop to equal sizes
// first. Thread-safety: immutable. Wait-free.
// Source: MONAI 1.6.1 Rotate90d, RandRotate90d, Flipd, RandAxisFlipd.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct Rotate90Options {
  Keys keys{};
  int k = 1;  // quarter turns, any sign
  std::array<int, 2> spatial_axes{0, 1};
};

class Rotate90 {
 public:
  static constexpr const char* name = "Rotate90";

  explicit Rotate90(Rotate90Options options = {});

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;

 private:
  Rotate90Options options_;
};

struct RandRotate90Options {
  Keys keys{};
  double prob = 0.1;
  unsigned max_k = 3;  // 1 or more
  std::array<int, 2> spatial_axes{0, 1};
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandRotate90 {
 public:
  static constexpr const char* name = "RandRotate90";
  struct Plan {
    int k = 0;  // quarter turns; 0: nothing
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandRotate90(RandRotate90Options options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandRotate90Options options_;
};

struct FlipOptions {
  Keys keys{};
  OneOrMany<int> spatial_axis{};
};

class Flip {
 public:
  static constexpr const char* name = "Flip";

  explicit Flip(FlipOptions options = {});

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;

 private:
  FlipOptions options_;
};

struct RandAxisFlipOptions {
  Keys keys{};
  double prob = 0.1;
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandAxisFlip {
 public:
  static constexpr const char* name = "RandAxisFlip";
  struct Plan {
    int axis = -1;  // -1: nothing
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandAxisFlip(RandAxisFlipOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandAxisFlipOptions options_;
};

}  // namespace headrace
