// The volumes that the loader benches cut from, and the job they run.
#pragma once

#include <headrace/headrace.hpp>
#include <memory>
#include <vector>

namespace bench {

namespace hr = headrace;

// Image f32 and label u8 with a ball of foreground; both filled so that every page is really there.
inline std::vector<hr::Sample> make_volumes(int count, std::int64_t size) {
  std::vector<hr::Sample> volumes;
  for (int v = 0; v < count; ++v) {
    const hr::Shape shape{1, size, size, size};
    hr::Tensor image = hr::Tensor::empty(hr::DType::f32, shape), label = hr::Tensor::zeros(hr::DType::u8, shape);
    auto* p = image.mutable_data<float>();
    auto* l = label.mutable_data<std::uint8_t>();
    const std::int64_t c = size / 2, r = size / 3;
    for (std::int64_t i = 0, n = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j)
        for (std::int64_t k = 0; k < size; ++k, ++n) {
          p[n] = static_cast<float>((n * 2654435761 + v) & 0xFFFF) / 65536.0f;
          l[n] = (i - c) * (i - c) + (j - c) * (j - c) + (k - c) * (k - c) < r * r;
        }
    hr::Sample s;
    s.set("image", std::move(image), hr::Affine::identity());
    s.set("label", std::move(label), hr::Affine::identity());
    hr::FgBgToIndices({.label_key = "label"}).apply(s);
    volumes.push_back(std::move(s));
  }
  return volumes;
}

}  // namespace bench
