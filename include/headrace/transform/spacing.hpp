// Spacing: resamples to a given voxel size in millimetres.
//
//   Spacing({.pixdim = {1.5, 1.5, 2.0}})    floats linear, integers nearest
//
// The new grid keeps the directions of the old axes (a sheared affine loses its shear), and voxel 0 keeps its world
// position where it is a corner of the new grid too. An axis whose pixdim is 0 or negative keeps its spacing; so does
// one whose spacing is already within min_pixdim..max_pixdim, where these are given. `.diagonal` makes the axes run
// along R, A and S instead. The size on axis d is round_half_even(extent between the outermost voxel centres / pixdim +
// 1), with `.scale_extent` round_half_even(extent between the outer edges / pixdim), then with the first outer edges
// lying on each other (MONAI's shift there depends on the sign of the origin; this one does not), and at least 1. Every
// field goes by its own affine, and keeps its element type. A field whose grid changes by less than 1e-3 is left as it
// is, voxels and affine. Otherwise the affine becomes old * (output voxel -> input voxel): every voxel keeps its world
// position.
//
// pixdim: one value for all axes or a list; a list shorter than the image's axes repeats its last value, a longer one
// is cut. min_pixdim and max_pixdim likewise; repeat pixdim's value for an axis without a bound of its own.
//
// Errors: std::invalid_argument from the constructor (pixdim missing, not finite, more than three; min above max or
// negative; modes that do not match the keys); when applied: an affine that is singular or not finite, an image without
// voxels, or more than 2^31 voxels per channel in the result, which is found before memory is asked for. Thread-safety:
// immutable. Source: MONAI 1.6.1 Spacingd (not recompute_affine, which writes an affine that the voxels do not have).
#pragma once

#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct SpacingOptions {
  Keys keys{};
  OneOrMany<double> pixdim{};  // millimetres
  bool diagonal = false;
  PerKey<Interpolation> mode = Interpolation::by_dtype;
  PerKey<Padding> padding_mode = Padding::border;
  bool align_corners = false;  // where reflection mirrors: at the outermost voxel centres instead of the outer edges
  bool scale_extent = false;
  OneOrMany<double> min_pixdim{};
  OneOrMany<double> max_pixdim{};
};

class Spacing {
 public:
  static constexpr const char* name = "Spacing";

  explicit Spacing(SpacingOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;  // spatial sizes become unknown: they depend on each item's affine
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  SpacingOptions options_;
};

}  // namespace headrace
