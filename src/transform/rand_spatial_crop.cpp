#include <headrace/random/address.hpp>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/rand_spatial_crop.hpp>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {

namespace detail {

RandomBox::RandomBox(RandSpatialCropOptions options, const char* op) : options_(std::move(options)), op_(op) {
  if (options_.roi_size.empty()) throw_option(op_, "roi_size", "[]", "one size, or one for each spatial axis");
  if (!options_.max_roi_size.empty() && !options_.random_size)
    throw_option(op_, "max_roi_size", option_text(options_.max_roi_size), "random_size = true with it");
}

Shape RandomBox::image_shape(const Sample& sample) const {
  Shape image;
  std::string_view first;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape own = spatial_shape(sample, field);
    if (first.empty()) {
      image = own;
      first = field;
    } else if (!(own == image)) {
      throw std::invalid_argument(field_text(sample, field) + " has the spatial shape " + own.str() + ", but " +
                                  field_text(sample, first) + " has " + image.str() + ": one crop cannot serve both");
    }
  });
  if (first.empty()) throw std::invalid_argument(std::string(op_) + ": the sample has no tensor to crop");
  return image;
}

RandomBox::Plan RandomBox::plan(const Sample& sample, Rng& rng) const {
  const Shape image = image_shape(sample);
  Plan p{.start = image, .size = crop_size(options_.roi_size, image, options_.allow_smaller, op_)};
  const Shape most = options_.random_size ? fall_back(options_.max_roi_size, image, op_, "max_roi_size") : p.size;
  for (int d = 0; d < 3; ++d) {  // three draws whatever the rank
    const bool real = d < image.rank();
    if (real && (most[d] < p.size[d] || most[d] > image[d]))
      throw_option(op_, "max_roi_size", option_text(options_.max_roi_size),
                   "from roi_size to the image's size, " + p.size.str() + " to " + image.str());
    const std::uint64_t more = rng.below(real ? static_cast<std::uint64_t>(most[d] - p.size[d]) + 1 : 1);
    if (real) p.size[d] += static_cast<std::int64_t>(more);
  }
  for (int d = 0; d < 3; ++d) {
    const bool real = d < image.rank();
    const std::uint64_t drawn =
        rng.below(real && options_.random_center ? static_cast<std::uint64_t>(image[d] - p.size[d]) + 1 : 1);
    if (real) p.start[d] = options_.random_center ? static_cast<std::int64_t>(drawn) : image[d] / 2 - p.size[d] / 2;
  }
  return p;
}

void RandomBox::apply(Sample& sample, const Plan& plan) const {
  (void)image_shape(sample);
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Affine affine = crop_affine(sample.affine(field), plan.start);
    sample.set(field, sample.get(field).crop(plan.start, plan.size), affine);
  });
}

SampleSpec RandomBox::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = spatial_shape(field.shape, op_, field.name);
    const Shape wanted = fall_back(options_.roi_size, own, op_, "roi_size");
    for (int d = 0; d < own.rank(); ++d) {
      std::int64_t& n = field.shape[d + 1];
      if (n != unknown && wanted[d] > n && !options_.allow_smaller)
        throw std::invalid_argument("a crop of size " + wanted.str() + " is larger than " + field.str());
      const bool fixed = !options_.random_size && (n != unknown || !options_.allow_smaller);
      n = !fixed ? unknown : n == unknown ? wanted[d] : std::min(n, wanted[d]);
    }
  });
  return spec;
}

std::string RandomBox::describe() const {
  return OptionList()
      .add("keys", options_.keys)
      .add("roi_size", options_.roi_size)
      .add("max_roi_size", options_.max_roi_size)
      .add("random_center", options_.random_center)
      .add("random_size", options_.random_size)
      .add("allow_smaller", options_.allow_smaller)
      .add_text("op", optional_text(options_.op))
      .str();
}

}  // namespace detail

RandSpatialCropSamples::RandSpatialCropSamples(RandSpatialCropSamplesOptions o)
    : RandomBox({.keys = std::move(o.keys),
                 .roi_size = std::move(o.roi_size),
                 .max_roi_size = std::move(o.max_roi_size),
                 .random_center = o.random_center,
                 .random_size = o.random_size,
                 .allow_smaller = o.allow_smaller,
                 .op = o.op},
                name),
      num_samples_(o.num_samples) {
  if (num_samples_ < 1 || num_samples_ > max_stream_patch + 1)
    detail::throw_option(name, "num_samples", std::to_string(num_samples_),
                         "1 to " + std::to_string(max_stream_patch + 1));
}

std::string RandSpatialCropSamples::describe() const {
  return RandomBox::describe() + ", num_samples=" + std::to_string(num_samples_);
}

}  // namespace headrace
