// Values that MONAI 1.6.1 printed (reference numbering G1 to G17). Six decimals were printed; matrices and grids are
// single precision there, hence the tolerance.
#include <gtest/gtest.h>

#include <headrace/transform/orientation.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/spacing.hpp>
#include <numeric>
#include <vector>

#include "spatial_support.hpp"

namespace headrace {
namespace {

using test::expect_affine;
using test::expect_values;
using test::sample_of;

constexpr double printed = 1e-5;

Tensor ramp(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(std::span<const float>(values), shape);
}
const Shape four{1, 4, 4};

Sample spaced(const Sample& in, const SpacingOptions& options) {
  Sample s = in;
  Spacing(options).apply(s);
  return s;
}

TEST(Golden, G1G2SpacingDown) {
  const Sample five = spaced(sample_of(ramp({1, 5, 5})), {.pixdim = {2, 2}});
  EXPECT_EQ(five.get("image").shape(), (Shape{1, 3, 3}));
  expect_values(five.get("image"), {0, 2, 4, 10, 12, 14, 20, 22, 24});
  expect_affine(five.affine("image"), Affine::scaling({2, 2, 1}));
  expect_values(spaced(sample_of(ramp(four)), {.pixdim = {2, 2}}).get("image"), {0, 2, 8, 10});
}

TEST(Golden, G3SpacingUpLinear) {
  std::vector<double> want;
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 5; ++c) want.push_back(3 * r + .75 * c);
  expect_values(spaced(sample_of(ramp(four)), {.pixdim = {.75, .75}}).get("image"), want, 1e-6);
}

TEST(Golden, G4SpacingUpNearest) {
  const Sample s = spaced(sample_of(ramp(four)), {.pixdim = .75, .mode = Interpolation::nearest});
  expect_values(s.get("image"), {0, 1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 10, 11, 8, 9, 10, 10, 11, 12, 13, 14, 14, 15});
}

TEST(Golden, G5SpacingOfAMirroredAxis) {
  const Sample s = spaced(sample_of(ramp(four), Affine::scaling({-1, 1, 1})), {.pixdim = 2.0});
  expect_values(s.get("image"), {0, 2, 8, 10});
  expect_affine(s.affine("image"), Affine::scaling({-2, 2, 1}));
}

TEST(Golden, G6SpacingAlignCorners) {
  std::vector<double> want;
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 5; ++c) want.push_back(3 * r + .75 * c);
  expect_values(spaced(sample_of(ramp(four)), {.pixdim = .75, .align_corners = true}).get("image"), want, 1e-6);
}

TEST(Golden, SpacingSizes) {
  const auto size = [](std::int64_t n, double pixdim) {
    return spaced(sample_of(Tensor::zeros(DType::f32, {1, n, n})), {.pixdim = pixdim}).get("image").size(1);
  };
  EXPECT_EQ(size(5, 2), 3);
  EXPECT_EQ(size(4, 2), 2);
  EXPECT_EQ(size(4, .75), 5);
  EXPECT_EQ(size(4, .5), 7);
}

TEST(Golden, G8G9Orientation) {
  const Sample in = sample_of(Tensor::from<std::int16_t>({0, 1, 2, 3, 4, 5}, {1, 2, 3}));
  Sample lp = in;
  Orientation({.axcodes = "LP"}).apply(lp);
  EXPECT_TRUE(lp.get("image").equal(Tensor::from<std::int16_t>({5, 4, 3, 2, 1, 0}, {1, 2, 3})));
  Sample pr = in;
  Orientation({.axcodes = "PR"}).apply(pr);
  EXPECT_TRUE(pr.get("image").equal(Tensor::from<std::int16_t>({2, 5, 1, 4, 0, 3}, {1, 3, 2})));
  Affine want;
  want(0, 0) = 0, want(0, 1) = 1, want(1, 0) = -1, want(1, 1) = 0, want(1, 3) = 2;
  EXPECT_EQ(pr.affine("image"), want) << pr.affine("image").str();
}

using Numbers = std::vector<double>;

Tensor moved(const Shape& shape, RandAffineOptions options, const Numbers& rotate, const Numbers& shear = {},
             const Numbers& translate = {}, const Numbers& scale = {}) {
  Sample s = sample_of(ramp(shape));
  RandAffine(std::move(options))
      .apply(s, {.apply = true, .matrix = affine_matrix(shape.rank() - 1, rotate, shear, translate, scale)});
  return s.get("image");
}

TEST(Golden, G10G11Rotation) {
  expect_values(moved(four, {.padding_mode = Padding::zeros}, {.3}),
                {1.273066, 1.438073, 1.410463, 1.552878, 5.388968, 5.554939, 5.328195, 5.10145, 9.89855, 9.671805,
                 9.445061, 8.399559, 7.802845, 12.378065, 13.561926, 8.082658},
                printed);
  for (const Padding padding : {Padding::border, Padding::reflection})
    expect_values(moved(four, {.padding_mode = padding}, {.3}),
                  {2.041102, 1.438073, 1.534388, 2.489724, 5.862448, 5.554939, 5.328195, 5.10145, 9.89855, 9.671805,
                   9.445061, 9.137551, 12.510276, 13.465612, 13.561926, 12.958898},
                  printed);
  expect_values(moved(four, {.mode = Interpolation::nearest, .padding_mode = Padding::zeros}, {.3}),
                {4, 1, 2, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 13, 14, 11});
}

TEST(Golden, G12ToG15TranslationScaleShear) {
  expect_values(moved(four, {.padding_mode = Padding::zeros}, {}, {}, {1, 0}),
                {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0});
  expect_values(moved(four, {.padding_mode = Padding::border}, {}, {}, {}, {2, 1}),
                {0, 1, 2, 3, 2, 3, 4, 5, 10, 11, 12, 13, 12, 13, 14, 15}, printed);
  expect_values(moved(four, {.padding_mode = Padding::border}, {}, {.5, 0}),
                {0, 1, 3, 6, 1, 4, 7, 10, 5, 8, 11, 14, 9, 12, 14, 15}, printed);
  expect_values(moved(four, {.padding_mode = Padding::border}, {.3}, {}, {1, 0}, {.5, 1}),
                {8.869334, 8.642589, 8.415844, 8.182216, 10.927767, 10.701022, 10.474278, 10.092888, 12.436396,
                 12.759456, 12.532711, 12.003561, 12.584156, 13.539492, 14.494829, 13.914234},
                printed);
}

TEST(Golden, G16AnotherSize) {
  const Tensor t = moved(four, {.spatial_size = {2, 6}, .padding_mode = Padding::border}, {});
  EXPECT_EQ(t.shape(), (Shape{1, 2, 6}));
  expect_values(t, {4, 4, 5, 6, 7, 7, 8, 8, 9, 10, 11, 11}, printed);
}

TEST(Golden, G17Matrix) {
  const Affine m =
      affine_matrix(3, Numbers{.1, .2, .3}, Numbers{.1, .2, .3, .4, .5, .6}, Numbers{1, 2, 3}, Numbers{1.1, .9, 1.2});
  Affine want;
  want.m = {1.08295, -.06478, .392878,  1.822738, .582856, .845085, .435035, 3.495423,
            .604899, .714497, 1.656852, 6.279808, 0,       0,       0,       1};
  expect_affine(m, want, 2e-6);
}

}  // namespace
}  // namespace headrace
