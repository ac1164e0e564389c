// Resize, Zoom, RandZoom, RandSimulateLowResolution: values against MONAI's, a plain reference, types, geometry, errors.
#include <cmath>
#include <headrace/transform/resize.hpp>

#include "transform/ops_support.hpp"
#include "transform/spatial_support.hpp"

namespace headrace {
namespace {

using namespace test;
using Floats = std::vector<float>;

Sample ramp(DType dtype = DType::f32) { return sample_of(counting<float>({1, 4, 4}).to(dtype), Affine::identity()); }
Sample cube() { return sample_of(counting<float>({1, 3, 3, 3}), Affine::identity()); }
template <class Op>
Sample applied(const Op& op, Sample s) {
  const SampleSpec promised = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.spec(), promised) << Op::name;
  return s;
}
Floats voxels(const Sample& s) { return values_of<float>(s.get("image")); }
void expect_near(const Sample& s, std::initializer_list<double> expected, double tolerance = 1e-5) {
  const Floats v = voxels(s);
  std::size_t i = 0;
  for (const double e : expected) {
    ASSERT_LT(i, v.size());
    EXPECT_NEAR(static_cast<double>(v[i]), e, tolerance) << i;
    ++i;
  }
}
void expect_affine(const Sample& s, std::array<double, 2> diagonal, std::array<double, 2> translation) {
  for (int d = 0; d < 2; ++d) {
    EXPECT_NEAR(s.affine("image")(d, d), diagonal[static_cast<std::size_t>(d)], 1e-6);
    EXPECT_NEAR(s.affine("image")(d, 3), translation[static_cast<std::size_t>(d)], 1e-6);
  }
}

TEST(Resize, Gives_goldens_H7_to_H11) {
  const Sample area = applied(Resize({.spatial_size = {2, 3}, .mode = ResizeMode::area}), ramp());
  expect_near(area, {2.5, 3.5, 4.5, 10.5, 11.5, 12.5});
  expect_affine(area, {2, 1.333333333}, {.5, .1666666667});
  expect_near(applied(Resize({.spatial_size = {3, 2}, .mode = ResizeMode::linear}), ramp()),
              {1.166667, 3.166667, 6.5, 8.5, 11.83333, 13.83333});
  const Sample corners =
      applied(Resize({.spatial_size = {3, 2}, .mode = ResizeMode::linear, .align_corners = true}), ramp());
  expect_near(corners, {0, 3, 6, 9, 12, 15});
  expect_affine(corners, {1.5, 3}, {0, 0});
  EXPECT_EQ(voxels(applied(Resize({.spatial_size = {3, 6}, .mode = ResizeMode::nearest}), ramp())),
            (Floats{0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 10, 11}));
  EXPECT_EQ(voxels(applied(Resize({.spatial_size = {3, 6}, .mode = ResizeMode::nearest_exact}), ramp())),
            (Floats{0, 1, 1, 2, 3, 3, 8, 9, 9, 10, 11, 11, 12, 13, 13, 14, 15, 15}));
}

TEST(Resize, The_longest_axis_and_sizes_that_stay) {
  const Sample s = sample_of(counting<float>({2, 8, 6, 3}), Affine::identity());
  EXPECT_EQ(applied(Resize({.spatial_size = 4, .size_mode = SizeMode::longest}), s).get("image").shape(),
            (Shape{2, 4, 3, 2}));
  EXPECT_EQ(applied(Resize({.spatial_size = {0, 12, -1}}), s).get("image").shape(), (Shape{2, 8, 12, 3}));
  const Sample same = applied(Resize({.spatial_size = 0}), s);
  EXPECT_EQ(same.get("image").raw(), s.get("image").raw());
  Sample thin = sample_of(counting<float>({1, 1, 20}), Affine::identity());
  EXPECT_TRUE(says(message_of([&] { Resize({.spatial_size = 3, .size_mode = SizeMode::longest}).apply(thin); }),
                   {"Resize", "no voxels"}));
}

// Any rank and size, both directions, from a view, against sums in double.
TEST(Resize, Equals_a_plain_separable_sum) {
  Dice dice(7);
  for (int round = 0; round < 60; ++round) {
    const int rank = 1 + round % 3;
    Shape shape{2}, size;
    for (int d = 0; d < rank; ++d) {
      shape.push_back(dice.between(1, 20));
      size.push_back(dice.between(1, 40));
    }
    const bool area = round % 2 == 0, corners = !area && round % 4 == 1;
    Tensor image = random_tensor(dice, DType::f32, shape);
    if (round % 5 == 0) image = image.flip({rank});
    const Sample s = applied(Resize({.spatial_size = std::vector<std::int64_t>(size.begin(), size.end()),
                                     .mode = area ? ResizeMode::area : ResizeMode::linear,
                                     .align_corners = corners}),
                             sample_of(image, Affine::identity()));
    // Weight of input i for output o along one axis.
    const auto weight = [&](std::int64_t n, std::int64_t m, std::int64_t o, std::int64_t i) -> double {
      const double nd = static_cast<double>(n), md = static_cast<double>(m), od = static_cast<double>(o),
                   id = static_cast<double>(i);
      if (area) {
        const double a = std::floor(od * nd / md + 1e-12), b = std::ceil((od + 1) * nd / md - 1e-12);
        return id >= a && id < b ? 1 / (b - a) : 0;
      }
      double x = corners ? (m == 1 ? 0 : od * (nd - 1) / (md - 1)) : std::max((od + .5) * nd / md - .5, 0.0);
      x = std::min(x, nd - 1);
      return std::max(0.0, 1 - std::fabs(x - id));
    };
    const Tensor got = s.get("image");
    Shape in3{1, 1, 1}, out3{1, 1, 1};
    for (int d = 0; d < rank; ++d) in3[3 - rank + d] = shape[d + 1], out3[3 - rank + d] = size[d];
    const Tensor flat = image.contiguous();
    const float* in = flat.data<float>();
    const Floats v = values_of<float>(got);
    std::size_t at = 0;
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t x = 0; x < out3[0]; ++x)
        for (std::int64_t y = 0; y < out3[1]; ++y)
          for (std::int64_t z = 0; z < out3[2]; ++z, ++at) {
            if (at % 7 != 0) continue;
            double sum = 0;
            for (std::int64_t i = 0; i < in3[0]; ++i)
              for (std::int64_t j = 0; j < in3[1]; ++j)
                for (std::int64_t k = 0; k < in3[2]; ++k) {
                  const double w =
                      weight(in3[0], out3[0], x, i) * weight(in3[1], out3[1], y, j) * weight(in3[2], out3[2], z, k);
                  if (w != 0) sum += w * static_cast<double>(in[((c * in3[0] + i) * in3[1] + j) * in3[2] + k]);
                }
            ASSERT_NEAR(static_cast<double>(v[at]), sum, 3e-6 * (1 + std::fabs(sum)))
                << shape.str() << size.str() << round;
          }
  }
}

TEST(Resize, Types_stay) {
  for (const DType t : {DType::u8, DType::i16, DType::i32, DType::f16, DType::f32, DType::f64}) {
    EXPECT_EQ(applied(Resize({.spatial_size = 7}), ramp(t)).get("image").dtype(), t);
    EXPECT_EQ(applied(Resize({.spatial_size = 3, .mode = ResizeMode::linear}), ramp(t)).get("image").dtype(), t);
  }
  // Labels are picked, not mixed; asked to, they are rounded half to even.
  for (const float v :
       values_of<float>(applied(Resize({.spatial_size = 9}), ramp(DType::u8)).get("image").to(DType::f32)))
    EXPECT_EQ(v, std::floor(v));
  const Sample s = sample_of(Tensor::from<std::int16_t>({1, 2, 4, 5}, {1, 4}), Affine::identity());
  EXPECT_EQ(values_of<std::int16_t>(applied(Resize({.spatial_size = 2, .mode = ResizeMode::area}), s).get("image")),
            (std::vector<std::int16_t>{2, 4}));
}

TEST(Zoom, Gives_goldens_H14_to_H17) {
  const Sample out = applied(Zoom({.zoom = .75}), ramp());
  expect_near(out, {2.5, 3.5, 4.5, 4.5, 6.5, 7.5, 8.5, 8.5, 10.5, 11.5, 12.5, 12.5, 10.5, 11.5, 12.5, 12.5});
  expect_affine(out, {1.333333333, 1.333333333}, {.1666666667, .1666666667});
  const Sample in = applied(Zoom({.zoom = 1.5, .mode = ResizeMode::linear}), ramp());
  expect_near(in, {2.5, 3.166667, 3.833333, 4.5, 2.5 + 2.666667});
  expect_affine(in, {.6666666667, .6666666667}, {.5, .5});
  const Sample free = applied(Zoom({.zoom = {1.5, .5}, .keep_size = false}), ramp());
  expect_near(free, {.5, 2.5, 2.5, 4.5, 4.5, 6.5, 8.5, 10.5, 10.5, 12.5, 12.5, 14.5});
  expect_near(applied(Zoom({.zoom = .5, .padding_mode = PadMode::constant}), ramp()),
              {0, 0, 0, 0, 0, 2.5, 4.5, 0, 0, 10.5, 12.5, 0, 0, 0, 0, 0});
  // A guard against 0.29 * 100 = 28.999...
  EXPECT_EQ(applied(Zoom({.zoom = .29, .keep_size = false}), sample_of(counting<float>({1, 100}), Affine::identity()))
                .get("image")
                .shape(),
            (Shape{1, 29}));
}

TEST(RandZoom, Draws_one_factor_per_entry_whatever_the_coin) {
  for (const double prob : {0.0, 1.0}) {
    Rng rng = stream(1);
    const auto plan = RandZoom({.prob = prob, .min_zoom = {.8, .9}, .max_zoom = {1.1, 1.2}}).plan(cube(), rng);
    EXPECT_EQ(rng.position(), 6u);
    EXPECT_GE(plan.zoom[0], .8);
    EXPECT_LT(plan.zoom[1], 1.2);
    EXPECT_EQ(plan.zoom[2], 1);
  }
  Sample a = cube(), b = cube();
  RandZoom({.min_zoom = {.5, 1}, .max_zoom = {2, 2}}).apply(a, {.apply = true, .zoom = {1.5, .7, 1}});
  Zoom({.zoom = {1.5, 1.5, .7}}).apply(b);
  EXPECT_TRUE(a.get("image").equal(b.get("image")));
  EXPECT_EQ(a.affine("image"), b.affine("image"));
  Sample flat = ramp();
  EXPECT_TRUE(says(message_of([&] {
                     RandZoom({.min_zoom = {1, 1, 1}, .max_zoom = {1, 1, 1}}).apply(flat, {});
                   }),
                   {"3 entries", "2 spatial"}));
}

TEST(RandSimulateLowResolution, Gives_golden_H46_and_keeps_geometry_and_type) {
  const RandSimulateLowResolution op;
  Sample s = ramp();
  op.apply(s, {.apply = true, .zoom = .5});
  expect_near(s, {0, .5, 1.5, 2, 2, 2.5, 3.5, 4, 6, 6.5, 7.5, 8, 8, 8.5, 9.5, 10});
  EXPECT_EQ(s.affine("image"), Affine::identity());
  Rng rng = stream(1);
  EXPECT_GE(op.plan(s, rng).zoom, .5);
  EXPECT_EQ(rng.position(), 4u);
  Sample label = ramp(DType::u8);
  op.apply(label, {.apply = true, .zoom = .5});
  EXPECT_EQ(label.get("image").dtype(), DType::u8);
  Sample skipped = ramp();
  const std::byte* before = skipped.get("image").raw();
  op.apply(skipped, {});
  EXPECT_EQ(skipped.get("image").raw(), before);
}

TEST(ResizeFamily, Refuses_bad_options_naming_them) {
  EXPECT_TRUE(says(message_of([] { Resize({.spatial_size = 2, .mode = ResizeMode::area, .align_corners = true}); }),
                   {"Resize", "align_corners"}));
  EXPECT_TRUE(says(message_of([] { Resize({}); }), {"Resize", "spatial_size"}));
  EXPECT_TRUE(says(message_of([] { Resize({.spatial_size = {2, 2}, .size_mode = SizeMode::longest}); }), {"longest"}));
  EXPECT_TRUE(says(message_of([] { Zoom({.zoom = 0.0}); }), {"Zoom", "zoom"}));
  EXPECT_TRUE(says(message_of([] { RandZoom({.min_zoom = {2}, .max_zoom = {1}}); }), {"RandZoom", "min_zoom"}));
  EXPECT_TRUE(says(message_of([] { RandZoom({.min_zoom = {1, 1}, .max_zoom = {1}}); }), {"RandZoom", "as many"}));
  EXPECT_TRUE(says(message_of([] { RandSimulateLowResolution({.zoom_range = {0, 1}}); }), {"zoom_range"}));
  Sample s = ramp();
  EXPECT_TRUE(says(message_of([&] { Zoom({.zoom = .1}).apply(s); }), {"Zoom", "no voxels"}));
  EXPECT_TRUE(
      says(message_of([&] { Zoom({.zoom = .25, .padding_mode = PadMode::reflect}).apply(s); }), {"Zoom", "reflect"}));
  EXPECT_EQ(parse_resize_mode("trilinear"), ResizeMode::linear);
  EXPECT_TRUE(says(message_of([] { parse_resize_mode("cubic"); }), {"cubic", "nearest_exact"}));
}

}  // namespace
}  // namespace headrace
