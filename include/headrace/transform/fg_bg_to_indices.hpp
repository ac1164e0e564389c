// FgBgToIndices: the foreground and background voxels of a label as two VoxelSets, for crops to draw centres from.
//
//   foreground: voxels of the label that are not 0 (negative values and NaN too). A label of several channels is
//   one-hot: channel 0 is left out, and a voxel that any other channel marks is foreground. background: the rest; with
//   image_key only voxels where some channel of that image is above image_threshold. The foreground is not restricted
//   by the image.
//
// The sets are new fields, label_key + fg_postfix and label_key + bg_postfix: 1 bit per voxel, shared and never copied
// (MONAI's index arrays take 8 bytes per member). Member numbers are the same: ascending C-order linear indices.
// Deterministic, so a cache computes it once. Errors: an image of another spatial shape than the label.
// Thread-safety: const.
#pragma once

#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct FgBgToIndicesOptions {
  std::string label_key = "label";
  std::string image_key{};  // empty: the background is all that is not foreground
  double image_threshold = 0;
  std::string fg_postfix = "_fg_indices";
  std::string bg_postfix = "_bg_indices";
};

class FgBgToIndices {
 public:
  static constexpr const char* name = "FgBgToIndices";
  using Options = FgBgToIndicesOptions;

  explicit FgBgToIndices(Options options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const;

 private:
  Options options_;
};

}  // namespace headrace
