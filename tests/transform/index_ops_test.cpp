// Crops, pads, turns and mirrors: values against MONAI's, world positions, views, draws, errors.
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/rand_spatial_crop.hpp>
#include <headrace/transform/rotate90.hpp>
#include <headrace/transform/spatial_crop.hpp>
#include <headrace/transform/spatial_pad.hpp>
#include <map>

#include "transform/ops_support.hpp"
#include "transform/spatial_support.hpp"

namespace headrace {
namespace {

using namespace test;

Sample ramp(std::int64_t rows = 4, std::int64_t columns = 4) {
  return sample_of(counting<float>({1, rows, columns}), Affine::identity());
}
template <class Op>
Sample applied(const Op& op, Sample s) {
  const SampleSpec promised = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.spec(), promised) << Op::name;
  return s;
}
std::vector<float> voxels(const Sample& s) { return values_of<float>(s.get("image")); }
using Floats = std::vector<float>;
std::array<double, 2> origin(const Sample& s) { return {s.affine("image")(0, 3), s.affine("image")(1, 3)}; }
using Point = std::array<double, 2>;

TEST(SpatialCrop, Gives_golden_H1_and_cuts_at_the_ends) {
  const Sample s = applied(SpatialCrop({.roi_center = {3, 3}, .roi_size = {3, 4}}), ramp());
  EXPECT_EQ(voxels(s), (Floats{9, 10, 11, 13, 14, 15}));
  EXPECT_EQ(origin(s), (Point{2, 1}));
  EXPECT_EQ(voxels(applied(SpatialCrop({.roi_start = {-2, 1}, .roi_end = {1, 9}}), ramp())), (Floats{1, 2, 3}));
  EXPECT_EQ(voxels(applied(SpatialCrop({.roi_start = 1, .roi_end = 3}), ramp())), (Floats{5, 6, 9, 10}));
  // The window is shifted at the low end, as MONAI shifts it.
  EXPECT_EQ(voxels(applied(SpatialCrop({.roi_center = {0, 0}, .roi_size = 2}), ramp())), (Floats{0, 1, 4, 5}));
}

TEST(SpatialCrop, Refuses_what_is_no_box) {
  EXPECT_TRUE(says(message_of([] { SpatialCrop({.roi_center = 1}); }), {"SpatialCrop", "roi_center with roi_size"}));
  EXPECT_TRUE(says(message_of([] { SpatialCrop({.roi_size = 1, .roi_start = 1, .roi_end = 2}); }), {"SpatialCrop"}));
  Sample s = ramp();
  EXPECT_TRUE(says(message_of([&] { SpatialCrop({.roi_start = 4, .roi_end = 9}).apply(s); }), {"no voxel", "image"}));
  EXPECT_TRUE(says(message_of([&] {
                     SpatialCrop({.roi_start = {0, 0, 0}, .roi_end = 2}).apply(s);
                   }),
                   {"roi_start", "2 spatial"}));
}

TEST(CenterSpatialCrop, Gives_golden_H2_and_the_starts_of_odd_sizes) {
  const Sample s = applied(CenterSpatialCrop({.roi_size = {3, 2}}), ramp());
  EXPECT_EQ(voxels(s), (Floats{5, 6, 9, 10, 13, 14}));
  EXPECT_EQ(origin(s), (Point{1, 1}));
  const std::map<std::pair<std::int64_t, std::int64_t>, double> starts{{{4, 1}, 2}, {{4, 2}, 1}, {{4, 3}, 1},
                                                                       {{5, 4}, 0}, {{5, 3}, 1}, {{5, 2}, 1}};
  for (const auto& [sizes, start] : starts)
    EXPECT_EQ(origin(applied(CenterSpatialCrop({.roi_size = {sizes.second, 0}}), ramp(sizes.first, 3)))[0], start);
  EXPECT_EQ(applied(CenterSpatialCrop({.roi_size = 9}), ramp()).get("image").shape(), (Shape{1, 4, 4}));
}

TEST(RandSpatialCrop, Every_place_and_size_is_possible_and_nothing_else) {
  const RandSpatialCrop op({.roi_size = {2, 3}, .max_roi_size = {4, 4}, .random_size = true});
  Sample s = ramp(5, 4);
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Rng rng = stream(seed);
    const auto plan = op.plan(s, rng);
    EXPECT_EQ(rng.position(), 12u);
    Sample patch = s;
    op.apply(patch, plan);
    EXPECT_EQ(patch.get("image").shape(), (Shape{1, plan.size[0], plan.size[1]}));
    EXPECT_EQ(voxels(patch)[0], static_cast<float>(plan.start[0] * 4 + plan.start[1]));
    EXPECT_EQ(origin(patch), (Point{static_cast<double>(plan.start[0]), static_cast<double>(plan.start[1])}));
    ++seen[plan.start.str() + plan.size.str()];
  }
  EXPECT_EQ(seen.size(), (4u + 3 + 2) * (2 + 1));  // rows 2, 3, 4 of 5; columns 3, 4 of 4
  EXPECT_EQ(op.infer(s.spec()).at("image").shape, (Shape{1, unknown, unknown}));
}

TEST(RandSpatialCrop, Fixed_sizes_middles_and_samples) {
  Sample s = ramp(5, 4);
  Rng rng = stream(1);
  const RandSpatialCrop middle({.roi_size = {3, 0}, .random_center = false});
  EXPECT_EQ(middle.plan(s, rng).start, (Shape{1, 0}));
  EXPECT_EQ(rng.position(), 12u);
  EXPECT_EQ(middle.infer(s.spec()).at("image").shape, (Shape{1, 3, 4}));
  EXPECT_EQ(RandSpatialCropSamples({.roi_size = 2, .num_samples = 7}).count(), 7u);
  EXPECT_TRUE(says(message_of([] { RandSpatialCropSamples({.roi_size = 2, .num_samples = 0}); }), {"num_samples"}));
  EXPECT_TRUE(says(message_of([&] { RandSpatialCrop({.roi_size = 6}).plan(s, rng); }), {"larger", "6"}));
  EXPECT_EQ(RandSpatialCrop({.roi_size = 6, .allow_smaller = true}).plan(s, rng).size, (Shape{5, 4}));
  s.set("label", Tensor::zeros(DType::u8, {1, 4, 4}));
  EXPECT_TRUE(says(message_of([&] { middle.plan(s, rng); }), {"label", "one crop cannot serve both"}));
}

TEST(SpatialPad, Gives_goldens_H4_and_H6) {
  const auto column = [](const SpatialPad& op) {
    const Sample s = applied(op, ramp());
    const Tensor t = s.get("image").narrow(2, 0, 1).contiguous();
    return values_of<float>(t);
  };
  EXPECT_EQ(column(SpatialPad({.spatial_size = {6, 4}, .mode = PadMode::reflect})), (Floats{4, 0, 4, 8, 12, 8}));
  EXPECT_EQ(column(SpatialPad({.spatial_size = {14, 4}, .mode = PadMode::wrap})),
            (Floats{12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0}));
  EXPECT_EQ(column(SpatialPad({.spatial_size = {6, 4}, .value = 7})), (Floats{7, 0, 4, 8, 12, 7}));
  EXPECT_EQ(column(SpatialPad({.spatial_size = {7, 4}, .mode = PadMode::edge})), (Floats{0, 0, 4, 8, 12, 12, 12}));
  EXPECT_EQ(column(SpatialPad({.spatial_size = {7, 4}, .mode = PadMode::symmetric})), (Floats{0, 0, 4, 8, 12, 12, 8}));
  EXPECT_EQ(column(SpatialPad({.spatial_size = {6, 2}, .method = PadMethod::end})), (Floats{0, 4, 8, 12, 0, 0}));
  const Sample divisible = applied(DivisiblePad({.k = 3}), ramp());
  EXPECT_EQ(divisible.get("image").shape(), (Shape{1, 6, 6}));
  EXPECT_EQ(origin(divisible), (Point{-1, -1}));
  const Sample border = applied(BorderPad({.spatial_border = {1, 2, 3, 4}}), ramp());
  EXPECT_EQ(border.get("image").shape(), (Shape{1, 7, 11}));
  EXPECT_EQ(origin(border), (Point{-1, -3}));
}

// Every mode against its definition, in three dimensions, from views, and for every type.
TEST(SpatialPad, Follows_the_definition_from_any_layout) {
  Dice dice(5);
  const auto expected = [](std::int64_t i, std::int64_t n, PadMode mode) -> std::int64_t {
    while (i < 0 || i >= n) {
      if (mode == PadMode::constant) return -1;
      if (mode == PadMode::edge) return i < 0 ? 0 : n - 1;
      if (mode == PadMode::wrap) i += i < 0 ? n : -n;
      if (mode == PadMode::reflect) i = i < 0 ? -i : 2 * (n - 1) - i;
      if (mode == PadMode::symmetric) i = i < 0 ? -i - 1 : 2 * n - 1 - i;
    }
    return i;
  };
  for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric, PadMode::wrap})
    for (const DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64}) {
      const Tensor image = counting<float>({2, 5, 4, 6}).to(dtype).permute({0, 3, 1, 2}).flip({1, 3});  // 6 x 5 x 4
      Sample s = sample_of(image, Affine::identity());
      const double value = mode == PadMode::constant ? 3 : 0;
      const Sample p = applied(BorderPad({.spatial_border = {2, 3, 0, 4, 1, 0}, .mode = mode, .value = value}), s);
      const Tensor t = p.get("image");
      ASSERT_EQ(t.shape(), (Shape{2, 11, 9, 5}));
      for (std::int64_t c = 0; c < 2; ++c)
        for (std::int64_t x = 0; x < 11; ++x)
          for (std::int64_t y = 0; y < 9; ++y)
            for (std::int64_t z = 0; z < 5; ++z) {
              const std::int64_t i = expected(x - 2, 6, mode), j = expected(y, 5, mode), k = expected(z - 1, 4, mode);
              const double want = i < 0 || j < 0 || k < 0 ? value : image.at({c, i, j, k});
              ASSERT_EQ(t.at({c, x, y, z}), want) << static_cast<int>(mode) << " " << x << " " << y << " " << z;
            }
    }
}

TEST(SpatialPad, Refuses_what_it_cannot_do_and_leaves_what_it_need_not_touch) {
  Sample s = ramp();
  EXPECT_TRUE(says(message_of([&] { SpatialPad({.spatial_size = 12, .mode = PadMode::reflect}).apply(s); }),
                   {"SpatialPad", "reflect", "at most 3", "image"}));
  EXPECT_TRUE(says(message_of([] { SpatialPad({.spatial_size = 12, .mode = PadMode::edge, .value = 1}); }), {"value"}));
  EXPECT_TRUE(says(message_of([] { BorderPad({.spatial_border = -1}); }), {"spatial_border"}));
  EXPECT_TRUE(says(message_of([&] { BorderPad({.spatial_border = {1, 2, 3}}).apply(s); }), {"4 numbers"}));
  EXPECT_TRUE(says(message_of([&] { DivisiblePad({.k = {1, 2, 3}}).apply(s); }), {"DivisiblePad", "k"}));
  const std::byte* before = s.get("image").raw();
  SpatialPad({.spatial_size = {3, 0}}).apply(s);
  DivisiblePad({.k = {2, 0}}).apply(s);
  EXPECT_EQ(s.get("image").raw(), before);
  EXPECT_EQ(parse_pad_mode("replicate"), PadMode::edge);
  EXPECT_EQ(parse_pad_mode("wrap"), PadMode::wrap);
  EXPECT_TRUE(says(message_of([] { parse_pad_mode("mirror"); }), {"mirror", "reflect"}));
}

TEST(Rotate90, Gives_golden_H22_and_turns_back) {
  const Sample s = applied(Rotate90(), ramp());
  EXPECT_EQ(voxels(s), (Floats{3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12}));
  Affine x;
  x(0, 0) = 0, x(0, 1) = 1, x(1, 0) = -1, x(1, 1) = 0, x(1, 3) = 3;
  EXPECT_EQ(s.affine("image"), x);
  for (int k = -5; k <= 5; ++k) {
    const Sample there = applied(Rotate90({.k = k, .spatial_axes = {1, 0}}), ramp(3, 5));
    const Sample back = applied(Rotate90({.k = k}), there);
    EXPECT_EQ(voxels(back), voxels(ramp(3, 5)));
    EXPECT_EQ(back.affine("image"), Affine::identity());
  }
}

TEST(Rotate90, Voxels_keep_their_world_positions_and_are_views) {
  Dice dice(21);
  for (int k = 0; k < 4; ++k)
    for (const std::array<int, 2>& axes : {std::array{0, 1}, std::array{2, 0}, std::array{-1, -2}}) {
      const Affine affine = random_affine(dice, 3, true);
      const Tensor image = world_image(affine, {3, 4, 5});
      const Sample s = applied(Rotate90({.k = k, .spatial_axes = axes}), sample_of(image, affine));
      EXPECT_TRUE(s.get("image").storage().same_block(image.storage()));
      EXPECT_EQ(voxels_at_home(s, "image"), 60);
    }
  const Sample mirrored = applied(Flip({.spatial_axis = {0, -1}}),
                                  sample_of(world_image(Affine::identity(), {3, 4, 5}), Affine::identity()));
  EXPECT_EQ(voxels_at_home(mirrored, "image"), 60);
}

TEST(RandRotate90, Turns_are_alike_and_draws_do_not_depend_on_the_coin) {
  const Sample s = ramp();
  std::map<int, int> seen;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng = stream(seed);
    ++seen[RandRotate90({.prob = .5}).plan(s, rng).k];
    EXPECT_EQ(rng.position(), 4u);
  }
  EXPECT_NEAR(seen[0], 1500, 150);
  for (const int k : {1, 2, 3}) EXPECT_NEAR(seen[k], 500, 100);
  EXPECT_EQ(RandRotate90().infer(ramp(3, 3).spec()).at("image").shape, (Shape{1, 3, 3}));
  EXPECT_EQ(RandRotate90().infer(ramp(3, 4).spec()).at("image").shape, (Shape{1, unknown, unknown}));
  EXPECT_TRUE(says(message_of([] { RandRotate90({.max_k = 0}); }), {"max_k"}));
  EXPECT_TRUE(says(message_of([] { Rotate90({.spatial_axes = {1, 1}}); }), {"two different axes"}));
  Sample flat = ramp();
  EXPECT_TRUE(says(message_of([&] {
                     Rotate90({.spatial_axes = {0, 2}}).apply(flat);
                   }),
                   {"Rotate90", "2 spatial axes"}));
}

TEST(RandAxisFlip, One_axis_each_alike) {
  const Sample s = sample_of(counting<float>({1, 2, 2, 2}), Affine::identity());
  std::map<int, int> seen;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng = stream(seed);
    const auto plan = RandAxisFlip({.prob = .5}).plan(s, rng);
    ++seen[plan.axis];
    EXPECT_EQ(rng.position(), 4u);
  }
  EXPECT_NEAR(seen[-1], 1500, 150);
  for (const int axis : {0, 1, 2}) EXPECT_NEAR(seen[axis], 500, 100);
  Sample a = s, b = s;
  RandAxisFlip().apply(a, {.axis = 1});
  Flip({.spatial_axis = 1}).apply(b);
  EXPECT_TRUE(a.get("image").equal(b.get("image")));
  EXPECT_EQ(a.affine("image"), b.affine("image"));
  EXPECT_TRUE(says(message_of([&] { Flip({.spatial_axis = {0, -3}}).apply(a); }), {"Flip", "each once"}));
}

}  // namespace
}  // namespace headrace
