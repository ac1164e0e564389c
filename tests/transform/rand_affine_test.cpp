#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <headrace/random/math.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/resample.hpp>

#include "spatial_support.hpp"

namespace headrace {
namespace {

using test::Dice;
using test::expect_error;
using test::rng_at;
using test::sample_of;

const RandAffineOptions wide{.prob = 0.5,
                             .rotate_range = {0.3, {0.1, 0.2}, std::nullopt},
                             .shear_range = {0.1, 0.1},
                             .translate_range = {5, 5, 5},
                             .scale_range = {0.2, {-0.1, 0.4}, 0.1}};

RandAffine with_prob(double prob) {
  RandAffineOptions o = wide;
  o.prob = prob;
  return RandAffine(o);
}

// Records what an op asks for, and gives it fresh memory.
struct Recorder final : OutputPlace {
  std::vector<std::string> asked;
  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    asked.emplace_back(field);
    return Tensor::zeros(dtype, shape);
  }
  Tensor scratch(DType dtype, const Shape& shape) override { return Tensor::zeros(dtype, shape); }
};

TEST(RandAffine, PlansArePureAndIndependentOfKeysAndCoin) {
  const Sample one = sample_of(Tensor::zeros(DType::f32, {1, 6, 6, 6}));
  Sample two = one;
  two.set("label", Tensor::zeros(DType::u8, {1, 9, 9, 9}));
  int applied = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Rng a = rng_at(i), b = rng_at(i), c = rng_at(i), d = rng_at(i);
    const RandAffine op(wide);
    const auto plan = op.plan(one, a);
    EXPECT_EQ(plan, op.plan(two, b));
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.position(), 2u + 2 * 11);  // the coin and 11 entries, whatever it says
    applied += plan.apply ? 1 : 0;
    EXPECT_EQ(with_prob(1).plan(one, c).matrix, plan.apply ? plan.matrix : with_prob(1).plan(one, d).matrix);
    if (!plan.apply) {
      EXPECT_EQ(plan.matrix, Affine());
    }
  }
  EXPECT_NEAR(applied, 1000, 5 * std::sqrt(500.0));
}

// The parameters come in the declared order, each from its own range; an absent entry is 0 and draws all the same.
TEST(RandAffine, ParametersAreDrawnInDeclaredOrder) {
  const Sample s = sample_of(Tensor::zeros(DType::f32, {1, 6, 6, 6}));
  for (std::uint64_t i = 0; i < 200; ++i) {
    Rng a = rng_at(i), b = rng_at(i);
    const auto plan = with_prob(1).plan(s, a);
    b.uniform();
    const auto next = [&](double low, double high) { return b.uniform(low, high); };
    const double r0 = next(-0.3, 0.3), r1 = next(0.1, 0.2), r2 = next(0, 0);
    const double k0 = next(-0.1, 0.1), k1 = next(-0.1, 0.1);
    const double t0 = next(-5, 5), t1 = next(-5, 5), t2 = next(-5, 5);
    const double z0 = 1 + next(-0.2, 0.2), z1 = 1 + next(-0.1, 0.4), z2 = 1 + next(-0.1, 0.1);
    EXPECT_EQ(r2, 0);
    const std::vector<double> r{r0, r1, r2}, k{k0, k1}, t{t0, t1, t2}, z{z0, z1, z2};
    EXPECT_EQ(plan.matrix, affine_matrix(3, r, k, t, z));
  }
}

TEST(RandAffine, MatricesFactorAsDocumented) {
  const double a = 0.4, c = math::cos(a), s = math::sin(a);
  const auto expect = [](const Affine& got, std::array<double, 9> want) {
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 3; ++k) EXPECT_EQ(got(r, k), want[static_cast<std::size_t>(3 * r + k)]) << got.str();
  };
  using V = std::vector<double>;
  expect(affine_matrix(2, V{a}), {c, -s, 0, s, c, 0, 0, 0, 1});
  expect(affine_matrix(3, V{a}), {1, 0, 0, 0, c, -s, 0, s, c});
  expect(affine_matrix(3, V{0, a}), {c, 0, s, 0, 1, 0, -s, 0, c});
  expect(affine_matrix(3, V{0, 0, a}), {c, -s, 0, s, c, 0, 0, 0, 1});
  expect(affine_matrix(2, {}, V{0.5, 0.25}), {1, 0.5, 0, 0.25, 1.125, 0, 0, 0, 1});
  const Affine all = affine_matrix(3, V{0.1, 0.2, 0.3}, V{0.1, 0, 0.2}, V{1, 2, 3}, V{2, 3, 4});
  const Affine parts = affine_matrix(3, V{0.1, 0.2, 0.3}) * affine_matrix(3, {}, V{0.1, 0, 0.2}) *
                       affine_matrix(3, {}, {}, V{1, 2, 3}) * affine_matrix(3, {}, {}, {}, V{2, 3, 4});
  test::expect_affine(all, parts);
}

TEST(RandAffine, SkippedWithTheSameSizeTouchesNothing) {
  for (const Sizes& size : {Sizes{}, Sizes(6), Sizes{6, -1, 6}}) {
    Recorder recorder;
    Sample s = sample_of(Tensor::zeros(DType::f32, {1, 6, 6, 6}), Affine::scaling({1, 2, 3}));
    s.freeze();
    s.set_output_place(&recorder);
    const Tensor before = s.get("image");
    RandAffineOptions o = wide;
    o.spatial_size = size;
    RandAffine(o).apply(s, {});
    EXPECT_TRUE(recorder.asked.empty());
    EXPECT_EQ(s.get("image").raw(), before.raw());
    EXPECT_TRUE(s.get("image").storage().read_only());
    EXPECT_EQ(s.affine("image"), Affine::scaling({1, 2, 3}));
  }
}

TEST(RandAffine, AppliedAsksForOneOutputPerKeyAndLeavesTheInputAlone) {
  Recorder recorder;
  Dice dice(31);
  Sample s = sample_of(test::random_tensor(dice, DType::f32, {1, 6, 7, 8}));
  s.set("label", test::random_tensor(dice, DType::u8, {1, 6, 7, 8}));
  s.freeze();
  const Sample cached = s;
  const Tensor image = s.get("image").clone();
  s.set_output_place(&recorder);
  RandAffine({.keys = {"label", "image"}})
      .apply(s, {.apply = true, .matrix = affine_matrix(3, std::vector<double>{0.2})});
  EXPECT_EQ(recorder.asked, (std::vector<std::string>{"image", "label"}));
  EXPECT_TRUE(cached.get("image").equal(image));
  EXPECT_FALSE(s.get("image").equal(image));
  EXPECT_EQ(s.get("label").dtype(), DType::u8);
}

TEST(RandAffine, WorldPositionsAreKept) {
  Dice dice(32);
  for (int n = 0; n < 40; ++n) {
    const int rank = 2 + n % 2;
    const Affine affine = test::random_affine(dice, rank, n % 3 == 0);
    const Shape spatial = rank == 2 ? Shape{9, 12} : Shape{8, 9, 7};
    Sample s = sample_of(test::world_image(affine, spatial), affine);
    RandAffineOptions o{.padding_mode = Padding::border};
    if (n % 4 >= 2) o.spatial_size = rank == 2 ? Sizes{6, 15} : Sizes{5, 10, -1};
    const std::vector<double> r{0.3}, k{0.1, -0.05}, t{0.7, -0.4}, z{0.9, 1.1};
    RandAffine(o).apply(s, {.apply = true, .matrix = affine_matrix(rank, r, k, t, z)});
    // the middle of the image is inside, the corners may be padded
    const Tensor& image = s.get("image");
    EXPECT_GT(test::voxels_at_home(s, "image"), image.numel() / 3 / 4) << n;
  }
}

// Each key is moved about its own centre: the voxel in the middle stays in the middle.
TEST(RandAffine, KeysOfOtherSizesHaveTheirOwnCentre) {
  Sample s;
  for (const std::int64_t n : {5, 9}) {
    Tensor t = Tensor::zeros(DType::u8, {1, n, n});
    t.mutable_data<std::uint8_t>()[n * n / 2] = 1;
    s.set("k" + std::to_string(n), t);
  }
  RandAffine().apply(
      s, {.apply = true, .matrix = affine_matrix(2, std::vector<double>{1.0}, {}, {}, std::vector<double>{0.5, 0.5})});
  EXPECT_EQ(s.get("k5").at({0, 2, 2}), 1);
  EXPECT_EQ(s.get("k9").at({0, 4, 4}), 1);
}

TEST(RandAffine, SkippedWithAnotherSizeCropsAndPadsAboutTheCentre) {
  Sample s = sample_of(Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 8}));
  RandAffine({.spatial_size = {-1, 4}}).apply(s, {});
  EXPECT_TRUE(s.get("image").equal(Tensor::from<float>({2, 3, 4, 5}, {1, 1, 4})));
  EXPECT_EQ(s.affine("image"), Affine::translation({0, 2, 0}));
  RandAffine({.spatial_size = {1, 8}, .padding_mode = Padding::zeros}).apply(s, {});
  EXPECT_TRUE(s.get("image").equal(Tensor::from<float>({0, 0, 2, 3, 4, 5, 0, 0}, {1, 1, 8})));
  EXPECT_EQ(s.affine("image"), Affine());
}

TEST(RandAffine, ModesPerKeyAndByType) {
  const auto run = [](PerKey<Interpolation> mode) {
    Sample s;
    s.set("label", Tensor::from<std::int16_t>({0, 10, 20, 30}, {1, 1, 4}));
    s.set("image", Tensor::from<float>({0, 10, 20, 30}, {1, 1, 4}));
    RandAffine({.keys = {"image", "label"}, .mode = std::move(mode), .padding_mode = Padding::border})
        .apply(s, {.apply = true, .matrix = Affine::translation({0, 0.3, 0})});
    return s;
  };
  const Sample by_type = run(Interpolation::by_dtype);
  EXPECT_TRUE(by_type.get("label").equal(Tensor::from<std::int16_t>({0, 10, 20, 30}, {1, 1, 4})));
  EXPECT_NEAR(by_type.get("image").at({0, 0, 1}), 13, 1e-5);
  const Sample swapped = run({Interpolation::nearest, Interpolation::linear});  // in the order of the keys
  EXPECT_TRUE(swapped.get("label").equal(Tensor::from<std::int16_t>({3, 13, 23, 30}, {1, 1, 4})));
  EXPECT_EQ(swapped.get("image").at({0, 0, 1}), 10);
}

// The op is the sampler under T((n-1)/2) M T(-(m-1)/2), read from a view and written to the place given.
TEST(RandAffine, ReadsViewsWhereTheyLie) {
  Dice dice(33);
  const Tensor volume = test::random_tensor(dice, DType::f32, {1, 20, 20, 20});
  const std::int64_t start[3] = {3, 5, 7}, size[3] = {8, 9, 10};
  const Tensor window = volume.crop(start, size).flip({1, 3});
  Sample view = sample_of(window), copy = sample_of(window.clone());
  const RandAffine::Plan plan{.apply = true, .matrix = affine_matrix(3, std::vector<double>{0.2, 0.1, -0.3})};
  RandAffine().apply(view, plan);
  RandAffine().apply(copy, plan);
  EXPECT_TRUE(view.get("image").equal(copy.get("image")));
  EXPECT_EQ(view.affine("image"), copy.affine("image"));
}

TEST(RandAffine, Infer) {
  SampleSpec spec;
  spec.set({.name = "image", .dtype = DType::i16, .shape = {2, unknown, 7, unknown}});
  EXPECT_EQ(RandAffine().infer(spec), spec);
  EXPECT_EQ(RandAffine({.spatial_size = {4, -1, -1}}).infer(spec).at("image").shape, (Shape{2, 4, 7, unknown}));
  EXPECT_EQ(RandAffine({.spatial_size = 32}).infer(spec).at("image").shape, (Shape{2, 32, 32, 32}));
  EXPECT_EQ(RandAffine().effect("image"), Effect::rewrite);
}

TEST(RandAffine, Errors) {
  expect_error([] { RandAffine({.prob = -0.1}); }, {"RandAffine", "prob", "-0.1"});
  expect_error([] { RandAffine({.rotate_range = {{0.2, 0.1}}}); }, {"rotate_range", "[0.2, 0.1]", "low <= high"});
  expect_error([] { RandAffine({.shear_range = {-0.1}}); }, {"shear_range"});
  expect_error([] { RandAffine({.scale_range = {std::nan("")}}); }, {"scale_range", "finite"});
  expect_error([] { RandAffine({.translate_range = {{0, INFINITY}}}); }, {"translate_range", "inf"});
  expect_error([] { RandAffine({.rotate_range = {1, 1, 1, 1}}); }, {"rotate_range", "4 entries", "at most 3"});
  expect_error(
      [] {
        RandAffine({.keys = {"a", "b", "c"}, .mode = {Interpolation::linear, Interpolation::nearest}});
      },
      {"mode", "2 values", "3 keys"});
  Sample flat = sample_of(Tensor::zeros(DType::f32, {1, 4, 4}));
  expect_error(
      [&] {
        Rng r = rng_at(0);
        with_prob(0).plan(flat, r);
      },
      {"rotate_range", "at most 1", "2 spatial axes"});
  expect_error([&] { RandAffine({.spatial_size = {4, 4, 4}}).apply(flat, {}); }, {"spatial_size"});
  expect_error([&] { RandAffine({.spatial_size = 100000000}).apply(flat, {}); }, {"image", "1e+08 x 1e+08", "2^31"});
  Sample mixed = flat;
  mixed.set("other", Tensor::zeros(DType::f32, {1, 4, 4, 4}));
  expect_error(
      [&] {
        Rng r = rng_at(0);
        RandAffine().plan(mixed, r);
      },
      {"other", "spatial axes"});
  SampleSpec spec;
  spec.set({.name = "image", .dtype = DType::f32, .shape = {1, unknown, unknown}});
  expect_error([&] { with_prob(0).infer(spec); }, {"rotate_range"});
}

TEST(RandAffine, DescribeAndNumber) {
  EXPECT_EQ(
      RandAffine({.keys = "image", .rotate_range = {0.26, {0, 0.1}, std::nullopt}, .op = 4}).describe(),
      "keys=[\"image\"], prob=0.1, rotate_range=[[-0.26, 0.26], [0, 0.1], [0, 0]], shear_range=[], translate_range=[], "
      "scale_range=[], spatial_size=[], mode=by_dtype, padding_mode=reflection");
  EXPECT_EQ(RandAffine({.op = 4}).op_number(), 4);
}

}  // namespace
}  // namespace headrace
