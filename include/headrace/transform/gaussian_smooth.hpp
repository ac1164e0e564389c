// GaussianSmooth and RandGaussianSmooth: separable smoothing by a Gaussian, axis after axis.
//
//   GaussianSmooth({.keys = "image", .sigma = 1.5})
//   RandGaussianSmooth({.keys = "image", .prob = 0.2, .sigma_x = {0.5, 1}, .sigma_y = {0.5, 1}, .sigma_z = {0.5, 1}})
//
// A sigma is in voxels, 0 leaves its axis alone. The kernel reaches floor(max(4 sigma, 0.5) + 0.5) voxels to each side:
//   erf         the Gaussian's integral over each voxel (the default)
//   sampled     its density in the voxel's middle
//   scalespace  e^(-sigma^2) I_|i|(sigma^2), the discrete analogue of Lindeberg (1990)
// By default the weights are then divided by their sum, and beyond the image's ends lies its edge voxel: a constant image
// stays constant. `padding = SmoothPadding::zeros` is MONAI's way: weights as they are, zeros outside, darker borders.
//
// Weights are made in double and rounded; sums are in float32 (float64 input: float64), in the order of the voxels. NaN
// and infinities spread as far as the kernel reaches.
//
// RandGaussianSmooth draws 2 words for the coin and 2 for each of sigma_x, sigma_y, sigma_z (axes 0, 1, 2), also when the
// coin says no and whatever the rank. The result has `dtype`, whatever the coin says.
//
// Errors: std::invalid_argument from the constructor (a sigma below 0, above 1000 or not finite; a prob outside 0..1);
// for a list whose length is not the image's number of spatial axes. Thread-safety: immutable.
// Source: MONAI 1.6.1 (Rand)GaussianSmoothd, with the borders above.
#pragma once

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

enum class GaussianKernel : std::uint8_t { erf, sampled, scalespace };
enum class SmoothPadding : std::uint8_t { border, zeros };

struct GaussianSmoothOptions {
  Keys keys{};
  OneOrMany<double> sigma = 1.0;  // one for all axes, or one for each
  GaussianKernel approx = GaussianKernel::erf;
  SmoothPadding padding = SmoothPadding::border;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
};

class GaussianSmooth {
 public:
  static constexpr const char* name = "GaussianSmooth";
  static constexpr bool asks_scratch = true;

  explicit GaussianSmooth(GaussianSmoothOptions options = {});

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  GaussianSmoothOptions options_;
};

struct RandGaussianSmoothOptions {
  Keys keys{};
  double prob = 0.1;
  Range sigma_x{0.25, 1.5};
  Range sigma_y{0.25, 1.5};
  Range sigma_z{0.25, 1.5};
  GaussianKernel approx = GaussianKernel::erf;
  SmoothPadding padding = SmoothPadding::border;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
  std::optional<std::uint16_t> op{};        // pins the op's number in random addresses
};

class RandGaussianSmooth {
 public:
  static constexpr const char* name = "RandGaussianSmooth";
  static constexpr bool asks_scratch = true;
  struct Plan {
    bool apply = false;
    std::array<double, 3> sigma{};
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandGaussianSmooth(RandGaussianSmoothOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandGaussianSmoothOptions options_;
};

}  // namespace headrace
