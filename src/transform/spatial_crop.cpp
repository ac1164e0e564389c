#include <algorithm>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/spatial_crop.hpp>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {
namespace {

std::int64_t at(const Sizes& option, int axis, int rank, std::string_view name) {
  if (!option.is_one() && static_cast<int>(option.values().size()) != rank)
    detail::throw_option(SpatialCrop::name, name, detail::option_text(option),
                         "one value, or one for each of the " + std::to_string(rank) + " spatial axes");
  return option.at(static_cast<std::size_t>(axis));
}

// [start, end) on an axis of n voxels.
std::pair<std::int64_t, std::int64_t> interval(const SpatialCropOptions& o, int axis, int rank, std::int64_t n) {
  std::int64_t start, end;
  if (!o.roi_center.empty()) {
    const std::int64_t size = at(o.roi_size, axis, rank, "roi_size");
    start = at(o.roi_center, axis, rank, "roi_center") - size / 2;
    end = std::max<std::int64_t>(start, 0) + size;
  } else {
    start = at(o.roi_start, axis, rank, "roi_start");
    end = at(o.roi_end, axis, rank, "roi_end");
  }
  return {std::max<std::int64_t>(start, 0), std::min(end, n)};
}

void crop(Sample& sample, std::string_view field, const Shape& start, const Shape& size) {
  const Affine affine = crop_affine(sample.affine(field), start);
  sample.set(field, sample.get(field).crop(start, size), affine);
}

}  // namespace

SpatialCrop::SpatialCrop(SpatialCropOptions options) : options_(std::move(options)) {
  const SpatialCropOptions& o = options_;
  const bool centre = !o.roi_center.empty() || !o.roi_size.empty(), ends = !o.roi_start.empty() || !o.roi_end.empty();
  if (centre == ends || o.roi_center.empty() != o.roi_size.empty() || o.roi_start.empty() != o.roi_end.empty())
    throw std::invalid_argument("SpatialCrop: expected roi_center with roi_size, or roi_start with roi_end");
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const auto check = [](const char* option, const Sizes& sizes) {
    for (const std::int64_t v : sizes.values())
      if (v < -far || v > far)
        detail::throw_option(name, option, detail::option_text(sizes), "voxels, at most 2^40 of them");
  };
  check("roi_center", o.roi_center);
  check("roi_size", o.roi_size);
  check("roi_start", o.roi_start);
  check("roi_end", o.roi_end);
}

void SpatialCrop::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape image = spatial_shape(sample, field);
    Shape start = image, size = image;
    for (int d = 0; d < image.rank(); ++d) {
      const auto [first, end] = interval(options_, d, image.rank(), image[d]);
      if (first >= end)
        throw std::invalid_argument("SpatialCrop: the box holds no voxel of " + field_text(sample, field) +
                                    " of size " + image.str() + ": on axis " + std::to_string(d) + " it is [" +
                                    std::to_string(first) + ", " + std::to_string(end) + ")");
      start[d] = first;
      size[d] = end - first;
    }
    crop(sample, field, start, size);
  });
}

SampleSpec SpatialCrop::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const int rank = detail::spatial_shape(field.shape, name, field.name).rank();
    for (int d = 0; d < rank; ++d) {
      std::int64_t& n = field.shape[d + 1];
      const auto [first, end] = interval(options_, d, rank, n == unknown ? std::int64_t{1} << 41 : n);
      if (n != unknown) n = std::max<std::int64_t>(end - first, 0);
    }
  });
  return spec;
}

std::string SpatialCrop::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("roi_center", options_.roi_center)
      .add("roi_size", options_.roi_size)
      .add("roi_start", options_.roi_start)
      .add("roi_end", options_.roi_end)
      .str();
}

CenterSpatialCrop::CenterSpatialCrop(CenterSpatialCropOptions options) : options_(std::move(options)) {
  if (options_.roi_size.empty()) detail::throw_option(name, "roi_size", "[]", "one size, or one for each spatial axis");
}

void CenterSpatialCrop::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape image = spatial_shape(sample, field);
    Shape size = detail::fall_back(options_.roi_size, image, name, "roi_size"), start = size;
    for (int d = 0; d < image.rank(); ++d) {
      size[d] = std::min(size[d], image[d]);
      start[d] = std::max<std::int64_t>(image[d] / 2 - size[d] / 2, 0);
    }
    crop(sample, field, start, size);
  });
}

SampleSpec CenterSpatialCrop::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const Shape wanted = detail::fall_back(options_.roi_size, own, name, "roi_size");
    for (int d = 0; d < own.rank(); ++d)
      if (own[d] != unknown) field.shape[d + 1] = std::min(own[d], wanted[d]);
  });
  return spec;
}

std::string CenterSpatialCrop::describe() const {
  return detail::OptionList().add("keys", options_.keys).add("roi_size", options_.roi_size).str();
}

}  // namespace headrace
