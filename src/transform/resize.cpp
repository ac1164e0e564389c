#include <algorithm>
#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/resize.hpp>
#include <stdexcept>
#include <utility>

#include "describe.hpp"
#include "pad_into.hpp"
#include "separable.hpp"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 5> mode_names{"by_dtype", "area", "linear", "nearest", "nearest_exact"};
constexpr std::int64_t longest_axis = std::int64_t{1} << 31;

void check_modes(const PerKey<ResizeMode>& modes, const Keys& keys, bool align_corners, const char* op) {
  detail::check_per_key(modes, keys, op, "mode");
  for (const ResizeMode m : modes.values())
    if (align_corners && m != ResizeMode::linear)
      detail::throw_option(op, "align_corners", "true", "mode = linear with it");
}

std::string modes_text(const PerKey<ResizeMode>& modes) {
  std::string text;
  for (const ResizeMode m : modes.values()) text += (text.empty() ? "" : ", ") + detail::option_text(name_of(m));
  return modes.is_one() ? text : "[" + text + "]";
}

std::int64_t round_half_even(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

Shape channels_and(std::int64_t channels, const Shape& spatial) {
  Shape shape{channels};
  for (const std::int64_t n : spatial) shape.push_back(n);
  return shape;
}

[[noreturn]] void throw_empty(const char* op, const std::string& what, const Shape& image, const Shape& size) {
  throw std::invalid_argument(std::string(op) + ": " + what + " of size " + image.str() + " would become " +
                              size.str() + ", which has no voxels");
}

bool has_voxels(const Shape& spatial) {
  return std::all_of(spatial.begin(), spatial.end(), [](std::int64_t n) { return n > 0; });
}

// Zoomed by the factors; with keep_size in the old frame.
struct Zoomed {
  std::array<double, 3> zoom;
  ResizeMode mode;
  PadMode padding;
  bool align_corners, keep_size;
};

Shape zoomed_size(const Shape& image, const std::array<double, 3>& zoom) {
  Shape m = image;
  for (int d = 0; d < image.rank(); ++d)
    if (image[d] != unknown)
      m[d] = static_cast<std::int64_t>(
          std::floor(static_cast<double>(image[d]) * zoom[static_cast<std::size_t>(d)] + 1e-9));
  return m;
}

void zoom_field(Sample& sample, std::string_view field, const Zoomed& z, const char* op) {
  const Tensor from = sample.get(field);
  const Shape image = spatial_shape(sample, field), m = zoomed_size(image, z.zoom);
  if (m == image) return;
  if (!has_voxels(m)) throw_empty(op, field_text(sample, field), image, m);
  Affine affine = sample.affine(field) * detail::resize_map(image, m, z.align_corners);
  const Shape shape = channels_and(from.size(0), m);
  if (!z.keep_size) {
    const Tensor to = sample.output(field, from.dtype(), shape);
    detail::resize_into(sample, from, to, z.mode, z.align_corners);
    sample.set(field, to, affine);
    return;
  }
  const Tensor between = sample.scratch(from.dtype(), shape);
  Shape start = m, size = m, before = m, after = m, shift = m;
  for (int d = 0; d < image.rank(); ++d) {
    size[d] = std::min(m[d], image[d]);
    start[d] = m[d] > image[d] ? std::max<std::int64_t>(m[d] / 2 - image[d] / 2, 0) : 0;
    before[d] = (image[d] - size[d]) / 2;
    after[d] = image[d] - size[d] - before[d];
    shift[d] = start[d] - before[d];
  }
  detail::check_reach(size, before, after, z.padding, op, "the zoomed " + field_text(sample, field));
  detail::resize_into(sample, from, between, z.mode, z.align_corners);
  const Tensor to = sample.output(field, from.dtype(), from.shape());
  detail::pad_into(between.crop(std::as_const(start), std::as_const(size)), to, before, z.padding, 0);
  sample.set(field, to, crop_affine(affine, shift));
}

void check_zoom(double z, const char* op, const char* option, const std::string& shown) {
  if (!(z > 0 && z <= 1000)) detail::throw_option(op, option, shown, "factors above 0 and at most 1000");
}

}  // namespace

std::string_view name_of(ResizeMode mode) noexcept { return mode_names[static_cast<std::size_t>(mode)]; }

ResizeMode parse_resize_mode(std::string_view name) {
  for (std::size_t i = 0; i < mode_names.size(); ++i)
    if (mode_names[i] == name) return static_cast<ResizeMode>(i);
  if (name == "bilinear" || name == "trilinear") return ResizeMode::linear;
  if (name == "nearest-exact") return ResizeMode::nearest_exact;
  throw std::invalid_argument("the resize mode \"" + std::string(name) +
                              "\" is none of by_dtype, area, linear (bilinear, trilinear), nearest, nearest_exact");
}

// ---- Resize

Resize::Resize(ResizeOptions options) : options_(std::move(options)) {
  if (options_.spatial_size.empty()) detail::throw_option(name, "spatial_size", "[]", "one size, or one per axis");
  for (const std::int64_t n : options_.spatial_size.values())
    if (n >= longest_axis)
      detail::throw_option(name, "spatial_size", detail::option_text(options_.spatial_size), "sizes below 2^31");
  if (options_.size_mode == SizeMode::longest &&
      (options_.spatial_size.values().size() != 1 || options_.spatial_size.values()[0] < 1))
    detail::throw_option(name, "spatial_size", detail::option_text(options_.spatial_size),
                         "one size of at least 1 for the longest axis");
  check_modes(options_.mode, options_.keys, options_.align_corners, name);
}

namespace {

Shape resized(const ResizeOptions& o, const Shape& image) {
  if (o.size_mode == SizeMode::all) return detail::fall_back(o.spatial_size, image, Resize::name, "spatial_size");
  const std::int64_t longest = *std::max_element(image.begin(), image.end());
  Shape size = image;
  for (int d = 0; d < image.rank(); ++d)
    size[d] = round_half_even(static_cast<double>(image[d]) *
                              (static_cast<double>(o.spatial_size.at(0)) / static_cast<double>(longest)));
  return size;
}

}  // namespace

void Resize::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape image = spatial_shape(sample, field);
    const Tensor from = sample.get(field);
    if (!has_voxels(image)) throw_empty(name, field_text(sample, field), image, image);
    const Shape size = resized(options_, image);
    if (size == image) return;
    if (!has_voxels(size)) throw_empty(name, field_text(sample, field), image, size);
    const Affine affine = sample.affine(field) * detail::resize_map(image, size, options_.align_corners);
    const Tensor to = sample.output(field, from.dtype(), channels_and(from.size(0), size));
    detail::resize_into(sample, from, to, detail::for_key(options_.mode, options_.keys, field), options_.align_corners);
    sample.set(field, to, affine);
  });
}

SampleSpec Resize::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const bool known = std::none_of(own.begin(), own.end(), [](std::int64_t n) { return n == unknown; });
    if (options_.size_mode == SizeMode::longest && !known) {
      for (int d = 0; d < own.rank(); ++d) field.shape[d + 1] = unknown;
      return;
    }
    const Shape size = resized(options_, own);
    for (int d = 0; d < own.rank(); ++d) field.shape[d + 1] = size[d];
  });
  return spec;
}

std::string Resize::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("spatial_size", options_.spatial_size)
      .add("size_mode", options_.size_mode == SizeMode::all ? "all" : "longest")
      .add_text("mode", modes_text(options_.mode))
      .add("align_corners", options_.align_corners)
      .str();
}

// ---- Zoom

Zoom::Zoom(ZoomOptions options) : options_(std::move(options)) {
  if (options_.zoom.empty()) detail::throw_option(name, "zoom", "[]", "one factor, or one per axis");
  for (const double z : options_.zoom.values()) check_zoom(z, name, "zoom", detail::option_text(options_.zoom));
  check_modes(options_.mode, options_.keys, options_.align_corners, name);
}

namespace {

std::array<double, 3> zoom_for(const OneOrMany<double>& zoom, int rank) {
  if (!zoom.is_one() && static_cast<int>(zoom.values().size()) != rank)
    detail::throw_option(Zoom::name, "zoom", detail::option_text(zoom),
                         "one factor, or one for each of the " + std::to_string(rank) + " spatial axes");
  std::array<double, 3> z{1, 1, 1};
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) z[d] = zoom.at(d);
  return z;
}

}  // namespace

void Zoom::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    zoom_field(sample, field,
               {.zoom = zoom_for(options_.zoom, spatial_shape(sample, field).rank()),
                .mode = detail::for_key(options_.mode, options_.keys, field),
                .padding = options_.padding_mode,
                .align_corners = options_.align_corners,
                .keep_size = options_.keep_size},
               name);
  });
}

SampleSpec Zoom::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const Shape size = zoomed_size(own, zoom_for(options_.zoom, own.rank()));
    if (options_.keep_size) return;
    for (int d = 0; d < own.rank(); ++d) field.shape[d + 1] = size[d];
  });
  return spec;
}

std::string Zoom::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("zoom", options_.zoom)
      .add_text("mode", modes_text(options_.mode))
      .add("padding_mode", name_of(options_.padding_mode))
      .add("align_corners", options_.align_corners)
      .add("keep_size", options_.keep_size)
      .str();
}

// ---- RandZoom

RandZoom::RandZoom(RandZoomOptions options) : options_(std::move(options)) {
  const RandZoomOptions& o = options_;
  detail::check_prob(o.prob, name);
  if (o.min_zoom.empty() || o.min_zoom.size() > 3 || o.min_zoom.size() != o.max_zoom.size())
    throw std::invalid_argument("RandZoom: min_zoom = " + detail::option_text(o.min_zoom) + " and max_zoom = " +
                                detail::option_text(o.max_zoom) + ", but expected one to three factors each, as many");
  for (std::size_t i = 0; i < o.min_zoom.size(); ++i) {
    check_zoom(o.min_zoom[i], name, "min_zoom", detail::option_text(o.min_zoom));
    check_zoom(o.max_zoom[i], name, "max_zoom", detail::option_text(o.max_zoom));
    if (o.min_zoom[i] > o.max_zoom[i])
      detail::throw_option(name, "min_zoom", detail::option_text(o.min_zoom),
                           "nothing above max_zoom = " + detail::option_text(o.max_zoom));
  }
  check_modes(o.mode, o.keys, o.align_corners, name);
}

namespace {

std::array<double, 3> zoom_for(const std::array<double, 3>& drawn, std::size_t entries, int rank) {
  const auto axes = static_cast<std::size_t>(rank);
  if (entries == 1) return {drawn[0], drawn[0], drawn[0]};
  if (entries == 2 && axes == 3) return {drawn[0], drawn[0], drawn[1]};
  if (entries != axes)
    throw std::invalid_argument("RandZoom: min_zoom has " + std::to_string(entries) + " entries, but the image has " +
                                std::to_string(rank) + " spatial axes");
  return drawn;
}

}  // namespace

RandZoom::Plan RandZoom::plan(const Sample&, Rng& rng) const {
  Plan p{.apply = rng.bernoulli(options_.prob)};
  for (std::size_t i = 0; i < options_.min_zoom.size(); ++i)
    p.zoom[i] = rng.uniform(options_.min_zoom[i], options_.max_zoom[i]);
  return p;
}

void RandZoom::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const auto zoom = zoom_for(plan.zoom, options_.min_zoom.size(), spatial_shape(sample, field).rank());
    if (!plan.apply) return;
    zoom_field(sample, field,
               {.zoom = zoom,
                .mode = detail::for_key(options_.mode, options_.keys, field),
                .padding = options_.padding_mode,
                .align_corners = options_.align_corners,
                .keep_size = options_.keep_size},
               name);
  });
}

SampleSpec RandZoom::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const int rank = detail::spatial_shape(field.shape, name, field.name).rank();
    (void)zoom_for({}, options_.min_zoom.size(), rank);
    if (options_.keep_size) return;
    for (int d = 0; d < rank; ++d) field.shape[d + 1] = unknown;
  });
  return spec;
}

std::string RandZoom::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("min_zoom", options_.min_zoom)
      .add("max_zoom", options_.max_zoom)
      .add_text("mode", modes_text(options_.mode))
      .add("padding_mode", name_of(options_.padding_mode))
      .add("align_corners", options_.align_corners)
      .add("keep_size", options_.keep_size)
      .str();
}

// ---- RandSimulateLowResolution

RandSimulateLowResolution::RandSimulateLowResolution(RandSimulateLowResolutionOptions options)
    : options_(std::move(options)) {
  const auto& o = options_;
  detail::check_prob(o.prob, name);
  detail::check_range(o.zoom_range, name, "zoom_range");
  if (!(o.zoom_range.low > 0 && o.zoom_range.high <= 1))
    detail::throw_option(name, "zoom_range", detail::option_text(o.zoom_range), "factors above 0 and at most 1");
  for (const ResizeMode m : {o.downsample_mode, o.upsample_mode})
    if (o.align_corners && m == ResizeMode::area)
      detail::throw_option(name, "align_corners", "true", "modes linear and nearest with it");
}

RandSimulateLowResolution::Plan RandSimulateLowResolution::plan(const Sample&, Rng& rng) const {
  const bool apply = rng.bernoulli(options_.prob);
  return {apply, rng.uniform(options_.zoom_range.low, options_.zoom_range.high)};
}

void RandSimulateLowResolution::apply(Sample& sample, const Plan& plan) const {
  if (!plan.apply) return;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor from = sample.get(field);
    const Shape image = spatial_shape(sample, field);
    Shape m = image;
    for (int d = 0; d < image.rank(); ++d)
      m[d] = std::max<std::int64_t>(1, round_half_even(static_cast<double>(image[d]) * plan.zoom));
    if (m == image || !has_voxels(image)) return;
    const auto mode = [&](ResizeMode wanted) {
      if (wanted != ResizeMode::by_dtype) return wanted;
      return is_floating(from.dtype()) ? ResizeMode::linear : ResizeMode::nearest;
    };
    const Tensor small = sample.scratch(from.dtype(), channels_and(from.size(0), m));
    detail::resize_into(sample, from, small, mode(options_.downsample_mode), options_.align_corners);
    const Tensor to = sample.output(field, from.dtype(), from.shape());
    detail::resize_into(sample, small, to, mode(options_.upsample_mode), options_.align_corners);
    sample.set(field, to);
  });
}

std::string RandSimulateLowResolution::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("downsample_mode", name_of(options_.downsample_mode))
      .add("upsample_mode", name_of(options_.upsample_mode))
      .add("zoom_range", options_.zoom_range)
      .add("align_corners", options_.align_corners)
      .str();
}

}  // namespace headrace
