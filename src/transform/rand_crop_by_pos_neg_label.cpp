#include <cmath>
#include <headrace/random/address.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <stdexcept>

#include "describe.hpp"
#include "foreground.hpp"

namespace headrace {
namespace {

constexpr unsigned most_samples = max_stream_patch + 1;
constexpr std::int64_t longest_axis = std::int64_t{1} << 31;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("RandCropByPosNegLabel: " + what); }

const VoxelSet& stored_set(const Sample& sample, const std::string& key, const Shape& spatial) {
  const VoxelSet& set = sample.voxels(key);
  if (!(set.shape() == spatial))
    throw std::invalid_argument("the voxel set '" + key + "' belongs to an image of size " + set.shape().str() +
                                ", but the label has " + spatial.str() +
                                "; make it after the last op that changes shapes");
  return set;
}

}  // namespace

RandCropByPosNegLabel::RandCropByPosNegLabel(Options options) : options_(std::move(options)) {
  Options& o = options_;
  if (o.label_key.empty()) refuse("label_key is empty; expected the name of a field");
  if (o.spatial_size.empty()) refuse("spatial_size is not given; expected one size per spatial axis");
  for (const std::int64_t s : o.spatial_size.values())
    if (s >= longest_axis)
      refuse("spatial_size = " + detail::option_text(o.spatial_size) + "; expected sizes below 2^31 voxels");
  const auto weight = [](const char* option, double w) {
    if (!(w >= 0) || std::isinf(w))
      refuse(std::string(option) + " = " + detail::option_text(w) + "; expected a finite number, 0 or more");
  };
  weight("pos", o.pos);
  weight("neg", o.neg);
  if (o.pos == 0 && o.neg == 0) refuse("pos = 0 and neg = 0; expected at least one of them above 0");
  if (std::isinf(o.pos + o.neg)) refuse("pos + neg is not a finite number");
  if (o.num_samples < 1 || o.num_samples > most_samples)
    refuse("num_samples = " + std::to_string(o.num_samples) + "; expected 1 to " + std::to_string(most_samples));
  if (std::isnan(o.image_threshold)) refuse("image_threshold is NaN; expected a number");
  if (o.fg_indices_key.empty() != o.bg_indices_key.empty())
    refuse("fg_indices_key and bg_indices_key are a pair; give both or neither");
  sets_required_ = !o.fg_indices_key.empty();
  foreground_key_ = sets_required_ ? o.fg_indices_key : o.label_key + "_fg_indices";
  background_key_ = sets_required_ ? o.bg_indices_key : o.label_key + "_bg_indices";
}

Shape RandCropByPosNegLabel::checked_shape(const Sample& sample) const {
  const Shape spatial = spatial_shape(sample, options_.label_key);
  options_.keys.for_each(sample, [&](std::string_view key) {
    const Shape own = spatial_shape(sample, key);
    if (!(own == spatial))
      throw std::invalid_argument(field_text(sample, key) + " has the spatial shape " + own.str() +
                                  ", but the label, " + field_text(sample, options_.label_key) + ", has " +
                                  spatial.str() + ": one crop cannot serve both");
  });
  return spatial;
}

const VoxelSet& RandCropByPosNegLabel::choose(const VoxelSet& foreground, const VoxelSet& background, double u) const {
  if (foreground.empty() && background.empty())
    throw std::invalid_argument(
        "no voxel to crop around: the label has neither foreground nor background" +
        std::string(options_.image_key.empty() ? "" : " where the image is above image_threshold"));
  if (foreground.empty()) return background;
  if (background.empty()) return foreground;
  return u < options_.pos / (options_.pos + options_.neg) ? foreground : background;
}

RandCropByPosNegLabel::Plan RandCropByPosNegLabel::place(std::uint64_t voxel, const Shape& image) const {
  const Shape size = crop_size(options_.spatial_size, image, options_.allow_smaller, name);
  const Box box = box_around(unravel(voxel, image), size, image);
  Shape centre = box.start;
  for (int d = 0; d < centre.rank(); ++d) centre[d] += size[d] / 2;
  return {.start = box.start, .size = size, .centre = centre};
}

RandCropByPosNegLabel::Plan RandCropByPosNegLabel::plan(const Sample& sample, Rng& rng) const {
  const Options& o = options_;
  const Shape image = checked_shape(sample);
  (void)crop_size(o.spatial_size, image, o.allow_smaller, name);  // before the label is read
  const auto draw = [&](const VoxelSet& foreground, const VoxelSet& background) {
    const double u = rng.uniform();
    const VoxelSet* from = nullptr;
    try {
      from = &choose(foreground, background, u);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(field_text(sample, o.label_key) + ": " + e.what());
    }
    return place(from->select(rng.below(from->size())), image);
  };
  if (sets_required_ || (sample.has(foreground_key_) && sample.has(background_key_))) {
    const VoxelSet& foreground = stored_set(sample, foreground_key_, image);
    return draw(foreground, stored_set(sample, background_key_, image));
  }
  const detail::ForegroundBackground found =
      detail::find_foreground(sample, o.label_key, o.image_key, o.image_threshold);
  return draw(found.foreground, found.background);
}

void RandCropByPosNegLabel::apply(Sample& sample, const Plan& plan) const {
  (void)checked_shape(sample);
  options_.keys.for_each(sample, [&](std::string_view key) {
    const Affine affine = crop_affine(sample.affine(key), plan.start);
    sample.set(key, sample.get(key).crop(plan.start, plan.size), affine);
  });
  sample.erase(foreground_key_);
  sample.erase(background_key_);
}

SampleSpec RandCropByPosNegLabel::infer(SampleSpec spec) const {
  const Options& o = options_;
  (void)spec.at(o.label_key);
  if (sets_required_) (void)spec.at(foreground_key_), (void)spec.at(background_key_);
  o.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const Shape wanted = detail::fall_back(o.spatial_size, own, name, "spatial_size");
    for (int d = 0; d < own.rank(); ++d) {
      std::int64_t& n = field.shape[d + 1];
      if (n == unknown) {
        if (!o.allow_smaller) n = wanted[d];
      } else if (wanted[d] <= n) {
        n = wanted[d];
      } else if (!o.allow_smaller) {
        throw std::invalid_argument("a crop of size " + wanted.str() + " is larger than " + field.str());
      }
    }
  });
  spec.erase(foreground_key_);
  spec.erase(background_key_);
  return spec;
}

std::string RandCropByPosNegLabel::describe() const {
  const Options& o = options_;
  return detail::OptionList()
      .add("keys", o.keys)
      .add("label_key", o.label_key)
      .add("spatial_size", o.spatial_size)
      .add("pos", o.pos)
      .add("neg", o.neg)
      .add("num_samples", std::int64_t{o.num_samples})
      .add("image_key", o.image_key)
      .add("image_threshold", o.image_threshold)
      .add("fg_indices_key", o.fg_indices_key)
      .add("bg_indices_key", o.bg_indices_key)
      .add("allow_smaller", o.allow_smaller)
      .add_text("op", detail::optional_text(o.op))
      .str();
}

}  // namespace headrace
