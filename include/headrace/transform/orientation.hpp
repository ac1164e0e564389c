// Orientation: turns and mirrors the array so that its axes run along given anatomical directions, without
// interpolation.
//
//   Orientation({.axcodes = "RAS"})   axis 0 runs to the Right, axis 1 to the front (Anterior), axis 2 up (Superior)
//
// Which world axis each array axis follows is read from the field's own affine: the orthogonal matrix nearest to it
// (polar factor) is searched column by column for the largest entry, each world axis being used once. The result is a
// view: no voxel is copied. The affine is updated, so every voxel keeps its world position.
//
// Images of R < 3 spatial axes use the first R letters, which must name the world axes that the image has (for a 2-D
// image R or L and A or P). More letters than axes are ignored, as in MONAI.
//
// Errors: std::invalid_argument from the constructor (an unknown letter, one axis named twice, not 1 to 3 letters);
// when applied, for an image with more axes than letters, an affine that is not finite or leaves an axis without a
// direction, a world axis that the letters do not name. Thread-safety: immutable. Wait-free. Source: MONAI 1.6.1
// Orientationd, nibabel io_orientation.
#pragma once

#include <array>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct OrientationOptions {
  Keys keys{};
  std::string axcodes = "RAS";  // of R or L, A or P, S or I
};

class Orientation {
 public:
  static constexpr const char* name = "Orientation";

  explicit Orientation(OrientationOptions options = {});

  void apply(Sample& sample) const;
  // Sizes may change places: they stay known only where all of them are equal.
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;

 private:
  OrientationOptions options_;
  std::array<int, 3> world_axis_{};  // of each letter
  std::array<bool, 3> positive_{};
};

namespace detail {

// The world axis that each voxel axis follows most closely and whether it runs along or against it.
struct AxisDirection {
  int world_axis = -1;  // -1: the axis has no direction (a zero column)
  bool positive = true;
};
// For the first `rank` axes of a finite affine.
std::array<AxisDirection, 3> axis_directions(const Affine& affine, int rank);

}  // namespace detail
}  // namespace headrace
