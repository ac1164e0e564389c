#include <algorithm>
#include <cmath>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/scale_intensity_range.hpp>
#include <headrace/transform/scale_intensity_range_percentiles.hpp>
#include <limits>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

const double nan = std::numeric_limits<double>::quiet_NaN();
const double inf = std::numeric_limits<double>::infinity();

Sample with(Tensor image) {
  Sample s;
  s.set("image", std::move(image));
  s.set_path("image", "/data/case.nii.gz");
  return s;
}

Tensor floats(std::initializer_list<float> v) { return Tensor::from(v, Shape{1, static_cast<std::int64_t>(v.size())}); }

std::vector<float> scaled(Tensor image, ScaleIntensityRangeOptions options) {
  Sample s = with(std::move(image));
  ScaleIntensityRange(std::move(options)).apply(s);
  return values_of<float>(s.get("image"));
}

TEST(ScaleIntensityRange, Gives_golden_G22) {
  std::vector<std::int16_t> input;
  for (int v = -200; v <= 350; v += 50) input.push_back(static_cast<std::int16_t>(v));
  const auto y = scaled(Tensor::from(std::span<const std::int16_t>(input), Shape{1, 12}),
                        {.a = {-57, 164}, .b = {0, 1}, .clip = true});
  const double expected[] = {0, 0, 0, .031674, .257919, .484163, .710407, .936652, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(static_cast<double>(y[i]), expected[i], 6e-7) << i;
}

TEST(ScaleIntensityRange, Computes_in_float_in_the_order_stated) {
  std::vector<float> x(1000);
  Rng rng = stream(1);
  for (float& v : x) v = static_cast<float>(rng.uniform(-1000, 1000));
  const auto y =
      scaled(Tensor::from(std::span<const float>(x), Shape{1, 10, 100}), {.a = {-57.3, 164.7}, .b = {-0.1, 0.7}});
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile float v = x[i] - static_cast<float>(-57.3);
    v = v / static_cast<float>(164.7 - -57.3);
    v = v * static_cast<float>(0.7 - -0.1);
    v = v + static_cast<float>(-0.1);
    ASSERT_EQ(y[i], v) << i;
  }
}

TEST(ScaleIntensityRange, NaN_stays_and_infinities_clip) {
  const auto y = scaled(floats({static_cast<float>(nan), static_cast<float>(inf), static_cast<float>(-inf)}),
                        {.a = {0, 10}, .b = {2, 3}, .clip = true});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 3.f);
  EXPECT_EQ(y[2], 2.f);
}

TEST(ScaleIntensityRange, One_side_of_b_clips_but_does_not_map) {
  EXPECT_EQ(scaled(floats({-5, 0, 5, 20}), {.a = {0, 10}, .b = {.min = 0.25}, .clip = true}),
            (std::vector<float>{.25f, .25f, .5f, 2}));
  EXPECT_EQ(scaled(floats({-5, 0, 5, 20}), {.a = {0, 10}, .b = {.max = 0.25}, .clip = true}),
            (std::vector<float>{-.5f, 0, .25f, .25f}));
  EXPECT_EQ(scaled(floats({-5, 0, 5, 20}), {.a = {0, 10}, .b = {.min = 0.25}}), (std::vector<float>{-.5f, 0, .5f, 2}));
  EXPECT_EQ(scaled(floats({-5, 0, 5, 20}), {.a = {0, 10}}), (std::vector<float>{-.5f, 0, .5f, 2}));
}

TEST(ScaleIntensityRange, A_point_range_subtracts_does_not_clip_and_keeps_the_type) {
  EXPECT_EQ(scaled(floats({-5, 5, 20}), {.a = {5, 5}, .b = {0, 1}, .clip = true}), (std::vector<float>{-10, 0, 15}));
  EXPECT_EQ(scaled(floats({-5, 5, 20}), {.a = {5, 5}, .b = {2, 3}}), (std::vector<float>{-8, 2, 17}));
  EXPECT_EQ(scaled(floats({-5, 5, 20}), {.a = {5, 5}}), (std::vector<float>{-10, 0, 15}));
  const ScaleIntensityRange op({.a = {5, 5}, .b = {0, 1}});
  Sample s = with(Tensor::from<std::int16_t>({1, 7}, Shape{1, 2}));
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(values_of<std::int16_t>(s.get("image")), (std::vector<std::int16_t>{-4, 2}));
  EXPECT_EQ(spec, s.spec());
}

TEST(ScaleIntensityRange, Integer_targets_truncate_and_saturate) {
  Sample s = with(floats({0, .99f, 1.9f, -1.9f, 340, -3, static_cast<float>(nan)}));
  ScaleIntensityRange({.a = {0, 1}, .dtype = DType::u8}).apply(s);
  EXPECT_EQ(values_of<std::uint8_t>(s.get("image")), (std::vector<std::uint8_t>{0, 0, 1, 0, 255, 0, 0}));
  Sample kept = with(Tensor::from<std::int16_t>({0, 50, 99, 100}, Shape{1, 4}));
  const ScaleIntensityRange keep({.a = {0, 100}, .b = {0, 1}, .dtype = std::nullopt});
  keep.apply(kept);
  EXPECT_EQ(values_of<std::int16_t>(kept.get("image")), (std::vector<std::int16_t>{0, 0, 0, 1}));
}

TEST(ScaleIntensityRange, Every_input_type_is_taken) {
  for (const DType t : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64, DType::i64,
                        DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Sample s = with(floats({0, 1, 50, 100}).to(t));
    ScaleIntensityRange({.a = {0, 100}, .b = {0, 2}}).apply(s);
    EXPECT_EQ(s.get("image").dtype(), DType::f32);
    EXPECT_EQ(values_of<float>(s.get("image")), (std::vector<float>{0, .01f * 2, 1, 2})) << name_of(t);
  }
}

TEST(ScaleIntensityRange, Float64_is_computed_in_float64) {
  Sample s = with(Tensor::from<double>({0.1, 1e-3}, Shape{1, 2}));
  ScaleIntensityRange({.a = {0, 3}, .dtype = std::nullopt}).apply(s);
  EXPECT_EQ(values_of<double>(s.get("image")), (std::vector<double>{0.1 / 3, 1e-3 / 3}));
}

TEST(ScaleIntensityRange, Strided_input_gives_the_same_as_contiguous) {
  const Tensor whole = counting<float>({2, 5, 6, 7});
  const Tensor view = whole.flip({1, 3}).permute({0, 3, 1, 2}).narrow(2, 1, 3);
  for (const DType t : {DType::f32, DType::f64, DType::i16}) {
    Sample a = with(view.to(t)), b = with(view.clone().to(t));
    const ScaleIntensityRange op({.a = {3, 200}, .b = {-1, 1}, .clip = true, .dtype = t});
    op.apply(a);
    op.apply(b);
    EXPECT_TRUE(a.get("image").equal(b.get("image"))) << name_of(t);
  }
  EXPECT_TRUE(whole.equal(counting<float>({2, 5, 6, 7})));
}

TEST(ScaleIntensityRange, Writes_in_place_only_what_nobody_else_holds) {
  const ScaleIntensityRange op({.a = {0, 2}});
  Sample own = with(floats({1, 2}));
  const std::byte* before = own.get("image").raw();
  op.apply(own);
  EXPECT_EQ(own.get("image").raw(), before);

  const Tensor cached = floats({1, 2});
  Sample shared = with(cached);
  op.apply(shared);
  EXPECT_FALSE(shared.get("image").storage().same_block(cached.storage()));
  EXPECT_EQ(values_of<float>(cached), (std::vector<float>{1, 2}));

  Sample frozen = with(floats({1, 2}));
  frozen.freeze();
  const std::byte* read_only = frozen.get("image").raw();
  op.apply(frozen);
  EXPECT_NE(frozen.get("image").raw(), read_only);
}

TEST(ScaleIntensityRange, Puts_its_result_where_the_sample_says) {
  CountingPlace place;
  Sample s = with(floats({1, 2, 4}));
  s.set_output_place(&place);
  const ScaleIntensityRange op({.a = {0, 4}});
  op.apply(s);
  EXPECT_EQ(op.effect("image"), Effect::rewrite);
  EXPECT_EQ(place.outputs, 1);
  EXPECT_EQ(s.get("image").raw(), place.last.raw());
  EXPECT_EQ(values_of<float>(place.last), (std::vector<float>{.25f, .5f, 1}));
}

TEST(ScaleIntensityRange, Only_named_keys_change) {
  Sample s = with(floats({1, 2}));
  s.set("other", floats({1, 2}));
  const ScaleIntensityRange op({.keys = "image", .a = {0, 2}});
  op.apply(s);
  EXPECT_EQ(values_of<float>(s.get("other")), (std::vector<float>{1, 2}));
  EXPECT_EQ(op.effect("other"), Effect::none);
  EXPECT_EQ(s.path("image"), "/data/case.nii.gz");
}

TEST(ScaleIntensityRange, MONAI_s_four_names_are_the_same_op) {
  const ScaleIntensityRange pairs({.a = {-57, 164}, .b = {0, 1}, .clip = true});
  const ScaleIntensityRange four({.a_min = -57, .a_max = 164, .b_min = 0, .b_max = 1, .clip = true});
  EXPECT_EQ(pairs.describe(), four.describe());
}

TEST(ScaleIntensityRange, Refuses_bad_options_naming_them) {
  using Op = ScaleIntensityRange;
  EXPECT_TRUE(says(message_of([] { Op({.b = {0, 1}}); }), {"ScaleIntensityRange", "a.min"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {.min = 0}}); }), {"a.max"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {nan, 1}}); }), {"a.min", "nan"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, inf}}); }), {"a.max", "inf"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, 1}, .b = {0, 1e300}}); }), {"b.max", "1e+300"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, 1e-300}}); }), {"width"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, 1}, .clip = true}); }), {"clip"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, 1}, .b = {1, 0}, .clip = true}); }), {"clip", "b.min <= b.max"}));
  EXPECT_TRUE(says(message_of([] { Op({.a = {0, 1}, .a_min = 0}); }), {"a.min", "twice"}));
  EXPECT_NO_THROW(Op({.a = {1, 0}, .b = {1, 0}}));
}

TEST(ScaleIntensityRange, Describes_every_option) {
  EXPECT_EQ(
      ScaleIntensityRange({.keys = "image", .a = {-57, 0.1}, .b = {.max = 1}, .clip = true, .dtype = std::nullopt})
          .describe(),
      "keys=[\"image\"], a_min=-57, a_max=0.1, b_min=null, b_max=1, clip=true, dtype=null");
}

// ---- percentiles

std::pair<double, double> sorted_percentiles(std::vector<double> v, double lower, double upper) {
  std::sort(v.begin(), v.end());
  const auto at = [&](double p) {
    const double h = p / 100 * static_cast<double>(v.size() - 1);
    const auto i = static_cast<std::size_t>(std::floor(h));
    const double t = h - std::floor(h), a = v[i], b = v[std::min(i + 1, v.size() - 1)];
    return t == 0 ? a : t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
  };
  return {at(lower), at(upper)};
}

TEST(Percentiles, Equal_those_of_the_sorted_values) {
  Rng rng = stream(2);
  for (const DType t : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64, DType::i64,
                        DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (int round = 0; round < 30; ++round) {
      const auto n = static_cast<std::int64_t>(rng.below(round < 10 ? 8 : 700) + 1);
      // few different values, or many; far apart, or close together (so that high digits agree)
      const double width = round % 3 == 0 ? 3 : round % 3 == 1 ? 100 : 2e4;
      std::vector<double> v(static_cast<std::size_t>(n));
      for (double& x : v) x = rng.uniform(-width, width) + (round % 2 ? 1000 : 0);
      const Tensor values = Tensor::from(std::span<const double>(v), Shape{1, n}).to(t);
      const Tensor exact = values.to(DType::f64);
      const double lower = rng.bernoulli(0.2) ? 0 : rng.uniform(0, 100);
      const double upper = rng.bernoulli(0.2) ? 100 : rng.uniform(lower, 100);
      ASSERT_EQ(percentiles(values, lower, upper), sorted_percentiles(values_of<double>(exact), lower, upper))
          << name_of(t) << " n " << n << " p " << lower << ", " << upper;
    }
  }
}

TEST(Percentiles, Are_the_same_for_a_view) {
  const Tensor t = counting<std::int32_t>({3, 4, 5, 6});
  const Tensor view = t.flip({0, 2}).permute({3, 1, 0, 2}).narrow(0, 2, 3);
  EXPECT_EQ(percentiles(view, 12.5, 90), percentiles(view.clone(), 12.5, 90));
}

TEST(Percentiles, Order_special_values) {
  const Tensor t = Tensor::from<double>({inf, -0.0, -inf, 5e-324, 0.0, -1e308, 1e308, -5e-324, 0.0}, Shape{9});
  EXPECT_EQ(percentiles(t, 0, 100), (std::pair(-inf, inf)));
  EXPECT_EQ(percentiles(t, 12.5, 87.5), (std::pair(-1e308, 1e308)));
  EXPECT_EQ(percentiles(t, 25, 75), (std::pair(-5e-324, 5e-324)));
  EXPECT_EQ(percentiles(t, 37.5, 62.5), (std::pair(0.0, 0.0)));
  EXPECT_EQ(percentiles(Tensor::from<float>({0, 1, 2, 3, 4}, Shape{5}), 0, 99.5).second,
            0.995 * 4);  // not float32's 3.98000002
}

TEST(Percentiles, NaN_is_refused_or_left_out) {
  const Tensor t = Tensor::from<double>({1, nan, 3, -nan, 2}, Shape{5});
  EXPECT_TRUE(says(message_of([&] { percentiles(t, 0, 100); }), {"2 of 5", "NaN", "skip_nan"}));
  EXPECT_EQ(percentiles(t, 0, 50, true), (std::pair(1.0, 2.0)));
  EXPECT_TRUE(
      says(message_of([&] { percentiles(Tensor::from<double>({nan}, Shape{1}), 0, 1, true); }), {"all", "NaN"}));
  EXPECT_THROW(percentiles(Tensor::empty(DType::f32, Shape{0}), 0, 1), std::invalid_argument);
  EXPECT_THROW(percentiles(t, -1, 1, true), std::invalid_argument);
  EXPECT_THROW(percentiles(t, 0, nan, true), std::invalid_argument);
}

TEST(ScaleIntensityRangePercentiles, Gives_golden_H29) {
  const auto run = [](bool clip, bool relative) {
    Sample s = with(counting<float>({1, 4, 4}));
    ScaleIntensityRangePercentiles(
        {.lower = 10, .upper = 90, .b_min = 0, .b_max = 1, .clip = clip, .relative = relative})
        .apply(s);
    return values_of<float>(s.get("image"));
  };
  for (std::size_t i = 0; i < 16; ++i) {
    const double plain = -.125 + static_cast<double>(i) / 12;
    EXPECT_NEAR(static_cast<double>(run(false, false)[i]), plain, 1e-6);
    EXPECT_NEAR(static_cast<double>(run(true, false)[i]), std::clamp(plain, 0.0, 1.0), 1e-6);
    EXPECT_NEAR(static_cast<double>(run(false, true)[i]), static_cast<double>(i) / 15, 1e-6);
  }
}

TEST(ScaleIntensityRangePercentiles, Takes_channels_together_or_each_by_itself) {
  const Tensor t = counting<std::int16_t>({2, 10});  // 0..9 and 10..19
  Sample together = with(t), each = with(t);
  ScaleIntensityRangePercentiles({.b_min = 0, .b_max = 1}).apply(together);
  ScaleIntensityRangePercentiles({.b_min = 0, .b_max = 1, .channel_wise = true}).apply(each);
  EXPECT_EQ(together.get("image").at<float>({1, 0}), 10.f / 19);
  EXPECT_EQ(each.get("image").at<float>({1, 0}), 0.f);
  EXPECT_EQ(each.get("image").at<float>({0, 9}), 1.f);
  EXPECT_EQ(values_of<float>(each.get("image").select(0, 0)), values_of<float>(each.get("image").select(0, 1)));
}

TEST(ScaleIntensityRangePercentiles, A_constant_image_is_shifted_and_has_the_type_inferred) {
  const ScaleIntensityRangePercentiles op({.lower = 1, .upper = 99, .b_min = 2, .b_max = 3, .clip = true});
  Sample s = with(Tensor::from<std::int16_t>({7, 7, 7}, Shape{1, 3}));
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(values_of<float>(s.get("image")), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(spec, s.spec());
}

TEST(ScaleIntensityRangePercentiles, Errors_name_field_and_file_and_leave_the_image_alone) {
  Sample s = with(floats({1, static_cast<float>(nan), 2}));
  EXPECT_TRUE(
      says(message_of([&] { ScaleIntensityRangePercentiles({}).apply(s); }), {"image", "/data/case.nii.gz", "NaN"}));
  ScaleIntensityRangePercentiles({.b_min = 0, .b_max = 1, .skip_nan = true}).apply(s);
  EXPECT_EQ(s.get("image").at<float>({0, 2}), 1.f);
  EXPECT_TRUE(std::isnan(s.get("image").at<float>({0, 1})));

  Sample wide = with(Tensor::from<float>({1, 2, 0, static_cast<float>(inf)}, Shape{2, 2}));
  EXPECT_TRUE(says(message_of([&] { ScaleIntensityRangePercentiles({.channel_wise = true}).apply(wide); }),
                   {"image", "/data/case.nii.gz", "channel 1", "finite"}));
  EXPECT_EQ(wide.get("image").at<float>({0, 1}), 2.f);
}

TEST(ScaleIntensityRangePercentiles, Refuses_bad_options_naming_them) {
  using Op = ScaleIntensityRangePercentiles;
  EXPECT_TRUE(says(message_of([] { Op({.lower = -1}); }), {"ScaleIntensityRangePercentiles", "lower", "-1"}));
  EXPECT_TRUE(says(message_of([] { Op({.upper = 100.5}); }), {"upper", "100.5"}));
  EXPECT_TRUE(says(message_of([] { Op({.lower = nan}); }), {"lower", "nan"}));
  EXPECT_TRUE(says(message_of([] { Op({.lower = 60, .upper = 40}); }), {"lower", "60", "40"}));
  EXPECT_TRUE(says(message_of([] { Op({.b_min = 0, .relative = true}); }), {"relative", "b_max"}));
  EXPECT_TRUE(says(message_of([] { Op({.clip = true}); }), {"clip"}));
}

TEST(ScaleIntensityRangePercentiles, Describes_every_option) {
  EXPECT_EQ(ScaleIntensityRangePercentiles({.lower = 0.5, .b_min = 0}).describe(),
            "keys=\"all\", lower=0.5, upper=100, b_min=0, b_max=null, clip=false, relative=false, channel_wise=false, "
            "skip_nan=false, dtype=\"f32\"");
}

}  // namespace
}  // namespace headrace
