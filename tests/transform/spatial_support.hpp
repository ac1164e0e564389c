// Helpers of the tests of ops that move voxels: images whose voxels know their world position, random affines.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reference_sampler.hpp"

namespace headrace::test {

inline Rng rng_at(std::uint64_t item, std::uint64_t seed = 7) {
  return Rng(StreamAddress{.seed = seed, .epoch = 1, .item = item, .patch = 0, .op = 3});
}

// Calls f(index) for every spatial index of a channel-first shape, in C order.
template <class F>
void for_voxels(const Shape& shape, const F& f) {
  std::array<double, 3> o{};
  std::int64_t voxels = 1;
  for (int d = 1; d < shape.rank(); ++d) voxels *= shape[d];
  for (std::int64_t n = 0; n < voxels; ++n) {
    std::int64_t rest = n;
    for (int d = shape.rank() - 1; d > 0; --d) {
      o[static_cast<std::size_t>(d - 1)] = static_cast<double>(rest % shape[d]);
      rest /= shape[d];
    }
    f(o, n);
  }
}

// An f64 image of three channels: the world position of each voxel.
inline Tensor world_image(const Affine& affine, const Shape& spatial) {
  Shape shape{3};
  for (const std::int64_t n : spatial) shape.push_back(n);
  Tensor image = Tensor::zeros(DType::f64, shape);
  double* values = image.mutable_data<double>();
  const std::int64_t voxels = image.numel() / 3;
  for_voxels(shape, [&](const std::array<double, 3>& o, std::int64_t n) {
    const auto w = affine.apply(o);
    for (std::size_t r = 0; r < 3; ++r) values[static_cast<std::int64_t>(r) * voxels + n] = w[r];
  });
  return image;
}

// How many voxels of a moved world image still say where the field's affine says they are (the others were padded).
inline std::int64_t voxels_at_home(const Sample& sample, std::string_view field, double within = 1e-9) {
  const Tensor image = sample.get(field).contiguous();
  const Affine& affine = sample.affine(field);
  const double* values = image.data<double>();
  const std::int64_t voxels = image.numel() / 3;
  std::int64_t right = 0;
  for_voxels(image.shape(), [&](const std::array<double, 3>& o, std::int64_t n) {
    const auto w = affine.apply(o);
    bool good = true;
    for (std::size_t r = 0; r < 3; ++r)
      good = good && std::fabs(values[static_cast<std::int64_t>(r) * voxels + n] - w[r]) <= within;
    right += good ? 1 : 0;
  });
  return right;
}

// A random proper or improper oblique affine with spacings 0.5 to 3, with or without shear. For rank 2 the last axis
// stays.
inline Affine random_affine(Dice& dice, int rank, bool shear) {
  Affine a = Affine::identity();
  for (int p = 0; p < rank; ++p)
    for (int q = p + 1; q < rank; ++q) {
      const double angle = dice.real(-3, 3);
      Affine r;
      r(p, p) = std::cos(angle), r(p, q) = -std::sin(angle), r(q, p) = std::sin(angle), r(q, q) = std::cos(angle);
      a = a * r;
    }
  Affine z;
  for (int d = 0; d < rank; ++d) {
    z(d, d) = dice.real(0.5, 3) * (dice.coin() ? 1 : -1);
    for (int e = d + 1; e < rank && shear; ++e) z(d, e) = dice.real(-0.5, 0.5);
  }
  a = a * z;
  for (int d = 0; d < 3; ++d) a(d, 3) = dice.real(-100, 100);
  return a;
}

inline Sample sample_of(Tensor image, const Affine& affine = {}) {
  Sample s;
  s.set("image", std::move(image), affine);
  return s;
}

inline void expect_values(const Tensor& got, const std::vector<double>& want, double within = 0) {
  ASSERT_EQ(static_cast<std::size_t>(got.numel()), want.size()) << got.shape().str();
  const Tensor values = got.to(DType::f64).contiguous();
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(values.data<double>()[i], want[i], within) << "element " << i;
}

inline void expect_affine(const Affine& got, const Affine& want, double within = 1e-12) {
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(got.m[i], want.m[i], within) << got.str() << " but expected " << want.str();
}

// f throws an E whose message has every one of the texts in it.
template <class E = std::invalid_argument, class F>
void expect_error(const F& f, std::initializer_list<std::string_view> texts) {
  try {
    f();
    ADD_FAILURE() << "no error, but expected one with \"" << *texts.begin() << '"';
  } catch (const E& e) {
    for (const std::string_view text : texts)
      EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what() << "\n  lacks: " << text;
  }
}

}  // namespace headrace::test
