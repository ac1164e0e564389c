#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_coarse_dropout.hpp>
#include <stdexcept>

#include "../tensor/convert.hpp"
#include "describe.hpp"
#include "rows.hpp"
#include "statistics.hpp"

namespace headrace {
namespace {

constexpr unsigned most_holes = 1024;

Shape shared_shape(const Sample& sample, const Keys& keys) {
  Shape image;
  keys.for_each(sample, [&](std::string_view field) {
    const Shape own = spatial_shape(sample, field);
    if (image.rank() != 0 && !(own == image))
      throw std::invalid_argument("RandCoarseDropout: " + field_text(sample, field) + " has the spatial shape " +
                                  own.str() + ", but the first key has " + image.str());
    image = own;
  });
  return image;
}

bool inside(const RandCoarseDropout::Plan& plan, const std::array<std::int64_t, max_rank>& index, int rank,
            std::int64_t last) {
  for (const auto& h : plan.holes) {
    bool in = true;
    for (int d = 0; d < rank && in; ++d) {
      const std::int64_t i = d == rank - 1 ? last : index[static_cast<std::size_t>(d + 1)];
      in = i >= h.start[d] && i < h.start[d] + h.size[d];
    }
    if (in) return true;
  }
  return false;
}

}  // namespace

RandCoarseDropout::RandCoarseDropout(RandCoarseDropoutOptions options) : options_(std::move(options)) {
  const RandCoarseDropoutOptions& o = options_;
  detail::check_prob(o.prob, name);
  if (o.holes < 1 || o.holes > most_holes) detail::throw_option(name, "holes", std::to_string(o.holes), "1 to 1024");
  if (o.max_holes && (*o.max_holes < o.holes || *o.max_holes > most_holes))
    detail::throw_option(name, "max_holes", std::to_string(*o.max_holes),
                         "from holes = " + std::to_string(o.holes) + " to 1024");
  if (o.spatial_size.empty()) detail::throw_option(name, "spatial_size", "[]", "one size, or one per axis");
  if (o.fill_value && o.fill_range) detail::throw_option(name, "fill_value", "given", "no fill_range beside it");
  if (o.fill_value && !std::isfinite(*o.fill_value))
    detail::throw_option(name, "fill_value", detail::option_text(*o.fill_value), "a finite number");
  if (o.fill_range) detail::check_range(*o.fill_range, name, "fill_range");
}

RandCoarseDropout::Plan RandCoarseDropout::plan(const Sample& sample, Rng& rng) const {
  const RandCoarseDropoutOptions& o = options_;
  const Shape image = shared_shape(sample, o.keys);
  Plan p{.apply = rng.bernoulli(o.prob)};
  const unsigned most = o.max_holes.value_or(o.holes);
  const auto count = o.holes + rng.below(most - o.holes + 1);
  Shape low = detail::fall_back(o.spatial_size, image, name, "spatial_size"), high = low;
  if (!o.max_spatial_size.empty()) high = detail::fall_back(o.max_spatial_size, image, name, "max_spatial_size");
  for (int d = 0; d < image.rank(); ++d) {
    if (high[d] < low[d])
      detail::throw_option(name, "max_spatial_size", detail::option_text(o.max_spatial_size),
                           "nothing below spatial_size = " + low.str());
    low[d] = std::min(low[d], image[d]);
    high[d] = std::min(high[d], image[d]);
  }
  for (unsigned h = 0; h < most; ++h) {
    Hole hole{.start = image, .size = image};
    for (int d = 0; d < 3; ++d) {  // three draws whatever the rank
      const bool real = d < image.rank();
      const auto more =
          static_cast<std::int64_t>(rng.below(real ? static_cast<std::uint64_t>(high[d] - low[d]) + 1 : 1));
      if (real) hole.size[d] = low[d] + more;
    }
    for (int d = 0; d < 3; ++d) {
      const bool real = d < image.rank();
      const auto at =
          static_cast<std::int64_t>(rng.below(real ? static_cast<std::uint64_t>(image[d] - hole.size[d]) + 1 : 1));
      if (real) hole.start[d] = at;
    }
    if (h < count) p.holes.push_back(hole);
  }
  return p;
}

void RandCoarseDropout::apply(Sample& sample, const Plan& plan, const Rng& rng) const {
  if (!plan.apply) return;
  (void)shared_shape(sample, options_.keys);
  options_.keys.for_each(sample, [&](std::string_view field) {
    const int rank = spatial_shape(sample, field).rank();
    Range range{options_.fill_value.value_or(0), options_.fill_value.value_or(0)};
    const bool random = !options_.fill_value;
    if (options_.fill_range) range = *options_.fill_range;
    if (random && !options_.fill_range) {
      const detail::Extremes e = detail::extremes(sample.get(field));
      if (!std::isfinite(e.min) || !std::isfinite(e.max))
        throw std::invalid_argument(field_text(sample, field) + " has no finite minimum and maximum to fill from");
      range = {e.min, e.max};
    }
    Tensor& image = sample.tensor(field);
    visit_dtype(image.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* p = image.mutable_data<T>();
      const std::int64_t n = image.size(rank);
      const double width = range.high - range.low;
      Rng voxels = rng;
      detail::for_each_row(image.shape(), image.strides(), [&](const auto& index, std::int64_t at) {
        for (std::int64_t i = 0; i < n; ++i) {
          if (inside(plan, index, rank, i) != options_.dropout_holes) continue;
          double value = range.low;
          if (random) {
            voxels.seek(voxel_words_begin + 2 * static_cast<std::uint64_t>(at + i));
            value = range.low + width * voxels.uniform();
          }
          p[at + i] = detail::convert<T>(value);
        }
      });
    });
  });
}

std::string RandCoarseDropout::describe() const {
  const RandCoarseDropoutOptions& o = options_;
  return detail::OptionList()
      .add("keys", o.keys)
      .add("holes", std::int64_t{o.holes})
      .add("spatial_size", o.spatial_size)
      .add_text("max_holes", o.max_holes ? std::to_string(*o.max_holes) : "null")
      .add("max_spatial_size", o.max_spatial_size)
      .add("dropout_holes", o.dropout_holes)
      .add_text("fill_value", detail::optional_text(o.fill_value))
      .add_text("fill_range", detail::optional_text(o.fill_range))
      .add("prob", o.prob)
      .str();
}

}  // namespace headrace
