// CropForeground: crops to the bounding box of the voxels above a threshold in one field, the same box for every key.
//
//   per axis: [first - margin, last + margin + 1); with allow_smaller cut at the image; then widened to a multiple of
//   k_divisible, floor(half) of the extra voxels in front.
//
// Inside the image the result is a view: nothing is copied. Where the box reaches outside, the result is new memory
// with zeros around. NaN is not foreground. The affine moves with the box. Foreground nowhere is an error that names
// the field and its file. So is a key whose spatial shape is not the source's.
//
// The box's coordinates (int64 tensors, one entry per spatial axis; the start is negative where voxels were added) are
// stored only under the names that start_coord_key and end_coord_key give; later ops should then name their keys,
// because the default, every tensor, includes them. Errors (construction): std::invalid_argument naming the option.
// Thread-safety: const.
#pragma once

#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct CropForegroundOptions {
  Keys keys{};
  std::string source_key = "image";
  double threshold = 0;                // foreground: above it, in any of the channels
  std::vector<int> channel_indices{};  // of the source; negative from the end; default: all
  Sizes margin = 0;                    // voxels on either side, 0 to 1048576
  bool allow_smaller = false;          // cut margins at the image instead of padding
  Sizes k_divisible = 1;               // 0 or less: as 1; at most 1048576
  std::string start_coord_key{};
  std::string end_coord_key{};
};

class CropForeground {
 public:
  static constexpr const char* name = "CropForeground";
  using Options = CropForegroundOptions;

  explicit CropForeground(Options options);

  void apply(Sample& sample) const;
  // Spatial sizes become unknown: they depend on the voxels.
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

  // The box for this source: what apply() crops to. It may reach outside the image.
  Box box(const Sample& sample) const;

 private:
  Options options_;
  bool may_pad_ = false;
};

}  // namespace headrace
