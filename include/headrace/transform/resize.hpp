// Resize, Zoom and RandZoom, RandSimulateLowResolution: separable resampling to another number of voxels.
//
//   Resize({.spatial_size = 64})                               0 or less: the image's own size
//   Resize({.spatial_size = 64, .size_mode = SizeMode::longest})   the longest axis becomes 64, the others in proportion
//   Zoom({.zoom = 1.2})                                        magnify; keep_size crops or pads back to the old size
//   RandZoom({.prob = 0.3, .min_zoom = 0.9, .max_zoom = 1.1})
//   RandSimulateLowResolution({.keys = "image", .prob = 0.25, .zoom_range = {0.5, 1}})    down, and up again
//
// From n to m voxels along an axis, output o is
//   area            the mean of inputs floor(o n / m) to ceil((o + 1) n / m) - 1
//   linear          interpolated at max((o + 1/2) n/m - 1/2, 0); with align_corners at o (n - 1) / (m - 1)
//   nearest         input floor(o n / m);   nearest_exact: input floor((o + 1/2) n / m)
//   by_dtype        area for floating point (linear for RandSimulateLowResolution's way up), nearest for integers
// in the order of the axes, weights made in double and rounded, sums in float32 (float64 input: float64). The element
// type stays: integers are rounded half to even and saturate.
//
// Zoom goes to m = floor(n zoom + 1e-9) voxels per axis, then with keep_size to a centre crop or a symmetric pad of the
// old size. The affine follows: every voxel keeps its world position (of its middle; with align_corners of the corner
// voxels' middles). RandSimulateLowResolution goes to max(1, round(n z)) voxels and back, the affine stays.
//
// Draws, also when the coin says no: 2 words for the coin; RandZoom 2 per entry of min_zoom; low resolution 2.
//
// Errors: std::invalid_argument from the constructor (sizes, zooms and probabilities out of range, lists of different
// length, align_corners with another mode than linear); for lists of the wrong length; where an axis would have no voxel.
// Thread-safety: immutable. Source: MONAI 1.6.1 Resized, Zoomd, RandZoomd, RandSimulateLowResolutiond.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/spatial_pad.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class ResizeMode : std::uint8_t { by_dtype, area, linear, nearest, nearest_exact };
std::string_view name_of(ResizeMode mode) noexcept;
// Also takes "bilinear", "trilinear" and "nearest-exact". Throws std::invalid_argument that lists the names.
ResizeMode parse_resize_mode(std::string_view name);

enum class SizeMode : std::uint8_t { all, longest };

struct ResizeOptions {
  Keys keys{};
  Sizes spatial_size{};  // needed
  SizeMode size_mode = SizeMode::all;
  PerKey<ResizeMode> mode = ResizeMode::by_dtype;
  bool align_corners = false;
};

class Resize {
 public:
  static constexpr const char* name = "Resize";
  static constexpr bool asks_scratch = true;

  explicit Resize(ResizeOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  ResizeOptions options_;
};

struct ZoomOptions {
  Keys keys{};
  OneOrMany<double> zoom = 1.0;  // above 1 magnifies
  PerKey<ResizeMode> mode = ResizeMode::by_dtype;
  PadMode padding_mode = PadMode::edge;
  bool align_corners = false;
  bool keep_size = true;
};

class Zoom {
 public:
  static constexpr const char* name = "Zoom";
  static constexpr bool asks_scratch = true;

  explicit Zoom(ZoomOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  ZoomOptions options_;
};

struct RandZoomOptions {
  Keys keys{};
  double prob = 0.1;
  // One value: all axes alike. Two: the first for all axes but the last one of a 3-D image. One per axis.
  std::vector<double> min_zoom{0.9};
  std::vector<double> max_zoom{1.1};
  PerKey<ResizeMode> mode = ResizeMode::by_dtype;
  PadMode padding_mode = PadMode::edge;
  bool align_corners = false;
  bool keep_size = true;
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandZoom {
 public:
  static constexpr const char* name = "RandZoom";
  static constexpr bool asks_scratch = true;
  struct Plan {
    bool apply = false;
    std::array<double, 3> zoom{1, 1, 1};  // as drawn, one per entry of min_zoom
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandZoom(RandZoomOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandZoomOptions options_;
};

struct RandSimulateLowResolutionOptions {
  Keys keys{};
  double prob = 0.1;
  ResizeMode downsample_mode = ResizeMode::nearest;
  ResizeMode upsample_mode = ResizeMode::linear;
  Range zoom_range{0.5, 1.0};  // above 0, at most 1
  bool align_corners = false;
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandSimulateLowResolution {
 public:
  static constexpr const char* name = "RandSimulateLowResolution";
  static constexpr bool asks_scratch = true;
  struct Plan {
    bool apply = false;
    double zoom = 1;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandSimulateLowResolution(RandSimulateLowResolutionOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandSimulateLowResolutionOptions options_;
};

}  // namespace headrace
