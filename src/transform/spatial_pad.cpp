#include <algorithm>
#include <array>
#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/spatial_pad.hpp>
#include <stdexcept>
#include <vector>

#include "../tensor/convert.hpp"
#include "describe.hpp"
#include "pad_into.hpp"
#include "rows.hpp"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 5> mode_names{"constant", "edge", "reflect", "symmetric", "wrap"};
constexpr std::int64_t widest = std::int64_t{1} << 31;

std::string_view name_of_method(PadMethod m) { return m == PadMethod::symmetric ? "symmetric" : "end"; }

// The voxel of the image that voxel i of the padded image shows (i counts from the image's first voxel); -1: `value`.
std::int64_t source(std::int64_t i, std::int64_t n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  switch (mode) {
    case PadMode::edge:
      return i < 0 ? 0 : n - 1;
    case PadMode::reflect: {
      if (n == 1) return 0;
      const std::int64_t k = modulo(i, 2 * (n - 1));
      return k < n ? k : 2 * (n - 1) - k;
    }
    case PadMode::symmetric: {
      const std::int64_t k = modulo(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    case PadMode::wrap:
      return modulo(i, n);
    default:
      return -1;
  }
}

struct Widths {
  Shape before, after;
};

void check_mode(PadMode mode, double value, const char* op) {
  if (mode != PadMode::constant && value != 0)
    throw std::invalid_argument(std::string(op) + ": value = " + detail::option_text(value) +
                                " has no meaning with mode = " + std::string(name_of(mode)) +
                                "; expected mode = constant");
}

// `from` may be a view; `to` is contiguous and larger.
template <class T>
void fill(const Tensor& from, const Tensor& to, const Shape& widths, PadMode mode, T value) {
  const int last = from.rank() - 1;
  // For every axis, where each index of the padded image comes from.
  std::array<std::vector<std::int64_t>, 4> maps;
  for (int d = 0; d <= last; ++d) {
    auto& map = maps[static_cast<std::size_t>(d)];
    const std::int64_t before = d == 0 ? 0 : widths[d - 1];
    map.resize(static_cast<std::size_t>(to.size(d)));
    for (std::int64_t i = 0; i < to.size(d); ++i)
      map[static_cast<std::size_t>(i)] = source(i - before, from.size(d), mode);
  }
  const std::int64_t n = from.size(last), step = from.strides()[last], before = widths[last - 1];
  const auto& along = maps[static_cast<std::size_t>(last)];
  const T* in = from.data<T>();
  T* out = detail::own_data<T>(to);
  detail::for_each_row(to.shape(), to.strides(), [&](const auto& index, std::int64_t at) {
    T* row = out + at;
    std::int64_t start = 0;
    bool outside = false;
    for (int d = 0; d < last; ++d) {
      const std::int64_t i =
          maps[static_cast<std::size_t>(d)][static_cast<std::size_t>(index[static_cast<std::size_t>(d)])];
      outside = outside || i < 0;
      start += i * from.strides()[d];
    }
    if (outside) {
      std::fill_n(row, along.size(), value);
      return;
    }
    const auto pad = [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::int64_t s = along[static_cast<std::size_t>(i)];
        row[i] = s < 0 ? value : in[start + s * step];
      }
    };
    pad(0, before);
    if (step == 1)
      std::copy_n(in + start, n, row + before);
    else
      for (std::int64_t i = 0; i < n; ++i) row[before + i] = in[start + i * step];
    pad(before + n, static_cast<std::int64_t>(along.size()));
  });
}

void pad_field(Sample& sample, std::string_view field, const Widths& w, PadMode mode, double value, const char* op) {
  const Tensor from = sample.get(field);
  const Shape image = spatial_shape(sample, field);
  bool nothing = true;
  Shape shape = from.shape(), start = w.before;
  for (int d = 0; d < image.rank(); ++d) {
    nothing = nothing && w.before[d] == 0 && w.after[d] == 0;
    shape[d + 1] += w.before[d] + w.after[d];
    start[d] = -w.before[d];
  }
  if (nothing) return;
  detail::check_reach(image, w.before, w.after, mode, op, field_text(sample, field));
  if (from.numel() == 0)
    throw std::invalid_argument(std::string(op) + ": " + field_text(sample, field) + " has no voxels to pad");
  const Affine affine = crop_affine(sample.affine(field), start);
  const Tensor to = sample.output(field, from.dtype(), shape);
  detail::pad_into(from, to, w.before, mode, value);
  sample.set(field, to, affine);
}

Widths split(const Shape& image, const Shape& wanted, PadMethod method) {
  Widths w{image, image};
  for (int d = 0; d < image.rank(); ++d) {
    const std::int64_t more = std::max<std::int64_t>(wanted[d] - image[d], 0);
    w.before[d] = method == PadMethod::end ? 0 : more / 2;
    w.after[d] = more - w.before[d];
  }
  return w;
}

void check_sizes(const Sizes& sizes, const char* op, const char* option) {
  if (sizes.empty()) detail::throw_option(op, option, "[]", "one number, or one for each spatial axis");
  for (const std::int64_t v : sizes.values())
    if (v >= widest) detail::throw_option(op, option, detail::option_text(sizes), "numbers below 2^31");
}

Shape multiples(const Sizes& k, const Shape& image) {
  if (!k.is_one() && static_cast<int>(k.values().size()) != image.rank())
    detail::throw_option(DivisiblePad::name, "k", detail::option_text(k),
                         "one number, or one for each of the " + std::to_string(image.rank()) + " spatial axes");
  Shape wanted = image;
  for (int d = 0; d < image.rank(); ++d)
    if (const std::int64_t m = k.at(static_cast<std::size_t>(d)); m > 0 && image[d] != unknown)
      wanted[d] = (image[d] + m - 1) / m * m;
  return wanted;
}

Widths borders(const Sizes& border, const Shape& image) {
  const auto given = border.values().size();
  const auto rank = static_cast<std::size_t>(image.rank());
  if (!border.is_one() && given != rank && given != 2 * rank)
    detail::throw_option(BorderPad::name, "spatial_border", detail::option_text(border),
                         "one number, " + std::to_string(rank) + " numbers, or " + std::to_string(2 * rank) +
                             " numbers for " + std::to_string(rank) + " spatial axes");
  Widths w{image, image};
  for (std::size_t d = 0; d < rank; ++d) {
    const bool both = border.is_one() || given == rank;
    w.before[static_cast<int>(d)] = both ? border.at(d) : border.at(2 * d);
    w.after[static_cast<int>(d)] = both ? border.at(d) : border.at(2 * d + 1);
  }
  return w;
}

}  // namespace

namespace detail {

void pad_into(const Tensor& from, const Tensor& to, const Shape& before, PadMode mode, double value) {
  visit_dtype(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    fill<T>(from, to, before, mode, convert<T>(value));
  });
}

void check_reach(const Shape& image, const Shape& before, const Shape& after, PadMode mode, const char* op,
                 const std::string& what) {
  for (int d = 0; d < image.rank(); ++d)
    if (const std::int64_t reach = std::max(before[d], after[d]); mode == PadMode::reflect && reach > image[d] - 1)
      throw std::invalid_argument(std::string(op) + ": mode reflect reaches at most " + std::to_string(image[d] - 1) +
                                  " voxels beyond " + what + " of size " + image.str() + " on axis " +
                                  std::to_string(d) + ", not " + std::to_string(reach));
}

}  // namespace detail

std::string_view name_of(PadMode mode) noexcept { return mode_names[static_cast<std::size_t>(mode)]; }

PadMode parse_pad_mode(std::string_view name) {
  for (std::size_t i = 0; i < mode_names.size(); ++i)
    if (mode_names[i] == name) return static_cast<PadMode>(i);
  if (name == "replicate") return PadMode::edge;
  if (name == "circular") return PadMode::wrap;
  throw std::invalid_argument("the pad mode \"" + std::string(name) +
                              "\" is none of constant, edge (replicate), reflect, symmetric, wrap (circular)");
}

SpatialPad::SpatialPad(SpatialPadOptions options) : options_(std::move(options)) {
  check_sizes(options_.spatial_size, name, "spatial_size");
  check_mode(options_.mode, options_.value, name);
}

void SpatialPad::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape image = spatial_shape(sample, field);
    const Shape wanted = detail::fall_back(options_.spatial_size, image, name, "spatial_size");
    pad_field(sample, field, split(image, wanted, options_.method), options_.mode, options_.value, name);
  });
}

SampleSpec SpatialPad::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const Shape wanted = detail::fall_back(options_.spatial_size, own, name, "spatial_size");
    for (int d = 0; d < own.rank(); ++d)
      if (own[d] != unknown) field.shape[d + 1] = std::max(own[d], wanted[d]);
  });
  return spec;
}

std::string SpatialPad::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("spatial_size", options_.spatial_size)
      .add("method", name_of_method(options_.method))
      .add("mode", name_of(options_.mode))
      .add("value", options_.value)
      .str();
}

BorderPad::BorderPad(BorderPadOptions options) : options_(std::move(options)) {
  check_sizes(options_.spatial_border, name, "spatial_border");
  for (const std::int64_t v : options_.spatial_border.values())
    if (v < 0) detail::throw_option(name, "spatial_border", detail::option_text(options_.spatial_border), "0 or more");
  check_mode(options_.mode, options_.value, name);
}

void BorderPad::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Widths w = borders(options_.spatial_border, spatial_shape(sample, field));
    pad_field(sample, field, w, options_.mode, options_.value, name);
  });
}

SampleSpec BorderPad::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name);
    const Widths w = borders(options_.spatial_border, own);
    for (int d = 0; d < own.rank(); ++d)
      if (own[d] != unknown) field.shape[d + 1] = own[d] + w.before[d] + w.after[d];
  });
  return spec;
}

std::string BorderPad::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("spatial_border", options_.spatial_border)
      .add("mode", name_of(options_.mode))
      .add("value", options_.value)
      .str();
}

DivisiblePad::DivisiblePad(DivisiblePadOptions options) : options_(std::move(options)) {
  check_sizes(options_.k, name, "k");
  check_mode(options_.mode, options_.value, name);
}

void DivisiblePad::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Shape image = spatial_shape(sample, field);
    pad_field(sample, field, split(image, multiples(options_.k, image), options_.method), options_.mode, options_.value,
              name);
  });
}

SampleSpec DivisiblePad::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape own = detail::spatial_shape(field.shape, name, field.name), wanted = multiples(options_.k, own);
    for (int d = 0; d < own.rank(); ++d) field.shape[d + 1] = wanted[d];
  });
  return spec;
}

std::string DivisiblePad::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("k", options_.k)
      .add("method", name_of_method(options_.method))
      .add("mode", name_of(options_.mode))
      .add("value", options_.value)
      .str();
}

}  // namespace headrace
