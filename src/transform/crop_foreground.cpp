#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <headrace/transform/crop_foreground.hpp>
#include <limits>
#include <stdexcept>

#include "describe.hpp"
#include "rows.hpp"

namespace headrace {
namespace {

constexpr std::int64_t most_voxels = std::int64_t{1} << 20;  // a wider margin is a mistake in its unit

struct Extent {
  std::array<std::int64_t, 3> first, last;
  Extent() {
    first.fill(std::numeric_limits<std::int64_t>::max());
    last.fill(-1);
  }
  bool empty() const noexcept { return last[0] < 0; }
  void add(std::size_t axis, std::int64_t from, std::int64_t to) noexcept {
    first[axis] = std::min(first[axis], from);
    last[axis] = std::max(last[axis], to);
  }
};

// Widens `extent` by one channel's foreground. From both ends of a row only as far as the first voxel found.
template <class T>
void add_channel(const Tensor& channel, double threshold, Extent& extent) {
  const T* data = channel.data<T>();
  const int axes = channel.rank();
  const std::int64_t n = channel.shape()[axes - 1], step = channel.strides()[axes - 1];
  const auto above = [threshold](T v) { return static_cast<double>(v) > threshold; };
  detail::for_each_row(channel.shape(), channel.strides(), [&](const auto& index, std::int64_t at) {
    const T* row = data + at;
    std::int64_t k = 0;
    while (k < n && !above(row[k * step])) ++k;
    if (k == n) return;
    std::int64_t end = n - 1;
    while (!above(row[end * step])) --end;
    for (int d = 0; d < axes - 1; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      extent.add(axis, index[axis], index[axis]);
    }
    extent.add(static_cast<std::size_t>(axes - 1), k, end);
  });
}

bool inside(const Box& box, const Shape& image) noexcept {
  for (int d = 0; d < image.rank(); ++d)
    if (box.start[d] < 0 || box.start[d] + box.size[d] > image[d]) return false;
  return true;
}

// The part of the image that the box covers, in zeros where the box leaves the image.
Tensor padded(Sample& sample, std::string_view key, const Box& box, const Shape& image) {
  const Tensor& from = sample.get(key);
  Shape shape{from.shape()[0]};
  std::vector<std::int64_t> source_start, target_start, size;
  for (int d = 0; d < image.rank(); ++d) {
    const std::int64_t start = std::max<std::int64_t>(box.start[d], 0);
    const std::int64_t end = std::min(box.start[d] + box.size[d], image[d]);
    shape.push_back(box.size[d]);
    source_start.push_back(start);
    target_start.push_back(start - box.start[d]);
    size.push_back(end - start);
  }
  const Tensor to = sample.output(key, from.dtype(), shape);
  std::memset(detail::own_bytes(to), 0, to.bytes());
  to.crop(target_start, size).copy_from(from.crop(source_start, size));
  return to;
}

void check_per_axis(const char* option, const Sizes& v, bool negative_allowed) {
  for (const std::int64_t x : v.values())
    if (x > most_voxels || (x < 0 && !negative_allowed))
      detail::throw_option(CropForeground::name, option, detail::option_text(v),
                           (negative_allowed ? "at most " : "0 to ") + std::to_string(most_voxels) + " voxels");
  if (v.empty()) detail::throw_option(CropForeground::name, option, "[]", "one value, or one per spatial axis");
}

// One value per axis.
Shape over_axes(const char* option, const Sizes& v, int axes) {
  if (!v.is_one() && static_cast<int>(v.values().size()) != axes)
    detail::throw_option(CropForeground::name, option, detail::option_text(v),
                         "one value, or one for each of the " + std::to_string(axes) + " spatial axes");
  Shape values;
  for (int d = 0; d < axes; ++d) values.push_back(v.at(static_cast<std::size_t>(d)));
  return values;
}

}  // namespace

CropForeground::CropForeground(Options options) : options_(std::move(options)) {
  const Options& o = options_;
  if (o.source_key.empty())
    throw std::invalid_argument("CropForeground: source_key is empty; expected the name of a field");
  if (std::isnan(o.threshold)) throw std::invalid_argument("CropForeground: threshold is NaN; expected a number");
  check_per_axis("margin", o.margin, false);
  check_per_axis("k_divisible", o.k_divisible, true);
  if (!o.start_coord_key.empty() && o.start_coord_key == o.end_coord_key)
    throw std::invalid_argument("CropForeground: start_coord_key and end_coord_key are both '" + o.end_coord_key + "'");
  const auto any_above = [](const Sizes& v, std::int64_t limit) {
    return std::any_of(v.values().begin(), v.values().end(), [=](std::int64_t x) { return x > limit; });
  };
  may_pad_ = any_above(o.k_divisible, 1) || (any_above(o.margin, 0) && !o.allow_smaller);
}

Box CropForeground::box(const Sample& sample) const {
  const Options& o = options_;
  const Shape image = spatial_shape(sample, o.source_key);
  const Tensor source = detail::arithmetic_form(sample.get(o.source_key));
  const std::int64_t channels = source.size(0);
  Extent extent;
  const auto add = [&](std::int64_t channel) {
    visit_arithmetic(source.dtype(),
                     [&](auto zero) { add_channel<decltype(zero)>(source.select(0, channel), o.threshold, extent); });
  };
  for (const int given : o.channel_indices) {
    const std::int64_t channel = given < 0 ? channels + given : given;
    if (channel < 0 || channel >= channels)
      throw std::invalid_argument("channel_indices names channel " + std::to_string(given) + " of " +
                                  field_text(sample, o.source_key) + ", which has " + std::to_string(channels));
    add(channel);
  }
  if (o.channel_indices.empty())
    for (std::int64_t channel = 0; channel < channels; ++channel) add(channel);
  if (extent.empty())
    throw std::invalid_argument(field_text(sample, o.source_key) + " has no foreground: none of its voxels is above " +
                                detail::option_text(o.threshold));

  const Shape margin = over_axes("margin", o.margin, image.rank());
  const Shape multiple = over_axes("k_divisible", o.k_divisible, image.rank());
  Box box{.start = image, .size = image};
  for (int d = 0; d < image.rank(); ++d) {
    const auto axis = static_cast<std::size_t>(d);
    std::int64_t start = extent.first[axis] - margin[d], end = extent.last[axis] + 1 + margin[d];
    if (o.allow_smaller) {
      start = std::max<std::int64_t>(start, 0);
      end = std::min(end, image[d]);
    }
    std::int64_t size = end - start;
    if (multiple[d] > 1) {
      const std::int64_t whole = (size + multiple[d] - 1) / multiple[d] * multiple[d];
      start -= (whole - size) / 2;
      size = whole;
    }
    box.start[d] = start;
    box.size[d] = size;
  }
  return box;
}

void CropForeground::apply(Sample& sample) const {
  const Box box = this->box(sample);
  const Shape image = spatial_shape(sample, options_.source_key);
  options_.keys.for_each(sample, [&](std::string_view key) {
    const Shape own = spatial_shape(sample, key);
    if (!(own == image))
      throw std::invalid_argument(field_text(sample, key) + " has the spatial shape " + own.str() + ", but '" +
                                  options_.source_key + "' has " + image.str() + ": one box cannot crop both");
  });
  const bool view = inside(box, image);
  options_.keys.for_each(sample, [&](std::string_view key) {
    const Affine affine = crop_affine(sample.affine(key), box.start);
    sample.set(key, view ? sample.get(key).crop(box.start, box.size) : padded(sample, key, box, image), affine);
  });
  Shape end = box.start;
  for (int d = 0; d < end.rank(); ++d) end[d] += box.size[d];
  const auto store = [&](const std::string& key, const Shape& values) {
    if (!key.empty())
      sample.set(key, Tensor::from(std::span<const std::int64_t>(values), Shape{values.rank()}), Affine::identity());
  };
  store(options_.start_coord_key, box.start);
  store(options_.end_coord_key, end);
}

SampleSpec CropForeground::infer(SampleSpec spec) const {
  const FieldSpec source = spec.at(options_.source_key);
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    (void)detail::spatial_shape(field.shape, name, field.name);
    for (int d = 1; d < field.shape.rank(); ++d) field.shape[d] = unknown;
  });
  for (const std::string& key : {options_.start_coord_key, options_.end_coord_key})
    if (!key.empty()) spec.set({.name = key, .dtype = DType::i64, .shape = {source.shape.rank() - 1}});
  return spec;
}

Effect CropForeground::effect(std::string_view field) const {
  if (!options_.keys.contains(field)) return Effect::none;
  return may_pad_ ? Effect::rewrite : Effect::view;
}

std::string CropForeground::describe() const {
  const Options& o = options_;
  return detail::OptionList()
      .add("keys", o.keys)
      .add("source_key", o.source_key)
      .add("threshold", o.threshold)
      .add("channel_indices", o.channel_indices)
      .add("margin", o.margin)
      .add("allow_smaller", o.allow_smaller)
      .add("k_divisible", o.k_divisible)
      .add("start_coord_key", o.start_coord_key)
      .add("end_coord_key", o.end_coord_key)
      .str();
}

}  // namespace headrace
