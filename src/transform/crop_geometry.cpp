#include <algorithm>
#include <array>
#include <headrace/transform/crop_geometry.hpp>
#include <span>
#include <stdexcept>

namespace headrace {

Shape spatial_shape(const Sample& sample, std::string_view field) {
  const Shape& shape = sample.get(field).shape();
  // The text is made on failure only: this runs for every patch.
  if (shape.rank() < 2 || shape.rank() > 4)
    throw std::invalid_argument(field_text(sample, field) + " has shape " + shape.str() +
                                ", but expected a channel axis and 1 to 3 spatial axes");
  return Shape(std::span(shape).subspan(1));
}

std::string field_text(const Sample& sample, std::string_view field) {
  const std::string& path = sample.path(field);
  return "field '" + std::string(field) + "'" + (path.empty() ? "" : " (" + path + ")");
}

Shape crop_size(const Sizes& wanted, const Shape& image, bool allow_smaller, std::string_view op) {
  Shape size = detail::fall_back(wanted, image, op, "spatial_size");
  for (int d = 0; d < image.rank(); ++d) {
    if (image[d] < 1) throw std::invalid_argument("an image of size " + image.str() + " has no voxels to crop");
    if (allow_smaller && size[d] > image[d]) size[d] = image[d];
  }
  for (int d = 0; d < image.rank(); ++d)
    if (size[d] > image[d])
      throw std::invalid_argument("a crop of size " + size.str() + " is larger than the image of size " + image.str() +
                                  " on axis " + std::to_string(d) + "; pad the image, or set allow_smaller");
  return size;
}

std::int64_t clamp_centre(std::int64_t centre, std::int64_t size, std::int64_t n) noexcept {
  // The last centre is n + 1 - size/2 - 1 for even sizes, and half a voxel less for odd ones: start n - size in both
  // cases.
  const std::int64_t first = size / 2, last = n - (size + 1) / 2;
  return std::min(std::max(centre, first), last);
}

Box box_around(const Shape& centre, const Shape& size, const Shape& image) {
  Box box{.start = size, .size = size};
  for (int d = 0; d < image.rank(); ++d) box.start[d] = clamp_centre(centre[d], size[d], image[d]) - size[d] / 2;
  return box;
}

Shape unravel(std::uint64_t voxel, const Shape& spatial) {
  Shape index = spatial;
  for (int d = spatial.rank() - 1; d >= 0; --d) {
    const auto n = static_cast<std::uint64_t>(spatial[d]);
    index[d] = static_cast<std::int64_t>(voxel % n);
    voxel /= n;
  }
  return index;
}

Affine crop_affine(const Affine& affine, const Shape& start) {
  std::array<double, 3> shift{};
  for (int d = 0; d < std::min(start.rank(), 3); ++d)
    shift[static_cast<std::size_t>(d)] = static_cast<double>(start[d]);
  return affine * Affine::translation(shift);
}

}  // namespace headrace
