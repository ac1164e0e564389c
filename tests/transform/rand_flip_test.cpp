#include <gtest/gtest.h>

#include <cmath>
#include <headrace/transform/rand_flip.hpp>

#include "spatial_support.hpp"

namespace headrace {
namespace {

using test::expect_error;
using test::rng_at;
using test::sample_of;

TEST(RandFlip, FlipsAreViewsAndKeepWorldPositions) {
  test::Dice dice(21);
  for (const OneOrMany<int>& axes :
       {OneOrMany<int>{}, OneOrMany<int>(0), OneOrMany<int>{1}, OneOrMany<int>{-1}, OneOrMany<int>{0, 2}}) {
    const Affine affine = test::random_affine(dice, 3, true);
    const Tensor image = test::world_image(affine, {3, 4, 5});
    Sample s = sample_of(image, affine);
    RandFlip({.spatial_axis = axes}).apply(s, {.flip = true});
    EXPECT_TRUE(s.get("image").storage().same_block(image.storage()));
    EXPECT_FALSE(s.get("image").equal(image));
    EXPECT_EQ(test::voxels_at_home(s, "image"), 60);
  }
}

TEST(RandFlip, MirrorsTheAxesAsked) {
  Sample s = sample_of(Tensor::from<std::uint8_t>({0, 1, 2, 3, 4, 5}, {1, 2, 3}));
  RandFlip({.spatial_axis = {-1}}).apply(s, {.flip = true});
  EXPECT_TRUE(s.get("image").equal(Tensor::from<std::uint8_t>({2, 1, 0, 5, 4, 3}, {1, 2, 3})));
  RandFlip().apply(s, {.flip = true});
  EXPECT_TRUE(s.get("image").equal(Tensor::from<std::uint8_t>({3, 4, 5, 0, 1, 2}, {1, 2, 3})));
}

TEST(RandFlip, OneDecisionForAllKeysAndNoTouchWhenSkipped) {
  Sample s = sample_of(Tensor::from<std::uint8_t>({1, 2}, {1, 1, 2}));
  s.set("label", Tensor::from<std::int32_t>({1, 2}, {1, 1, 2}));
  const RandFlip op({.prob = 0.5, .spatial_axis = 1});
  Sample skipped = s;
  op.apply(skipped, {.flip = false});
  EXPECT_EQ(skipped.get("image").raw(), s.get("image").raw());
  EXPECT_EQ(skipped.affine("image"), s.affine("image"));
  op.apply(s, {.flip = true});
  EXPECT_EQ(s.get("image").at({0, 0, 0}), 2);
  EXPECT_EQ(s.get("label").at({0, 0, 0}), 2);
}

TEST(RandFlip, PlansArePureAndAsLikelyAsAsked) {
  const RandFlip op({.prob = 0.3});
  const Sample s = sample_of(Tensor::zeros(DType::u8, {1, 2, 2}));
  int flips = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Rng a = rng_at(i), b = rng_at(i);
    const auto plan = op.plan(s, a);
    EXPECT_EQ(plan, op.plan(Sample(), b));
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.position(), 2u);
    flips += plan.flip ? 1 : 0;
  }
  EXPECT_NEAR(flips, 1200, 5 * std::sqrt(4000 * 0.3 * 0.7));
  for (const double p : {0.0, 1.0})
    for (std::uint64_t i = 0; i < 50; ++i) {
      Rng r = rng_at(i);
      EXPECT_EQ(RandFlip({.prob = p}).plan(s, r).flip, p == 1.0);
    }
}

TEST(RandFlip, Errors) {
  expect_error([] { RandFlip({.prob = 1.5}); }, {"RandFlip", "prob", "1.5", "0 to 1"});
  expect_error([] { RandFlip({.prob = std::nan("")}); }, {"prob", "nan"});
  expect_error([] { RandFlip({.spatial_axis = {0, 0}}); }, {"spatial_axis", "once"});
  expect_error([] { RandFlip({.spatial_axis = 3}); }, {"spatial_axis", "3"});
  Sample flat = sample_of(Tensor::zeros(DType::u8, {1, 2, 2}));
  for (const bool flip : {false, true}) {
    expect_error([&] { RandFlip({.spatial_axis = 2}).apply(flat, {.flip = flip}); }, {"spatial_axis", "from -2 to 1"});
    expect_error([&] { RandFlip({.spatial_axis = -3}).apply(flat, {.flip = flip}); }, {"spatial_axis"});
    expect_error([&] { RandFlip({.spatial_axis = {0, -2}}).apply(flat, {.flip = flip}); }, {"once"});
  }
  SampleSpec spec;
  spec.set({.name = "image", .dtype = DType::f32, .shape = {1, unknown, unknown}});
  expect_error([&] { RandFlip({.spatial_axis = 2}).infer(spec); }, {"spatial_axis"});
  EXPECT_EQ(RandFlip({.spatial_axis = 1}).infer(spec), spec);
}

TEST(RandFlip, DescribeAndNumber) {
  EXPECT_EQ(RandFlip({.keys = "image", .prob = 0.5, .spatial_axis = {0}, .op = 9}).describe(),
            "keys=[\"image\"], prob=0.5, spatial_axis=[0]");
  EXPECT_EQ(RandFlip({.op = 9}).op_number(), 9);
  EXPECT_EQ(RandFlip().op_number(), std::nullopt);
}

}  // namespace
}  // namespace headrace
