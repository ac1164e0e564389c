// The intensity ops that need no percentiles: values against MONAI's, types, strides, draws, errors.
#include <cmath>
#include <headrace/transform/adjust_contrast.hpp>
#include <headrace/transform/normalize_intensity.hpp>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_gaussian_noise.hpp>
#include <headrace/transform/rand_scale_intensity.hpp>
#include <headrace/transform/rand_shift_intensity.hpp>
#include <headrace/transform/scale_intensity.hpp>
#include <headrace/transform/threshold_intensity.hpp>
#include <limits>
#include <optional>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

constexpr DType every_dtype[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,  DType::u32, DType::i32,
                                 DType::u64, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};

Sample with(Tensor image) {
  Sample s;
  s.set("image", std::move(image));
  s.set_path("image", "/data/case.nii.gz");
  return s;
}
Tensor ramp() { return counting<float>({1, 4, 4}); }  // 0 ... 15

template <class Op>
Tensor result(const Op& op, const Tensor& image) {
  Sample s = with(image);
  const SampleSpec promised = Transform(op)->infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.spec(), promised);
  return s.get("image");
}
template <class Op>
Tensor planned(const Op& op, const typename Op::Plan& plan, const Tensor& image) {
  Sample s = with(image);
  const SampleSpec promised = op.infer(s.spec());
  if constexpr (requires { op.apply(s, plan); })
    op.apply(s, plan);
  else
    op.apply(s, plan, stream(1));
  EXPECT_EQ(s.spec(), promised);
  return s.get("image");
}

void expect_near(const Tensor& t, std::initializer_list<double> expected, double tolerance) {
  const auto v = values_of<float>(t);
  std::size_t i = 0;
  for (const double e : expected) {
    ASSERT_LT(i, v.size());
    EXPECT_NEAR(static_cast<double>(v[i]), e, tolerance) << i;
    ++i;
  }
}

TEST(ScaleIntensity, Gives_golden_H28_and_the_other_forms) {
  const auto v = values_of<float>(result(ScaleIntensity(), ramp()));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(v[i], static_cast<float>(i) / 15.0f);
  EXPECT_EQ(values_of<std::uint8_t>(
                result(ScaleIntensity({.maxv = 20, .dtype = DType::u8}), Tensor::from<float>({0, 1, 2, 3}, {1, 4}))),
            (std::vector<std::uint8_t>{0, 6, 13, 20}));
  EXPECT_EQ(values_of<float>(result(ScaleIntensity({.minv = {}, .maxv = {}, .factor = 0.5}), ramp()))[2], 3);
  EXPECT_EQ(values_of<float>(result(ScaleIntensity({.minv = {}, .maxv = 7}), ramp()))[15], 1);
  EXPECT_EQ(values_of<float>(result(ScaleIntensity({.minv = 1, .maxv = 3}), Tensor::from<float>({5, 5}, {1, 2}))),
            (std::vector<float>{5, 5}));
  EXPECT_EQ(values_of<float>(result(ScaleIntensity(), Tensor::from<float>({5, 5}, {1, 2}))),
            (std::vector<float>{0, 0}));
}

TEST(ScaleIntensity, NaN_does_not_count_and_an_infinity_is_an_error) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto v = values_of<float>(result(ScaleIntensity(), Tensor::from<float>({nan, 2, 4, 3, nan}, {1, 5})));
  EXPECT_TRUE(std::isnan(v[0]) && std::isnan(v[4]));
  EXPECT_EQ((std::vector<float>{v[1], v[2], v[3]}), (std::vector<float>{0, 1, .5f}));
  Sample s = with(Tensor::from<float>({1, std::numeric_limits<float>::infinity()}, {1, 2}));
  EXPECT_TRUE(says(message_of([&] { ScaleIntensity().apply(s); }), {"image", "/data/case.nii.gz", "infinity"}));
}

TEST(ScaleIntensity, Channels_together_or_each_by_itself) {
  const Tensor two = Tensor::from<float>({0, 1, 2, 4, 10, 20, 30, 50}, {2, 4});
  EXPECT_EQ(values_of<float>(result(ScaleIntensity({.channel_wise = true}), two)),
            (std::vector<float>{0, .25f, .5f, 1, 0, .25f, .5f, 1}));
  EXPECT_EQ(values_of<float>(result(ScaleIntensity(), two))[3], 4.0f / 50.0f);
}

TEST(NormalizeIntensity, Gives_golden_H30) {
  expect_near(result(NormalizeIntensity(), ramp()), {-1.626978, -1.410048, -1.193117, -.9761871}, 1e-6);
  const Tensor nonzero = result(NormalizeIntensity({.nonzero = true}), ramp());
  expect_near(nonzero, {0, -1.620185, -1.38873, -1.157275}, 1e-6);
  EXPECT_EQ(values_of<float>(nonzero)[8], 0);
}

TEST(NormalizeIntensity, A_constant_image_becomes_zero_and_zeros_stay) {
  const Tensor constant = Tensor::from<float>({1000.1f, 1000.1f, 1000.1f}, {1, 3});
  EXPECT_EQ(values_of<float>(result(NormalizeIntensity(), constant)), (std::vector<float>{0, 0, 0}));
  const Tensor zeros = Tensor::zeros(DType::f32, {1, 3});
  EXPECT_EQ(values_of<float>(result(NormalizeIntensity({.nonzero = true}), zeros)), (std::vector<float>{0, 0, 0}));
}

TEST(NormalizeIntensity, Given_numbers_per_image_and_per_channel) {
  EXPECT_EQ(values_of<float>(result(NormalizeIntensity({.subtrahend = {1}, .divisor = {2}}), ramp()))[5], 2);
  EXPECT_EQ(values_of<float>(result(NormalizeIntensity({.subtrahend = {1}, .divisor = {0}}), ramp()))[5], 4);
  const Tensor two = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  const NormalizeIntensity op({.subtrahend = {1, 3}, .divisor = {1, 2}, .channel_wise = true});
  EXPECT_EQ(values_of<float>(result(op, two)), (std::vector<float>{0, 1, 0, .5f}));
  Sample s = with(Tensor::from<float>({1, 2, 3}, {3, 1}));
  EXPECT_TRUE(says(message_of([&] { op.apply(s); }), {"subtrahend", "3 channels", "image"}));
  EXPECT_TRUE(says(message_of([] { NormalizeIntensity({.subtrahend = {1, 3}}); }), {"channel_wise"}));
}

TEST(ThresholdIntensity, Gives_golden_H31_and_keeps_the_type) {
  const auto above = values_of<float>(result(ThresholdIntensity({.threshold = 5}), ramp()));
  const auto below = values_of<float>(result(ThresholdIntensity({.threshold = 5, .above = false, .cval = -1}), ramp()));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(above[i], i > 5 ? static_cast<float>(i) : 0);
    EXPECT_EQ(below[i], i < 5 ? static_cast<float>(i) : -1);
  }
  for (const DType t : every_dtype)
    EXPECT_EQ(result(ThresholdIntensity({.threshold = 5, .cval = 1.7}), ramp().to(t)).dtype(), t);
  const std::int64_t big = (std::int64_t{1} << 53) - 1;
  EXPECT_EQ(values_of<std::int64_t>(result(ThresholdIntensity({.threshold = 5, .cval = -1.7}),
                                           Tensor::from<std::int64_t>({big, 3}, {1, 2}))),
            (std::vector<std::int64_t>{big, -1}));
}

TEST(RandomIntensity, Plans_say_what_happens_and_the_type_does_not_depend_on_the_coin) {
  const RandScaleIntensity scale({.factors = 0.5, .prob = 1});
  EXPECT_EQ(values_of<float>(planned(scale, {.apply = true, .factor = .25}, ramp()))[4], 5);
  const RandShiftIntensity shift({.offsets = 5, .prob = 1});
  EXPECT_EQ(values_of<float>(planned(shift, {.apply = true, .offset = 2.5}, ramp()))[4], 6.5f);
  EXPECT_EQ(values_of<std::uint8_t>(planned(shift, {.apply = true, .offset = -2.5}, ramp().to(DType::u8)))[4], 1);
  const RandGaussianNoise noise({.prob = 1});
  for (const DType t : every_dtype)
    for (const bool apply : {false, true}) {
      EXPECT_EQ(planned(scale, {.apply = apply, .factor = .1}, ramp().to(t)).dtype(), DType::f32);
      EXPECT_EQ(planned(shift, {.apply = apply, .offset = .1}, ramp().to(t)).dtype(), t);
      EXPECT_EQ(planned(noise, {.apply = apply, .std = .1}, ramp().to(t)).dtype(), DType::f32);
    }
}

TEST(RandomIntensity, Draws_do_not_depend_on_the_coin_or_the_number_of_keys) {
  const auto words = [](const auto& op, const Sample& s) {
    Rng rng = stream(3);
    op.plan(s, rng);
    return rng.position();
  };
  Sample one = with(ramp()), two = with(ramp());
  two.set("other", ramp());
  for (const double prob : {0.0, 1.0})
    for (const Sample* s : {&one, &two}) {
      EXPECT_EQ(words(RandScaleIntensity({.factors = 1, .prob = prob}), *s), 4u);
      EXPECT_EQ(words(RandShiftIntensity({.offsets = 1, .prob = prob}), *s), 4u);
      EXPECT_EQ(words(RandGaussianNoise({.prob = prob}), *s), 4u);
      EXPECT_EQ(words(RandAdjustContrast({.prob = prob}), *s), 4u);
      EXPECT_EQ(words(RandGaussianNoise({.prob = prob, .sample_std = false}), *s), 4u);
    }
  int applied = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng = stream(seed);
    const auto plan = RandScaleIntensity({.factors = {-.1, .3}, .prob = .25}).plan(one, rng);
    applied += plan.apply;
    EXPECT_GE(plan.factor, -.1);
    EXPECT_LT(plan.factor, .3);
  }
  EXPECT_NEAR(applied, 500, 80);
}

TEST(RandomIntensity, One_number_per_channel_on_request) {
  const Tensor two = Tensor::from<float>({1, 1, 2, 2}, {2, 2});
  const RandScaleIntensity scale({.factors = 1, .prob = 1, .channel_wise = true});
  Rng rng = stream(5);
  const auto plan = scale.plan(with(two), rng);
  ASSERT_EQ(plan.factors.size(), 2u);
  EXPECT_NE(plan.factors[0], plan.factors[1]);
  const auto v = values_of<float>(planned(scale, plan, two));
  EXPECT_EQ(v[1], static_cast<float>(1 + plan.factors[0]));
  EXPECT_EQ(v[2], 2 * static_cast<float>(1 + plan.factors[1]));
  Sample three = with(Tensor::zeros(DType::f32, {3, 2}));
  EXPECT_TRUE(says(message_of([&] { scale.apply(three, plan); }), {"3 channels"}));
}

TEST(RandGaussianNoise, The_noise_of_a_voxel_is_the_number_at_its_word) {
  for (const Shape& shape : {Shape{1, 3, 5, 7}, Shape{2, 40, 60}, Shape{1, 2, 3000}}) {
    Sample s = with(Tensor::zeros(DType::f32, shape));
    s.set("other", Tensor::zeros(DType::f64, shape));
    const Rng rng = stream(9);
    RandGaussianNoise({.prob = 1, .mean = .5}).apply(s, {.apply = true, .std = 2}, rng);
    EXPECT_TRUE(s.get("image").equal(s.get("other").to(DType::f32)));
    const auto v = values_of<float>(s.get("image"));
    for (std::size_t i = 0; i < v.size(); i += 7) {
      Rng one = rng;
      one.seek(voxel_words_begin + i);
      ASSERT_EQ(v[i], one.normal<float>(.5, 2)) << i;
    }
  }
}

TEST(AdjustContrast, Gives_golden_H35) {
  expect_near(result(AdjustContrast({.gamma = 2}), ramp()), {0, .06666668, .2666667, .6}, 2e-6);
  expect_near(result(AdjustContrast({.gamma = 2, .invert_image = true}), ramp()), {0, 1.933333, 3.733333, 5.4}, 2e-6);
  expect_near(result(AdjustContrast({.gamma = 2, .retain_stats = true}), ramp()),
              {2.516051, 2.580359, 2.773287, 3.094832}, 4e-6);
  expect_near(result(AdjustContrast({.gamma = 2, .invert_image = true, .retain_stats = true}), ramp()),
              {-1.98558, -.1206193, 1.615724, 3.223449}, 4e-6);
}

TEST(AdjustContrast, Follows_the_formula_for_every_gamma_and_leaves_the_ends) {
  std::vector<float> x(1237);
  Rng rng = stream(2);
  rng.fill_uniform(std::span<float>(x));
  x[3] = -2;
  x[700] = 7;
  const Tensor image = Tensor::from(std::span<const float>(x), Shape{1, 1237});
  for (const double gamma : {.05, .5, .7, 1.0, 1.5, 2.2, 4.5, 30.0, 1000.0}) {
    const auto v = values_of<float>(result(AdjustContrast({.gamma = gamma}), image));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double z = static_cast<double>((x[i] + 2) / (9 + 1e-7f));
      ASSERT_NEAR(static_cast<double>(v[i]), std::pow(z, gamma) * 9 - 2, 3e-6) << gamma << " " << x[i];
    }
    EXPECT_EQ(v[3], -2);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto v = values_of<float>(result(AdjustContrast({.gamma = 2}), Tensor::from<float>({nan, 0, 1, 2}, {1, 4})));
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_FLOAT_EQ(v[2], .5f);
  EXPECT_EQ(values_of<float>(result(AdjustContrast({.gamma = 2}), Tensor::from<float>({5, 5}, {1, 2}))),
            (std::vector<float>{5, 5}));
  for (const DType t : every_dtype)
    for (const bool apply : {false, true})
      EXPECT_EQ(planned(RandAdjustContrast(), {.apply = apply, .gamma = 2}, ramp().to(t)).dtype(), DType::f32);
}

// Whatever the strides; in place only where nobody else holds the voxels.
template <class Op, class Apply>
void expect_the_same_from_a_view(const Op& op, Apply&& apply) {
  const Tensor whole = counting<float>({2, 5, 6, 7});
  const Tensor view = whole.flip({1, 3}).permute({0, 3, 1, 2}).narrow(2, 1, 3);
  for (const DType t : {DType::f32, DType::f64, DType::i16, DType::f16}) {
    Sample a, b;
    a.set("image", whole.to(t).flip({1, 3}).permute({0, 3, 1, 2}).narrow(2, 1, 3));
    b.set("image", view.clone().to(t));
    const Tensor held = a.get("image"), copy = held.clone();
    apply(op, a);
    apply(op, b);
    EXPECT_TRUE(a.get("image").equal(b.get("image"))) << Op::name << " " << name_of(t);
    EXPECT_TRUE(held.equal(copy)) << Op::name << ": somebody else's voxels changed";
  }
}

TEST(Intensity, Strides_and_other_holders_change_nothing) {
  const auto plain = [](const auto& op, Sample& s) { op.apply(s); };
  expect_the_same_from_a_view(ScaleIntensity({.channel_wise = true}), plain);
  expect_the_same_from_a_view(ScaleIntensity({.dtype = std::nullopt}), plain);
  expect_the_same_from_a_view(NormalizeIntensity({.nonzero = true, .channel_wise = true}), plain);
  expect_the_same_from_a_view(ThresholdIntensity({.threshold = 100}), plain);
  expect_the_same_from_a_view(RandScaleIntensity({.factors = 1}),
                              [](const auto& op, Sample& s) { op.apply(s, {.apply = true, .factor = .3}); });
  expect_the_same_from_a_view(RandShiftIntensity({.offsets = 1}),
                              [](const auto& op, Sample& s) { op.apply(s, {.apply = true, .offset = .3}); });
  expect_the_same_from_a_view(AdjustContrast({.gamma = 1.7, .invert_image = true, .retain_stats = true}), plain);
  expect_the_same_from_a_view(RandGaussianNoise(),
                              [](const auto& op, Sample& s) { op.apply(s, {.apply = true, .std = 1}, stream(4)); });
}

TEST(Intensity, The_only_owner_is_written_in_place_and_a_placed_field_where_the_sample_says) {
  Sample s = with(ramp());
  const std::byte* before = s.get("image").raw();
  RandScaleIntensity({.factors = 1}).apply(s, {.apply = true, .factor = 1});
  NormalizeIntensity().apply(s);
  EXPECT_EQ(s.get("image").raw(), before);
  CountingPlace place;
  s.set_output_place(&place);
  RandScaleIntensity({.factors = 1}).apply(s, {.apply = true, .factor = 1});
  EXPECT_EQ(place.outputs, 1);
  EXPECT_EQ(s.get("image").raw(), place.last.raw());
}

TEST(Intensity, Refuses_bad_options_naming_them) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(says(message_of([&] { ScaleIntensity({.minv = nan}); }), {"ScaleIntensity", "minv"}));
  EXPECT_TRUE(says(message_of([&] { NormalizeIntensity({.divisor = {inf}}); }), {"NormalizeIntensity", "divisor"}));
  EXPECT_TRUE(says(message_of([&] { ThresholdIntensity({.threshold = nan}); }), {"ThresholdIntensity", "threshold"}));
  EXPECT_TRUE(says(message_of([&] { RandScaleIntensity({.factors = {1, 0}}); }), {"RandScaleIntensity", "factors"}));
  EXPECT_TRUE(says(message_of([&] { RandShiftIntensity({.offsets = inf}); }), {"RandShiftIntensity", "offsets"}));
  EXPECT_TRUE(says(message_of([&] { RandShiftIntensity({.offsets = 1, .prob = 2}); }), {"prob"}));
  EXPECT_TRUE(says(message_of([&] { RandGaussianNoise({.std = -1}); }), {"RandGaussianNoise", "std"}));
  EXPECT_TRUE(says(message_of([&] { RandGaussianNoise({.mean = nan}); }), {"mean"}));
  EXPECT_TRUE(says(message_of([&] { AdjustContrast({.gamma = 0}); }), {"AdjustContrast", "gamma"}));
  EXPECT_TRUE(says(message_of([&] { RandAdjustContrast({.gamma = 1}); }), {"RandAdjustContrast", "gamma"}));
}

TEST(Intensity, Describes_every_option) {
  EXPECT_EQ(RandGaussianNoise({.keys = "image", .std = .5}).describe(),
            R"(keys=["image"], prob=0.1, mean=0, std=0.5, sample_std=true, dtype="f32")");
  EXPECT_EQ(RandScaleIntensity({.factors = .1}).describe(),
            R"(keys="all", factors=[-0.1, 0.1], prob=0.1, channel_wise=false, dtype="f32")");
  EXPECT_EQ(ScaleIntensity().describe(), R"(keys="all", minv=0, maxv=1, factor=null, channel_wise=false, dtype="f32")");
}

}  // namespace
}  // namespace headrace
