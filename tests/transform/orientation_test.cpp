#include <gtest/gtest.h>

#include <algorithm>
#include <headrace/transform/orientation.hpp>
#include <limits>
#include <string>

#include "spatial_support.hpp"

namespace headrace {
namespace {

using test::Dice;
using test::expect_error;
using test::sample_of;

std::vector<std::string> all_codes() {
  std::vector<std::string> codes;
  std::string order = "012";
  do {
    for (int signs = 0; signs < 8; ++signs) {
      std::string code;
      for (const char axis : order) {
        const int w = axis - '0';
        code += (signs >> w & 1) != 0 ? "RAS"[w] : "LPI"[w];
      }
      codes.push_back(code);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return codes;
}

TEST(Orientation, EveryCodeKeepsWorldPositionsAndCopiesNothing) {
  Dice dice(11);
  for (int n = 0; n < 4; ++n) {
    const Affine affine = test::random_affine(dice, 3, n % 2 == 1);
    const Tensor image = test::world_image(affine, {3, 4, 5});
    for (const std::string& code : all_codes()) {
      Sample s = sample_of(image, affine);
      Orientation({.axcodes = code}).apply(s);
      EXPECT_TRUE(s.get("image").storage().same_block(image.storage()));
      EXPECT_EQ(test::voxels_at_home(s, "image"), 60) << code << " " << affine.str();
    }
  }
}

// For right angles the result is what the letters say: axis d of the result runs along the world axis of letter d.
TEST(Orientation, LettersMeanDirections) {
  for (const std::string& from : all_codes()) {
    Affine affine;
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) {
        const char letter = from[static_cast<std::size_t>(c)];
        affine(r, c) = letter == "RAS"[r] ? 2 : letter == "LPI"[r] ? -2 : 0;
      }
    Sample s = sample_of(Tensor::zeros(DType::u8, {1, 2, 3, 4}), affine);
    Orientation({.axcodes = "PIR"}).apply(s);
    const Affine a = s.affine("image");
    EXPECT_EQ(a(1, 0), -2) << from;
    EXPECT_EQ(a(2, 1), -2) << from;
    EXPECT_EQ(a(0, 2), 2) << from;
    const Tensor t = s.get("image");
    for (int d = 0; d < 3; ++d) {
      const char letter = "PIR"[d];
      const std::size_t source = from.find_first_of(letter == 'P' ? "PA" : letter == 'I' ? "IS" : "LR");
      EXPECT_EQ(t.size(d + 1), static_cast<std::int64_t>(source) + 2);
    }
    Orientation({.axcodes = "PIR"}).apply(s);  // again: nothing changes
    EXPECT_EQ(s.affine("image"), a);
  }
}

// Each world axis is used once, in axis order, even where two columns point the same way most.
TEST(Orientation, ObliqueAxesShareTheWorldAxes) {
  Affine a;
  a.m = {1, 0.9, 0, 0, 0.2, 1, 0, 0, 0, 0.3, 1, 0, 0, 0, 0, 1};
  const auto d = detail::axis_directions(a, 3);
  EXPECT_EQ(d[0].world_axis, 0);
  EXPECT_EQ(d[1].world_axis, 1);
  EXPECT_EQ(d[2].world_axis, 2);
  // columns 0 and 1 both lean to world axis 0; the orthogonal factor decides between them
  a.m = {0.8, 0.9, 0, 0, 0.6, -0.1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1};
  const auto e = detail::axis_directions(a, 3);
  EXPECT_EQ(e[0].world_axis, 1);
  EXPECT_TRUE(e[0].positive);
  EXPECT_EQ(e[1].world_axis, 0);
  EXPECT_TRUE(e[1].positive);
  EXPECT_EQ(e[2].world_axis, 2);
  EXPECT_FALSE(e[2].positive);
}

TEST(Orientation, OneAndTwoDimensions) {
  Affine a;
  a(0, 0) = -1;
  Sample line = sample_of(Tensor::from<std::uint8_t>({1, 2, 3}, {1, 3}), a);
  Orientation().apply(line);
  EXPECT_TRUE(line.get("image").equal(Tensor::from<std::uint8_t>({3, 2, 1}, {1, 3})));
  Dice dice(12);
  for (int n = 0; n < 20; ++n) {
    const Affine affine = test::random_affine(dice, 2, true);
    for (const char* code : {"RA", "AR", "LA", "PL", "RAS"}) {
      Sample s = sample_of(test::world_image(affine, {3, 5}), affine);
      Orientation({.axcodes = code}).apply(s);
      EXPECT_EQ(test::voxels_at_home(s, "image"), 15);
    }
  }
}

TEST(Orientation, OnlyTheKeysNamed) {
  Sample s = sample_of(Tensor::from<std::uint8_t>({1, 2}, {1, 1, 2}));
  s.set("other", Tensor::from<std::uint8_t>({1, 2}, {1, 1, 2}));
  s.set("age", 41.0);
  const Orientation op({.keys = "other", .axcodes = "LP"});
  op.apply(s);
  EXPECT_TRUE(s.get("image").equal(Tensor::from<std::uint8_t>({1, 2}, {1, 1, 2})));
  EXPECT_TRUE(s.get("other").equal(Tensor::from<std::uint8_t>({2, 1}, {1, 1, 2})));
  EXPECT_EQ(op.effect("image"), Effect::none);
  EXPECT_EQ(op.effect("other"), Effect::view);
}

TEST(Orientation, InferForgetsSizesThatMayChangePlaces) {
  SampleSpec spec;
  spec.set({.name = "cube", .dtype = DType::f32, .shape = {1, 5, 5, 5}});
  spec.set({.name = "box", .dtype = DType::f32, .shape = {1, 5, 5, 6}});
  const SampleSpec out = Orientation().infer(spec);
  EXPECT_EQ(out.at("cube").shape, (Shape{1, 5, 5, 5}));
  EXPECT_EQ(out.at("box").shape, (Shape{1, unknown, unknown, unknown}));
}

TEST(Orientation, Errors) {
  expect_error([] { Orientation({.axcodes = "RAX"}); }, {"Orientation", "axcodes", "'X'", "L or R"});
  expect_error([] { Orientation({.axcodes = "ras"}); }, {"'r'"});
  expect_error([] { Orientation({.axcodes = "RRS"}); }, {"axcodes", "\"RRS\"", "L/R", "twice"});
  expect_error([] { Orientation({.axcodes = "RLS"}); }, {"twice"});
  expect_error([] { Orientation({.axcodes = ""}); }, {"axcodes"});
  expect_error([] { Orientation({.axcodes = "RASR"}); }, {"axcodes"});
  const auto apply = [](const char* code, const Shape& shape, const Affine& a) {
    Sample s = sample_of(Tensor::zeros(DType::u8, shape), a);
    Orientation({.axcodes = code}).apply(s);
  };
  expect_error([&] { apply("RA", {1, 2, 2, 2}, {}); }, {"image", "3 spatial axes", "fewer"});
  expect_error([&] { apply("RS", {1, 2, 2}, {}); }, {"image", "P/A"});
  expect_error([&] { apply("RAS", {1, 2, 2, 2, 2}, {}); }, {"image", "[1, 2, 2, 2, 2]"});
  expect_error([&] { apply("RAS", {2}, {}); }, {"image"});
  Affine flat;
  flat(2, 2) = 0;
  expect_error([&] { apply("RAS", {1, 2, 2, 2}, flat); }, {"image", "axis 2", "no direction"});
  Affine broken;
  broken(0, 0) = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { apply("RAS", {1, 2, 2, 2}, broken); }, {"image", "not finite"});
  expect_error<std::out_of_range>(
      [] {
        Sample s = sample_of(Tensor::zeros(DType::u8, {1, 2, 2}));
        Orientation({.keys = "label"}).apply(s);
      },
      {"label"});
}

TEST(Orientation, Describe) {
  EXPECT_EQ(Orientation({.keys = {"a", "b"}, .axcodes = "LPS"}).describe(), "keys=[\"a\", \"b\"], axcodes=\"LPS\"");
}

TEST(Orientation, ASingularAffineIsRefused) {
  Affine affine;
  affine(0, 0) = affine(0, 1) = affine(1, 0) = affine(1, 1) = 1;
  Sample s = test::sample_of(Tensor::zeros(DType::f32, {1, 2, 3, 4}), affine);
  test::expect_error<std::invalid_argument>([&] { Orientation({.axcodes = "RAS"}).apply(s); },
                                            {"Orientation", "image", "singular affine"});
}

}  // namespace
}  // namespace headrace
