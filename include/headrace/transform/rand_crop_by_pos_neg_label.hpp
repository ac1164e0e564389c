// RandCropByPosNegLabel: num_samples patches around random voxels of a label's foreground or background.
//
// One patch: u = uniform in [0, 1); the centre is a voxel of the foreground where u < pos / (pos + neg), else of the
// background, each of its voxels alike; then it is moved inward until the patch fits. So every patch has exactly the
// size asked for, and the drawn voxel is in it, though near a border not in its middle. Every key is cropped at the
// same place. With one of the two sets empty, all centres come from the other one, even where pos = 0 or neg = 0 asked
// otherwise.
//
// The sets are those of FgBgToIndices when the sample has both; otherwise they are made from the label (and image_key),
// for every patch anew, which reads the whole label: put FgBgToIndices into the cached part. They are left out of the
// patches.
//
// Patches are views: nothing is copied here, their affines are moved. A tensor that is not among the keys stays whole.
// Every key must have the label's spatial shape, and so must the sets.
// Random numbers per patch: uniform(), then below(size of the set).
// Errors: std::invalid_argument, at construction naming the option; at run time for shapes, for a patch larger than the
// image (naming both sizes) and for a label without any voxel to choose (naming its file). Thread-safety: const.
// Source: MONAI 1.6 RandCropByPosNegLabeld; in its place of unequal shapes, errors.
#pragma once

#include <cstdint>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct RandCropByPosNegLabelOptions {
  Keys keys{};  // what is cropped; default: every tensor
  std::string label_key = "label";
  Sizes spatial_size{};  // needed; an entry of 0 or less: the image's own size
  double pos = 1;        // pos : neg, foreground patches : background patches
  double neg = 1;
  unsigned num_samples = 1;  // 1 to 16383
  std::string image_key{};   // for the background, where the sets are made here: see FgBgToIndices
  double image_threshold = 0;
  std::string fg_indices_key{};       // default: label_key + "_fg_indices", if the sample has both sets
  std::string bg_indices_key{};       // default: label_key + "_bg_indices"
  bool allow_smaller = false;         // an image smaller than spatial_size gives smaller patches instead of an error
  std::optional<std::uint16_t> op{};  // pins the number in the random address
};

class RandCropByPosNegLabel {
 public:
  static constexpr const char* name = "RandCropByPosNegLabel";
  using Options = RandCropByPosNegLabelOptions;

  struct Plan {
    Shape start;  // of the patch in the image, spatial axes
    Shape size;
    Shape centre;  // the drawn voxel after it was moved inward
  };

  explicit RandCropByPosNegLabel(Options options);

  unsigned count() const { return options_.num_samples; }
  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;

  // Spatial sizes become spatial_size where that is positive. Throws for a known size that is too small.
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

  // The step between the draws and the geometry, for tests and for other generators: the set that a draw u in [0, 1)
  // takes its centre from. Throws std::invalid_argument when both are empty.
  const VoxelSet& choose(const VoxelSet& foreground, const VoxelSet& background, double u) const;
  // The patch around voxel `voxel` of an image.
  Plan place(std::uint64_t voxel, const Shape& image) const;

 private:
  // The label's spatial shape, after every key was found to have it.
  Shape checked_shape(const Sample& sample) const;

  Options options_;
  std::string foreground_key_, background_key_;
  bool sets_required_ = false;
};

}  // namespace headrace
