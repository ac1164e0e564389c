#include <gtest/gtest.h>

#include <cmath>
#include <headrace/transform/spacing.hpp>
#include <limits>

#include "spatial_support.hpp"

namespace headrace {
namespace {

using test::Dice;
using test::expect_affine;
using test::expect_error;
using test::sample_of;

Sample spaced(Tensor image, const Affine& affine, const SpacingOptions& options) {
  Sample s = sample_of(std::move(image), affine);
  Spacing(options).apply(s);
  return s;
}

Shape random_spatial(Dice& dice, int rank) {
  Shape s;
  for (int d = 0; d < rank; ++d) s.push_back(dice.between(2, 11));
  return s;
}

// A voxel size that is not within 1e-3 of the current one, which would be kept.
double other_than(Dice& dice, double current, double high) {
  double p = current;
  while (std::fabs(p - current) < 2e-3) p = dice.real(0.4, high);
  return p;
}

TEST(Spacing, WithoutShearColumnsAreScaledAndTheOriginStays) {
  Dice dice(41);
  for (int n = 0; n < 200; ++n) {
    const int rank = 2 + n % 2;
    const Affine affine = test::random_affine(dice, rank, false);
    const Shape spatial = random_spatial(dice, rank);
    const auto c = affine.spacing();
    const std::vector<double> p{other_than(dice, c[0], 4), other_than(dice, c[1], 4), other_than(dice, c[2], 4)};
    const Sample s = spaced(test::world_image(affine, spatial), affine, {.pixdim = p});
    Affine want = affine;
    for (int d = 0; d < rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      for (int r = 0; r < 3; ++r) want(r, d) = affine(r, d) * (p[i] / c[i]);
      const double size = static_cast<double>(spatial[d] - 1) * c[i] / p[i] + 1;
      if (std::fabs(size - std::floor(size) - 0.5) > 1e-6) {
        EXPECT_EQ(s.get("image").size(d + 1), std::lround(size));
      }
    }
    expect_affine(s.affine("image"), want, 1e-9);
    // every voxel whose coordinates lie within the old image knows where it is
    std::int64_t inside = 0;
    test::for_voxels(s.get("image").shape(), [&](const std::array<double, 3>& o, std::int64_t) {
      bool in = true;
      for (int d = 0; d < rank; ++d) {
        const auto i = static_cast<std::size_t>(d);
        in = in && o[i] * p[i] / c[i] <= static_cast<double>(spatial[d] - 1);
      }
      inside += in ? 1 : 0;
    });
    EXPECT_GE(test::voxels_at_home(s, "image"), inside);
  }
}

TEST(Spacing, ShearIsRemovedAndTheFirstDirectionsStay) {
  Dice dice(42);
  for (int n = 0; n < 100; ++n) {
    const Affine affine = test::random_affine(dice, 3, true);
    const auto c = affine.spacing();
    const double p[3] = {other_than(dice, c[0], 2), other_than(dice, c[1], 2), other_than(dice, c[2], 2)};
    const Sample s = spaced(test::world_image(affine, {9, 10, 11}), affine, {.pixdim = {p[0], p[1], p[2]}});
    const Affine& a = s.affine("image");
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double dot = 0;
        for (int r = 0; r < 3; ++r) dot += a(r, i) * a(r, j);
        EXPECT_NEAR(dot, i == j ? p[i] * p[i] : 0, 1e-9);
      }
    const Affine map = affine.inverse() * a;  // upper triangular with positive diagonal
    for (int i = 0; i < 3; ++i) {
      EXPECT_GT(map(i, i), 0);
      for (int j = 0; j < i; ++j) EXPECT_NEAR(map(i, j), 0, 1e-9);
    }
    EXPECT_GT(test::voxels_at_home(s, "image"), 0);
  }
}

// The new grid covers the old voxel centres: sizes and shift by the corners, checked from outside.
TEST(Spacing, DiagonalRunsAlongTheWorldAxes) {
  Dice dice(43);
  for (int n = 0; n < 100; ++n) {
    Affine affine = test::random_affine(dice, 3, n % 2 == 0);
    if (n % 4 == 1) affine = Affine::translation({3, -4, 5}) * Affine::scaling({-1.5, 2, -0.7});
    const auto c = affine.spacing();
    const double p[3] = {other_than(dice, c[0], 4), other_than(dice, c[1], 4), other_than(dice, c[2], 4)};
    const Shape spatial{6, 7, 8};
    const Sample s =
        spaced(test::world_image(affine, spatial), affine, {.pixdim = {p[0], p[1], p[2]}, .diagonal = true});
    const Affine& a = s.affine("image");
    double low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9};
    for (const double i : {0.0, 5.0})
      for (const double j : {0.0, 6.0})
        for (const double k : {0.0, 7.0}) {
          const auto w = affine.apply({i, j, k});
          for (std::size_t r = 0; r < 3; ++r) low[r] = std::fmin(low[r], w[r]), high[r] = std::fmax(high[r], w[r]);
        }
    for (int r = 0; r < 3; ++r) {
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(a(r, k), r == k ? p[r] : 0, 1e-9);
      const double size = (high[r] - low[r]) / p[r] + 1;
      if (std::fabs(size - std::floor(size) - 0.5) > 1e-6) {
        EXPECT_EQ(s.get("image").size(r + 1), std::lround(size));
      }
      if (n % 4 == 1) {  // a corner leads on all axes
        EXPECT_NEAR(a(r, 3), low[r], 1e-9);
      }
    }
    if (n % 4 == 0) {  // none does: the middles agree, n/2 with m/2
      const auto middle = affine.apply({3, 3.5, 4});
      const auto got =
          a.apply({static_cast<double>(s.get("image").size(1)) / 2, static_cast<double>(s.get("image").size(2)) / 2,
                   static_cast<double>(s.get("image").size(3)) / 2});
      for (std::size_t r = 0; r < 3; ++r) EXPECT_NEAR(got[r], middle[r], 1e-9);
    }
    EXPECT_GT(test::voxels_at_home(s, "image"), 0);
  }
}

TEST(Spacing, ScaleExtentAlignsTheOuterEdges) {
  for (const double origin : {0.0, -10.0, 10.0}) {
    Affine affine = Affine::translation({origin, origin, origin});
    const Sample s = spaced(test::world_image(affine, {6, 8, 10}), affine, {.pixdim = 2, .scale_extent = true});
    EXPECT_EQ(s.get("image").shape(), (Shape{3, 3, 4, 5}));
    expect_affine(s.affine("image"),
                  Affine::translation({origin + .5, origin + .5, origin + .5}) * Affine::scaling({2, 2, 2}));
    EXPECT_EQ(test::voxels_at_home(s, "image"), 60);
  }
  Sample tiny = spaced(Tensor::zeros(DType::f32, {1, 2, 2}), {}, {.pixdim = 50, .scale_extent = true});
  EXPECT_EQ(tiny.get("image").shape(), (Shape{1, 1, 1}));
}

TEST(Spacing, KeepsWhatNeedsNoChange) {
  const auto shares = [](const Affine& affine, const SpacingOptions& o) {
    const Tensor image = Tensor::zeros(DType::i16, {1, 4, 5, 6});
    const Sample s = spaced(image, affine, o);
    return s.get("image").raw() == image.raw() && s.affine("image") == affine;
  };
  EXPECT_TRUE(shares({}, {.pixdim = 1}));
  EXPECT_TRUE(shares(Affine::scaling({1.0005, 1, 1}), {.pixdim = 1}));
  EXPECT_TRUE(shares(Affine::scaling({1, 2, 3}), {.pixdim = 0}));
  EXPECT_TRUE(shares(Affine::scaling({-1, 2, 3}), {.pixdim = {-1, 2, 0}}));
  EXPECT_FALSE(shares(Affine::scaling({1.01, 1, 1}), {.pixdim = 1}));
  EXPECT_FALSE(shares(Affine::scaling({-1, 1, 1}), {.pixdim = 1, .diagonal = true}));
  // within bounds: kept
  EXPECT_TRUE(shares(Affine::scaling({0.8, 1.2, 1}), {.pixdim = 1, .min_pixdim = 0.7, .max_pixdim = 1.3}));
  EXPECT_FALSE(shares(Affine::scaling({0.8, 1.2, 1.4}), {.pixdim = 1, .min_pixdim = 0.7, .max_pixdim = 1.3}));
  const Sample mixed = spaced(Tensor::zeros(DType::i16, {1, 4, 4, 4}), Affine::scaling({0.8, 1.2, 1.4}),
                              {.pixdim = 1, .min_pixdim = 0.7});
  expect_affine(mixed.affine("image"), Affine::scaling({0.8, 1, 1}));
}

TEST(Spacing, ShortListsRepeatTheLastValueLongOnesAreCut) {
  const auto spacing = [](const SpacingOptions& o) {
    return spaced(Tensor::zeros(DType::f32, {1, 4, 4, 4}), {}, o).affine("image").spacing();
  };
  EXPECT_EQ(spacing({.pixdim = {2, 3}}), (std::array<double, 3>{2, 3, 3}));
  EXPECT_EQ(spacing({.pixdim = 2.5}), (std::array<double, 3>{2.5, 2.5, 2.5}));
  const Sample flat = spaced(Tensor::zeros(DType::f32, {1, 4, 4}), {}, {.pixdim = {2, 3, 4}});
  expect_affine(flat.affine("image"), Affine::scaling({2, 3, 1}));
  const Sample line = spaced(Tensor::from<float>({0, 1, 2}, {1, 3}), {}, {.pixdim = 0.5});
  test::expect_values(line.get("image"), {0, 0.5, 1, 1.5, 2});
}

TEST(Spacing, EveryFieldByItsOwnAffineAndItsOwnType) {
  Sample s;
  s.set("image", Tensor::from<float>({0, 1, 2, 3, 4}, {1, 1, 5}), Affine::scaling({1, 1, 1}));
  s.set("label", Tensor::from<std::uint8_t>({0, 1, 2, 3, 4}, {1, 1, 5}), Affine::scaling({1, 2, 1}));
  Spacing({.pixdim = {1, 0.8}}).apply(s);
  test::expect_values(s.get("image"), {0, 0.8, 1.6, 2.4, 3.2, 4}, 1e-6);
  EXPECT_EQ(s.get("label").dtype(), DType::u8);
  test::expect_values(s.get("label"), {0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4});
}

TEST(Spacing, InferAndEffect) {
  SampleSpec spec;
  spec.set({.name = "image", .dtype = DType::i16, .shape = {2, 5, 6, 7}});
  spec.set({.name = "label", .dtype = DType::u8, .shape = {1, 5, 6, 7}});
  const Spacing op({.keys = "image", .pixdim = 1});
  EXPECT_EQ(op.infer(spec).at("image").shape, (Shape{2, unknown, unknown, unknown}));
  EXPECT_EQ(op.infer(spec).at("image").dtype, DType::i16);
  EXPECT_EQ(op.infer(spec).at("label").shape, (Shape{1, 5, 6, 7}));
  EXPECT_EQ(op.effect("image"), Effect::rewrite);
  EXPECT_EQ(op.effect("label"), Effect::none);
}

TEST(Spacing, Errors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error([] { Spacing(SpacingOptions{}); }, {"Spacing", "pixdim", "missing"});
  expect_error([&] { Spacing({.pixdim = {1, nan, 1}}); }, {"pixdim", "nan", "finite"});
  expect_error([] { Spacing({.pixdim = INFINITY}); }, {"pixdim", "inf"});
  expect_error([] { Spacing({.pixdim = {1, 1, 1, 1}}); }, {"pixdim"});
  expect_error([&] { Spacing({.pixdim = 1, .min_pixdim = nan}); }, {"min_pixdim"});
  expect_error([] { Spacing({.pixdim = 1, .min_pixdim = 2, .max_pixdim = 1}); }, {"min_pixdim", "max_pixdim"});
  expect_error([] { Spacing({.pixdim = 1, .mode = {Interpolation::linear}}); }, {"mode", "keys"});
  const Tensor image = Tensor::zeros(DType::u8, {1, 200, 200, 200});
  expect_error([&] { spaced(image, Affine::scaling({1, 0, 1}), {.pixdim = 1}); }, {"image", "singular"});
  Affine parallel;
  parallel(0, 1) = 1, parallel(1, 1) = 0;
  for (const bool diagonal : {false, true})
    expect_error([&] { spaced(image, parallel, {.pixdim = 1, .diagonal = diagonal}); }, {"image", "singular"});
  Affine broken;
  broken(2, 3) = nan;
  expect_error([&] { spaced(image, broken, {.pixdim = 1}); }, {"image", "not finite"});
  expect_error([&] { spaced(image, {}, {.pixdim = 1e-3}); }, {"image", "199001 x 199001 x 199001", "2^31"});
  expect_error([&] { spaced(image, {}, {.pixdim = 1e-300}); }, {"image", "2^31"});
  expect_error([&] { spaced(image, Affine::scaling({1e300, 1, 1}), {.pixdim = 1e-300}); }, {"image"});
  expect_error([&] { spaced(Tensor::zeros(DType::u8, {1, 0, 4}), {}, {.pixdim = 2}); }, {"image", "no voxel"});
  expect_error([&] { spaced(Tensor::zeros(DType::u8, {1, 2, 2, 2, 2}), {}, {.pixdim = 2}); }, {"spatial axes"});
}

TEST(Spacing, Describe) {
  EXPECT_EQ(Spacing({.keys = "image", .pixdim = {1.5, 1.5, 2.0}}).describe(),
            "keys=[\"image\"], pixdim=[1.5, 1.5, 2], diagonal=false, mode=by_dtype, padding_mode=border, "
            "align_corners=false, "
            "scale_extent=false, min_pixdim=[], max_pixdim=[]");
}

}  // namespace
}  // namespace headrace
