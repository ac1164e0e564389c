// SpatialPad, BorderPad and DivisiblePad: voxels around the image.
//
//   SpatialPad({.spatial_size = 96})                 up to 96 per axis, half before and half (or one more) after
//   BorderPad({.spatial_border = {2, 4, 0}})         on both sides; six numbers: before, after per axis
//   DivisiblePad({.k = 16})                          up to a multiple of 16
//
// What lies outside: the value `value`; the edge voxel repeated; the image mirrored without (reflect) or with
// (symmetric) its edge voxel; the image repeated (wrap). Element types stay; `value` becomes one, truncated and
// saturated. An axis that is large enough already, or whose size is 0 or less, is left alone; where nothing is added no
// voxel is copied. The affine is moved, so every voxel keeps its world position.
//
// Errors: std::invalid_argument from the constructor (a list of the wrong length, negative borders, a value with another
// mode); for reflect wider than the image allows (n - 1). Thread-safety: immutable.
// Source: MONAI 1.6.1 SpatialPadd, BorderPadd, DivisiblePadd; numpy's pad for the modes.
#pragma once

#include <cstdint>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric, wrap };
std::string_view name_of(PadMode mode) noexcept;
// Also takes torch's "replicate" and "circular". Throws std::invalid_argument that lists the names.
PadMode parse_pad_mode(std::string_view name);

enum class PadMethod : std::uint8_t { symmetric, end };  // half before and half after, or all after

struct SpatialPadOptions {
  Keys keys{};
  Sizes spatial_size{};  // needed
  PadMethod method = PadMethod::symmetric;
  PadMode mode = PadMode::constant;
  double value = 0;  // with PadMode::constant
};

class SpatialPad {
 public:
  static constexpr const char* name = "SpatialPad";

  explicit SpatialPad(SpatialPadOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  SpatialPadOptions options_;
};

struct BorderPadOptions {
  Keys keys{};
  Sizes spatial_border{};  // needed: one number, one per axis, or two per axis
  PadMode mode = PadMode::constant;
  double value = 0;
};

class BorderPad {
 public:
  static constexpr const char* name = "BorderPad";

  explicit BorderPad(BorderPadOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  BorderPadOptions options_;
};

struct DivisiblePadOptions {
  Keys keys{};
  Sizes k{};  // needed
  PadMethod method = PadMethod::symmetric;
  PadMode mode = PadMode::constant;
  double value = 0;
};

class DivisiblePad {
 public:
  static constexpr const char* name = "DivisiblePad";

  explicit DivisiblePad(DivisiblePadOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  DivisiblePadOptions options_;
};

}  // namespace headrace
