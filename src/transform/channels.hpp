// Intensity ops whose numbers differ from channel to channel.
#pragma once

#include <cstdint>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "pointwise.hpp"

namespace headrace::detail {

// Replaces the field by map(row, n) of it, where map = map_of(voxels): of all channels together, or of each channel by
// itself, in their order. map_of may throw; it is called before the first voxel changes.
template <class MapOf>
void rewrite_channels(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite, bool channel_wise,
                      MapOf&& map_of) {
  Tensor image = sample.get(field);
  if (!channel_wise || image.rank() < 2 || image.size(0) == 1) {
    const auto map = map_of(image);
    image = Tensor();  // so that the voxels may be written in place
    return rewrite_rows(sample, field, dtype, announced_rewrite,
                        [&](auto* row, std::int64_t n, std::int64_t) { map(row, n); });
  }
  using Map = decltype(map_of(image));
  std::vector<Map> maps;
  for (std::int64_t c = 0; c < image.size(0); ++c) maps.push_back(map_of(image.select(0, c)));
  const std::int64_t voxels = image.numel() / image.size(0);
  image = Tensor();
  rewrite_rows(sample, field, dtype, announced_rewrite, [&](auto* row, std::int64_t n, std::int64_t first) {
    for (std::int64_t i = 0; i < n;) {  // a piece may reach over the end of a channel
      const std::int64_t c = (first + i) / voxels, count = std::min(n - i, (c + 1) * voxels - (first + i));
      maps[static_cast<std::size_t>(c)](row + i, count);
      i += count;
    }
  });
}

// One number for all channels, or one for each channel of the first key: 2 words each.
inline void draw_per_channel(const Sample& sample, const Keys& keys, bool channel_wise, const Range& range, Rng& rng,
                             double& one, std::vector<double>& many) {
  if (!channel_wise) {
    one = rng.uniform(range.low, range.high);
    return;
  }
  std::int64_t channels = -1;
  keys.for_each(sample, [&](std::string_view field) {
    const Tensor& image = sample.get(field);
    if (channels < 0) channels = image.rank() < 2 ? 1 : image.size(0);
  });
  for (std::int64_t c = 0; c < channels; ++c) many.push_back(rng.uniform(range.low, range.high));
}

inline void check_channels(const Sample& sample, std::string_view field, bool channel_wise, std::size_t drawn,
                           std::string_view op) {
  const Tensor& image = sample.get(field);
  const auto channels = image.rank() < 2 ? std::size_t{1} : static_cast<std::size_t>(image.size(0));
  if (channel_wise && channels > drawn)
    throw std::invalid_argument(std::string(op) + ": field '" + std::string(field) + "' has " +
                                std::to_string(channels) + " channels, but the first key has " + std::to_string(drawn) +
                                "; expected no more");
}

}  // namespace headrace::detail
