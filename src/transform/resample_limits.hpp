// The size that an op may ask of the sampler, checked before any memory is asked for.
#pragma once

#include <headrace/transform/options.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headrace::detail {

inline constexpr double max_resampled_voxels = 0x1p31;  // per channel

// Throws std::invalid_argument unless the product of `size` (doubles: they may be absurd) is within the limit.
template <class Sizes>
void check_resampled_size(const Sizes& size, std::string_view op, std::string_view field) {
  double voxels = 1;
  for (const auto n : size) voxels *= static_cast<double>(n);
  if (voxels <= max_resampled_voxels) return;
  std::string shown;
  for (const auto n : size) shown += (shown.empty() ? "" : " x ") + option_text(static_cast<double>(n));
  throw std::invalid_argument(std::string(op) + ": field " + option_text(field) + " would become " + shown +
                              " voxels, but at most 2^31 voxels per channel are made");
}

}  // namespace headrace::detail
