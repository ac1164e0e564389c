// Small volumes whose voxels say where they came from, and datasets made of them.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/dataset/dataset.hpp>
#include <headrace/loader/digest.hpp>
#include <headrace/loader/loader.hpp>
#include <headrace/random/philox.hpp>
#include <headrace/transform/pipeline.hpp>
#include <string>
#include <vector>

namespace headrace::test {

// The number that voxel (x, y, z) of item `item` holds; exact in f32 for sizes below 64 and items below 64.
constexpr std::int64_t code_of(std::uint64_t item, std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<std::int64_t>(item) << 18 | x << 12 | y << 6 | z;
}
// Is the voxel foreground: a function of its coordinates alone.
constexpr bool is_foreground(std::int64_t x, std::int64_t y, std::int64_t z) {
  return (x / 3 + y / 3 + z / 3) % 3 == 1;
}

// image f32 [1, x, y, z] holds the codes; label i32 of the same shape holds them where it is foreground, 0 elsewhere.
inline Sample coded_sample(std::uint64_t item, const std::array<std::int64_t, 3>& size) {
  const Shape shape{1, size[0], size[1], size[2]};
  Tensor image = Tensor::empty(DType::f32, shape), label = Tensor::empty(DType::i32, shape);
  float* f = image.mutable_data<float>();
  std::int32_t* l = label.mutable_data<std::int32_t>();
  for (std::int64_t x = 0; x < size[0]; ++x)
    for (std::int64_t y = 0; y < size[1]; ++y)
      for (std::int64_t z = 0; z < size[2]; ++z) {
        const std::int64_t code = code_of(item, x, y, z);
        *f++ = static_cast<float>(code);
        *l++ = is_foreground(x, y, z) ? static_cast<std::int32_t>(code) : 0;
      }
  Sample sample;
  sample.set("image", std::move(image), Affine::scaling({1, 1.25, 1.5}));
  sample.set("label", std::move(label), Affine::scaling({1, 1.25, 1.5}));
  return sample;
}

// Sizes that differ from item to item.
inline std::array<std::int64_t, 3> mixed_size(std::uint64_t item, std::int64_t least = 18, std::int64_t spread = 11) {
  const auto n = static_cast<std::int64_t>(item);
  return {least + n * 7 % spread, least + n * 5 % spread, least + n * 3 % spread};
}

inline std::vector<Sample> coded_samples(std::uint64_t count, std::int64_t least = 18, std::int64_t spread = 11) {
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(coded_sample(i, mixed_size(i, least, spread)));
  return samples;
}

// An irregular picture with values in [0, 255], from counter-based words: the same on every machine.
inline Sample picture(std::uint32_t item, const std::array<std::int64_t, 3>& size, const Affine& affine) {
  const Shape shape{1, size[0], size[1], size[2]};
  Tensor image = Tensor::empty(DType::f32, shape), label = Tensor::empty(DType::u8, shape);
  float* f = image.mutable_data<float>();
  std::uint8_t* l = label.mutable_data<std::uint8_t>();
  const std::int64_t n = shape.numel();
  for (std::int64_t v = 0; v < n; ++v) {
    const std::int64_t z = v % size[2], y = v / size[2] % size[1], x = v / size[2] / size[1];
    const bool inside = x > 2 && y > 1 && z > 3 && x < size[0] - 3 && y < size[1] - 2;
    const auto words = philox_block({{static_cast<std::uint32_t>(v), item, 7, 9}}, {{1, 2}});
    f[v] = inside ? static_cast<float>(1 + words.word[0] % 2550) / 10.0f : 0.0f;
    l[v] = inside && (x + 2 * y + z) % 7 < 2 ? static_cast<std::uint8_t>(1 + words.word[1] % 4) : std::uint8_t{0};
  }
  Sample sample;
  sample.set("image", std::move(image), affine);
  sample.set("label", std::move(label), affine);
  return sample;
}

// The digests of epochs [0, epochs).
inline std::vector<std::string> digests(Loader& loader, std::uint32_t epochs) {
  std::vector<std::string> all;
  for (std::uint32_t e = 0; e < epochs; ++e) {
    DigestChain chain;
    for (Batch& batch : loader.epoch(e)) chain.add(batch);
    all.push_back(chain.ordered().hex());
  }
  return all;
}
inline std::vector<std::string> digests(const Dataset& dataset, const Pipeline& pipeline, LoaderOptions options,
                                        std::uint32_t epochs) {
  options.epochs = epochs;
  Loader loader(dataset, pipeline, std::move(options));
  return digests(loader, epochs);
}

}  // namespace headrace::test
