// The sampler gives the same bits with every instruction set and compiler.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/resample.hpp>
#include <string>
#include <vector>

#include "reference_sampler.hpp"

namespace headrace {
namespace {

std::vector<std::int64_t> targets_here() {
  std::vector<std::int64_t> targets;
  hwy::SetSupportedTargetsForTest(0);
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) targets.push_back(left & -left);
  return targets;
}

class ResampleTargets : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

std::uint64_t hash(std::uint64_t h, const Tensor& t) {
  for (std::size_t i = 0; i < t.bytes(); ++i) h = (h ^ static_cast<std::uint64_t>(t.raw()[i])) * 0x100000001B3;
  return h;
}

// Rows longer than a chunk, of every remainder; 2-D and 3-D; contiguous, mirrored and turned inputs.
template <class F>
void for_cases(const F& f) {
  test::Dice dice(51);
  for (int n = 0; n < 60; ++n) {
    const int rank = 2 + n % 2;
    Shape in{1}, out{1};
    for (int d = 0; d < rank; ++d) {
      in.push_back(dice.between(5, 40));
      out.push_back(d + 1 == rank ? (n % 10 == 0 ? dice.between(250, 290) : 1 + n) : dice.between(1, 6));
    }
    Affine map = dice.map(rank, in, out);
    for (int r = 0; r < rank; ++r) map(r, rank - 1) /= n % 10 == 0 ? 12 : n % 3 + 1;  // long interiors
    for (int r = 0; r < rank; ++r) {
      double middle = 0;
      for (int c = 0; c < rank; ++c) middle += map(r, c) * static_cast<double>(out[c + 1] - 1) / 2;
      map(r, 3) = static_cast<double>(in[r + 1] - 1) / 2 - middle;
    }
    Tensor image = test::random_tensor(dice, DType::f64, in).to(DType::f32);  // f64 values that floats hold exactly
    if (n % 4 == 1) image = image.flip({rank});
    if (n % 4 == 3) image = image.permute({0, 2, 1, 3}).contiguous().permute({0, 2, 1, 3});
    f(image, out, map, static_cast<Padding>(n % 3));
  }
}

Tensor sampled(const Tensor& in, const Shape& shape, const Affine& map, const ResampleOptions& options) {
  Tensor out = Tensor::empty(in.dtype(), shape);
  resample(in, out, map, options);
  return out;
}

// Double images take the scalar path with the same steps in double, so rounding its result once is the float result.
TEST_P(ResampleTargets, LinearOnFloatsEqualsTheScalarPath) {
  for_cases([](const Tensor& image, const Shape& out, const Affine& map, Padding padding) {
    const ResampleOptions options{.mode = Interpolation::linear, .padding_mode = padding};
    EXPECT_TRUE(
        sampled(image, out, map, options).equal(sampled(image.to(DType::f64), out, map, options).to(DType::f32)))
        << image.shape().str() << " -> " << out.str() << " " << map.str();
  });
}

// Where the two neighbours cancel, what is left is rounding: one step done otherwise (a fused multiply-add) shows in
// every bit.
TEST_P(ResampleTargets, EveryRoundingStepIsTheScalarOne) {
  test::Dice dice(52);
  int left = 0;
  for (int n = 0; n < 600; ++n) {
    const int axis = n % 3;
    const auto a = static_cast<double>(dice.between(1, 2000)), b = -static_cast<double>(dice.between(1, 2000));
    std::vector<double> values;
    for (int i = 0; i < 27; ++i) values.push_back((axis == 0 ? i / 9 : axis == 1 ? i / 3 % 3 : i % 3) == 0 ? a : b);
    const Tensor image = Tensor::from(std::span<const double>(values), {1, 3, 3, 3});
    Affine map = Affine::translation({0.3, 0.6, 0.1});
    map(axis, 3) = a / (a - b);
    for (int r = 0; r < 3; ++r) map(r, 2) = 0;
    const Tensor scalar = sampled(image, {1, 1, 1, 9}, map, {}).to(DType::f32);
    EXPECT_TRUE(sampled(image.to(DType::f32), {1, 1, 1, 9}, map, {}).equal(scalar)) << axis << " " << a << " " << b;
    left += scalar.at({0, 0, 0, 0}) != 0 ? 1 : 0;
  }
  EXPECT_GT(left, 100);
}

// The bits themselves, so that compilers and machines are compared with each other too.
TEST_P(ResampleTargets, TheBitsAreTheKnownOnes) {
  std::uint64_t linear = 0xCBF29CE484222325, nearest = linear;
  for_cases([&](const Tensor& image, const Shape& out, const Affine& map, Padding padding) {
    linear = hash(linear, sampled(image, out, map, {.mode = Interpolation::linear, .padding_mode = padding}));
    for (const DType type : {DType::u8, DType::i16, DType::f32, DType::f64})
      nearest = hash(nearest, sampled(image.to(DType::f64).mul_(20).to(type), out, map,
                                      {.mode = Interpolation::nearest, .padding_mode = padding}));
  });
  EXPECT_EQ(linear, 8481370195583701854u);
  EXPECT_EQ(nearest, 12640021201512737799u);
}

TEST(RandAffineBits, ThePlansMatricesAreTheKnownOnes) {
  Sample s;
  s.set("image", Tensor::zeros(DType::f32, {1, 4, 4, 4}));
  const RandAffine op({.prob = 1,
                       .rotate_range = {0.5, 0.5, 0.5},
                       .shear_range = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
                       .translate_range = {9, 9, 9},
                       .scale_range = {0.2, 0.2, 0.2}});
  std::uint64_t h = 0xCBF29CE484222325;
  for (std::uint64_t item = 0; item < 200; ++item) {
    Rng rng(StreamAddress{.seed = 1, .item = item, .patch = 0, .op = 1});
    const auto plan = op.plan(s, rng);
    h = hash(h, Tensor::from(std::span<const double>(plan.matrix.m), {16}));
  }
  EXPECT_EQ(h, 9846825305136138621u);
}

INSTANTIATE_TEST_SUITE_P(Targets, ResampleTargets, testing::ValuesIn(targets_here()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace headrace
