// SpatialCrop and CenterSpatialCrop: a fixed box of every key.
//
//   SpatialCrop({.roi_center = {40, 40, 20}, .roi_size = 32})       [c - s/2, c - s/2 + s), s/2 rounded down
//   SpatialCrop({.roi_start = {8, 8, 0}, .roi_end = {40, 40, 32}})  [start, end)
//   CenterSpatialCrop({.roi_size = 64})                             around the middle voxel n/2, rounded down
//
// One value stands for all spatial axes. A box is cut at the image's ends: it gets smaller, it does not move. For
// CenterSpatialCrop a size of 0 or less is the image's own; a larger one too. The results are views: no voxel is copied;
// the affine is moved along.
//
// Errors: std::invalid_argument from the constructor (neither pair complete, both given, lists of different length); for
// a list whose length is not the image's number of spatial axes; for a box without a voxel of the image, naming both.
// Thread-safety: immutable. Source: MONAI 1.6.1 SpatialCropd, CenterSpatialCropd, where one value means the first axis.
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

struct SpatialCropOptions {
  Keys keys{};
  Sizes roi_center{};  // with roi_size
  Sizes roi_size{};
  Sizes roi_start{};  // with roi_end
  Sizes roi_end{};
};

class SpatialCrop {
 public:
  static constexpr const char* name = "SpatialCrop";

  explicit SpatialCrop(SpatialCropOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;

 private:
  SpatialCropOptions options_;
};

struct CenterSpatialCropOptions {
  Keys keys{};
  Sizes roi_size{};  // needed
};

class CenterSpatialCrop {
 public:
  static constexpr const char* name = "CenterSpatialCrop";

  explicit CenterSpatialCrop(CenterSpatialCropOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;

 private:
  CenterSpatialCropOptions options_;
};

}  // namespace headrace
