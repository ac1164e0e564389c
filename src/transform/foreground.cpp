#include "foreground.hpp"

#include <algorithm>
#include <cstdint>
#include <headrace/transform/crop_geometry.hpp>
#include <stdexcept>
#include <vector>

#include "rows.hpp"

namespace headrace::detail {
namespace {

using Words = std::vector<std::uint64_t>;

// Sets the bit of every voxel for which test(value) holds; voxel v is the v-th in C order.
template <class T, class Test>
void mark_channel(const Tensor& channel, Words& words, Test test) {
  const T* data = channel.data<T>();
  const int last = channel.rank() - 1;
  const std::int64_t n = channel.shape()[last], step = channel.strides()[last];
  std::uint64_t voxel = 0;
  for_each_row(channel.shape(), channel.strides(), [&](const auto&, std::int64_t at) {
    const T* row = data + at;
    for (std::int64_t k = 0; k < n;) {
      // up to the end of the row or of the word
      const std::uint64_t bit = voxel % 64;
      const std::int64_t run = std::min(n - k, static_cast<std::int64_t>(64 - bit));
      std::uint64_t found = 0;
      for (std::int64_t i = 0; i < run; ++i) found |= static_cast<std::uint64_t>(test(row[(k + i) * step])) << i;
      words[static_cast<std::size_t>(voxel / 64)] |= found << bit;
      voxel += static_cast<std::uint64_t>(run);
      k += run;
    }
  });
}

template <class MakeTest>
Words mark(const Tensor& tensor, std::int64_t first_channel, std::uint64_t voxels, MakeTest make_test) {
  Words words(static_cast<std::size_t>((voxels + 63) / 64));
  const Tensor numbers = arithmetic_form(tensor);
  for (std::int64_t c = first_channel; c < numbers.size(0); ++c)
    visit_arithmetic(numbers.dtype(), [&](auto zero) {
      using T = decltype(zero);
      mark_channel<T>(numbers.select(0, c), words, make_test.template operator()<T>());
    });
  return words;
}

}  // namespace

ForegroundBackground find_foreground(const Sample& sample, const std::string& label_key, const std::string& image_key,
                                     double image_threshold) {
  const Tensor& label = sample.get(label_key);
  const Shape spatial = spatial_shape(sample, label_key);
  const auto voxels = static_cast<std::uint64_t>(spatial.numel());
  Words foreground =
      mark(label, label.size(0) > 1 ? 1 : 0, voxels, []<class T> { return [](T v) { return v != T{0}; }; });
  Words background;
  if (image_key.empty()) {
    background.assign(foreground.size(), ~std::uint64_t{0});
    if (voxels % 64 != 0) background.back() >>= 64 - voxels % 64;
  } else {
    const Tensor& image = sample.get(image_key);
    const Shape own = spatial_shape(sample, image_key);
    if (!(own == spatial))
      throw std::invalid_argument(field_text(sample, image_key) + " has the spatial shape " + own.str() +
                                  ", but the label, " + field_text(sample, label_key) + " has " + spatial.str());
    background = mark(image, 0, voxels, [image_threshold]<class T> {
      return [image_threshold](T v) { return static_cast<double>(v) > image_threshold; };
    });
  }
  for (std::size_t w = 0; w < background.size(); ++w) background[w] &= ~foreground[w];
  return {VoxelSet(spatial, std::move(foreground)), VoxelSet(spatial, std::move(background))};
}

}  // namespace headrace::detail
