// Where crops lie: sizes with their fall-back, centres kept inside the image, boxes, and what a crop does to the
// affine.
//
// Shared by every crop. Spatial shapes, starts and centres are Shapes over the spatial axes only (1 to 3 of them): the
// channel axis never appears here. All arithmetic is in 64-bit integers.
//
// Invariant: a box that box_around() returns has exactly the size asked for and lies inside the image; the centre it
// was asked for is inside the box, though not in its middle near a border. Errors: std::invalid_argument with both
// sizes in its text. Thread-safety: pure functions. Source: the crop geometry of MONAI 1.6 (SpatialCrop and its centre
// correction), without its 16-bit steps.
#pragma once

#include <cstdint>
#include <headrace/sample/affine.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/tensor/shape.hpp>
#include <headrace/transform/options.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct Box {
  Shape start;
  Shape size;

  friend bool operator==(const Box&, const Box&) = default;
};

// The spatial sizes of a channel-first tensor of the sample. Throws std::invalid_argument naming the field and its file
// unless there are 1 to 3 of them.
Shape spatial_shape(const Sample& sample, std::string_view field);
// "field 'image' (/data/a.nii.gz)", without the path where there is none: how errors of ops name a field.
std::string field_text(const Sample& sample, std::string_view field);

// The size of a crop: an entry of `wanted` that is 0 or negative stands for the image's own size. A size larger than
// the image is an error naming both, or the image's size with allow_smaller. An image without voxels is an error.
Shape crop_size(const Sizes& wanted, const Shape& image, bool allow_smaller, std::string_view op);

// The centre nearest to `centre` around which `size` voxels fit into an axis of n voxels (1 <= size <= n): the box is
// [c - size/2, c - size/2 + size), rounding down.
std::int64_t clamp_centre(std::int64_t centre, std::int64_t size, std::int64_t n) noexcept;

// The box of this size around the centre, moved inward where it would leave the image.
Box box_around(const Shape& centre, const Shape& size, const Shape& image);

// The voxel with this linear index (C order: the last axis is the fastest).
Shape unravel(std::uint64_t voxel, const Shape& spatial);

// The affine after a crop that starts at `start`; a pad of p voxels in front is a start of -p.
Affine crop_affine(const Affine& affine, const Shape& start);

}  // namespace headrace
