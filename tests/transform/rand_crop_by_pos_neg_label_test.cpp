#include <algorithm>
#include <cmath>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <random>
#include <set>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;
using Crop = RandCropByPosNegLabel;

// An image whose voxels say where they are, a label that says it too where it is not 0, and a third key.
Sample encoded(const Shape& spatial, double foreground, Rng& rng) {
  Shape shape{1};
  for (const std::int64_t n : spatial) shape.push_back(n);
  std::vector<std::int32_t> label(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < label.size(); ++i)
    label[i] = rng.bernoulli(foreground) ? static_cast<std::int32_t>(i) + 1 : 0;
  Sample s;
  s.set("image", counting<float>(shape), Affine::translation({5, 6, 7}) * Affine::scaling({1, 2, 3}));
  s.set_path("image", "/data/i.nii.gz");
  s.set("label", Tensor::from(std::span<const std::int32_t>(label), shape));
  s.set_path("label", "/data/l.nii.gz");
  s.set("where", counting<std::uint16_t>(shape));
  return s;
}

TEST(CropGeometry, Clamps_as_the_reference_does) {
  // hi = trunc(n + 1 - s/2) in real division, centre in [floor(s/2), hi - 1]
  for (std::int64_t n = 1; n <= 12; ++n)
    for (std::int64_t s = 1; s <= n; ++s)
      for (std::int64_t c = -2; c < n + 3; ++c) {
        const std::int64_t low = s / 2;
        auto high = static_cast<std::int64_t>(std::trunc(static_cast<double>(n) + 1 - static_cast<double>(s) / 2));
        if (high == low) ++high;
        ASSERT_EQ(clamp_centre(c, s, n), std::min(std::max(c, low), high - 1)) << n << ' ' << s << ' ' << c;
      }
  EXPECT_EQ(clamp_centre(70000, 96, 70010), 70010 - 48);  // no 16-bit steps
}

TEST(CropGeometry, Every_box_is_inside_and_every_box_can_be_reached) {
  for (std::int64_t n = 1; n <= 20; ++n)
    for (std::int64_t s = 1; s <= n; ++s) {
      std::set<std::int64_t> starts;
      for (std::int64_t c = 0; c < n; ++c) {
        const Box box = box_around({c}, {s}, {n});
        ASSERT_EQ(box.size, Shape{s});
        ASSERT_GE(box.start[0], 0);
        ASSERT_LE(box.start[0] + s, n);
        ASSERT_LE(box.start[0], c);
        ASSERT_GT(box.start[0] + s, c);
        starts.insert(box.start[0]);
      }
      ASSERT_EQ(static_cast<std::int64_t>(starts.size()), n - s + 1);
    }
}

TEST(CropGeometry, Unravel_is_C_order) {
  EXPECT_EQ(unravel((2 * 5 + 3) * 7 + 6, {4, 5, 7}), (Shape{2, 3, 6}));
  EXPECT_EQ(unravel(std::uint64_t{3} << 33, {4, std::int64_t{1} << 33}), (Shape{3, 0}));
}

// numpy's legacy generator, for comparison with values MONAI printed.
class LegacyNumpy {
 public:
  explicit LegacyNumpy(std::uint32_t seed) : engine_(seed) {}
  double rand() {
    const std::uint64_t a = engine_() >> 5, b = engine_() >> 6;
    return (static_cast<double>(a) * 67108864.0 + static_cast<double>(b)) / 9007199254740992.0;
  }
  std::uint64_t randint(std::uint64_t n) {
    if (n == 1) return 0;
    std::uint64_t mask = 1;
    while (mask < n - 1) mask = mask * 2 + 1;
    for (;;)
      if (const std::uint64_t v = engine_() & mask; v < n) return v;
  }

 private:
  std::mt19937 engine_;
};

TEST(RandCropByPosNegLabel, Gives_golden_G18_with_MONAI_s_draws) {
  LegacyNumpy check(0);
  EXPECT_EQ(check.rand(), 0.5488135039273248);

  Tensor label = Tensor::zeros(DType::u8, {1, 6, 7});
  for (const auto& [i, j] : {std::pair(0, 0), std::pair(3, 4), std::pair(5, 6)})
    label.mutable_data<std::uint8_t>()[i * 7 + j] = 1;
  Sample s;
  s.set("label", label);
  FgBgToIndices({}).apply(s);
  const VoxelSet &fg = s.voxels("label_fg_indices"), &bg = s.voxels("label_bg_indices");
  const Crop op({.spatial_size = {3, 4}, .num_samples = 6});
  LegacyNumpy numpy(42);
  const Shape expected[] = {{1, 2}, {1, 2}, {2, 5}, {4, 5}, {4, 2}, {4, 5}};
  for (const Shape& centre : expected) {
    const VoxelSet& from = op.choose(fg, bg, numpy.rand());
    EXPECT_EQ(op.place(from.select(numpy.randint(from.size())), {6, 7}).centre, centre);
  }
}

TEST(RandCropByPosNegLabel, Patches_are_exact_and_every_key_is_cut_at_the_same_place) {
  Rng rng = stream(10);
  for (int round = 0; round < 300; ++round) {
    const int axes = static_cast<int>(rng.below(3)) + 1;
    Shape spatial;
    std::vector<std::int64_t> size;
    for (int d = 0; d < axes; ++d) {
      spatial.push_back(static_cast<std::int64_t>(rng.below(17)) + 1);
      size.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(spatial[d]))) +
                     (rng.bernoulli(0.2) ? 0 : 1));
    }
    Sample s = encoded(spatial, 0.2, rng);
    if (round % 2)  // strided fields: the same voxels behind other strides
      for (const char* key : {"image", "where"}) s.set(key, s.get(key).flip({axes}).clone().flip({axes}));
    if (round % 3) FgBgToIndices({}).apply(s);
    const Pipeline pipeline = compose(Crop({.spatial_size = size, .num_samples = 3}));
    const SampleSpec inferred = pipeline.infer(s.spec());
    for (const Sample& patch : pipeline.run(s, {.seed = static_cast<std::uint64_t>(round)})) {
      ASSERT_EQ(patch.spec(), inferred);
      const auto image = values_of<float>(patch.get("image"));
      const auto label = values_of<std::int32_t>(patch.get("label"));
      const auto where = values_of<std::uint16_t>(patch.get("where"));
      for (int d = 0; d < axes; ++d) {
        const auto asked = size[static_cast<std::size_t>(d)];
        ASSERT_EQ(patch.get("image").size(d + 1), asked == 0 ? spatial[d] : asked);
      }
      const Shape first = unravel(where[0], spatial);
      for (std::size_t i = 0; i < image.size(); ++i) {
        // the i-th voxel of the patch is the voxel of the image at first + i's index
        const Shape at = unravel(i, Shape(std::span(std::as_const(patch.get("image").shape())).subspan(1)));
        std::int64_t linear = 0;
        for (int d = 0; d < axes; ++d) linear = linear * spatial[d] + first[d] + at[d];
        ASSERT_EQ(static_cast<std::int64_t>(where[i]), linear);
        ASSERT_EQ(static_cast<std::int64_t>(image[i]), linear);
        ASSERT_TRUE(label[i] == 0 || label[i] == linear + 1);
      }
      std::array<double, 3> start{};
      for (int d = 0; d < axes; ++d) start[static_cast<std::size_t>(d)] = static_cast<double>(first[d]);
      ASSERT_EQ(patch.affine("image").apply({0, 0, 0}), s.affine("image").apply(start));
    }
  }
}

TEST(RandCropByPosNegLabel, The_drawn_voxel_is_in_the_patch) {
  Sample s;
  Tensor label = Tensor::zeros(DType::u8, {1, 9, 9});
  label.mutable_data<std::uint8_t>()[8 * 9 + 0] = 1;  // a corner
  s.set("label", label);
  const Crop op({.spatial_size = {4, 5}, .neg = 0});
  Rng rng = stream(1);
  const Crop::Plan plan = op.plan(s, rng);
  EXPECT_EQ(plan.start, (Shape{5, 0}));
  EXPECT_EQ(plan.size, (Shape{4, 5}));
  EXPECT_EQ(plan.centre, (Shape{7, 2}));
  op.apply(s, plan);
  EXPECT_EQ(s.get("label").at<int>({0, 3, 0}), 1);
}

TEST(RandCropByPosNegLabel, Draws_foreground_and_background_in_the_ratio_asked_and_each_voxel_alike) {
  Rng rng = stream(11);
  Sample s = encoded({6, 7, 8}, 0.1, rng);
  FgBgToIndices({}).apply(s);
  const auto members = s.voxels("label_fg_indices").size();
  ASSERT_GT(members, 10u);
  const Crop op({.spatial_size = 1, .pos = 1, .neg = 3});
  const int draws = 40000;
  int foreground = 0;
  std::vector<int> counts(6 * 7 * 8);
  for (int i = 0; i < draws; ++i) {
    Rng own = stream(static_cast<std::uint64_t>(i), 3);
    const Shape c = op.plan(s, own).centre;
    const auto voxel = static_cast<std::uint64_t>((c[0] * 7 + c[1]) * 8 + c[2]);
    foreground += s.voxels("label_fg_indices").contains(voxel);
    ++counts[voxel];
  }
  EXPECT_NEAR(foreground, draws / 4.0, 5 * std::sqrt(draws * 0.25 * 0.75));
  // chi-square within each set; its mean is the number of members less 1, its variance twice that
  for (const char* set : {"label_fg_indices", "label_bg_indices"}) {
    const VoxelSet& v = s.voxels(set);
    double total = 0, chi = 0;
    for (std::uint64_t k = 0; k < v.size(); ++k) total += counts[v.select(k)];
    const double expected = total / static_cast<double>(v.size());
    for (std::uint64_t k = 0; k < v.size(); ++k) chi += std::pow(counts[v.select(k)] - expected, 2) / expected;
    const double freedom = static_cast<double>(v.size()) - 1;
    EXPECT_NEAR(chi, freedom, 5 * std::sqrt(2 * freedom)) << set;
  }
}

TEST(RandCropByPosNegLabel, Draws_a_uniform_number_then_an_index) {
  Rng rng = stream(12);
  Sample s = encoded({6, 7}, 0.5, rng);
  FgBgToIndices({}).apply(s);
  const Crop op({.spatial_size = {2, 3}});
  for (std::uint32_t k = 0; k < 20; ++k) {
    Rng a = stream(5, k), b = stream(5, k);
    const Crop::Plan plan = op.plan(s, a);
    const VoxelSet& from = op.choose(s.voxels("label_fg_indices"), s.voxels("label_bg_indices"), b.uniform());
    EXPECT_EQ(plan.start, op.place(from.select(b.below(from.size())), {6, 7}).start);
    EXPECT_TRUE(a == b);
  }
}

TEST(RandCropByPosNegLabel, The_stored_sets_and_the_label_give_the_same_patch) {
  Rng rng = stream(13);
  Sample with = encoded({6, 7, 8}, 0.1, rng);
  const Sample without = with;
  FgBgToIndices({.image_key = "image", .image_threshold = 100}).apply(with);
  const Crop op({.spatial_size = 3, .image_key = "image", .image_threshold = 100});
  for (std::uint32_t k = 0; k < 20; ++k) {
    Rng a = stream(5, k), b = stream(5, k);
    EXPECT_EQ(op.plan(with, a).start, op.plan(without, b).start);
  }
  // other names
  Sample named = with;
  FgBgToIndices({.fg_postfix = "_f", .bg_postfix = "_b"}).apply(named);
  const Crop by_name({.spatial_size = 3, .fg_indices_key = "label_f", .bg_indices_key = "label_b"});
  Rng a = stream(5);
  by_name.apply(named, by_name.plan(named, a));
  EXPECT_FALSE(named.has("label_f") || named.has("label_b"));
  EXPECT_TRUE(named.has("label_fg_indices"));
  Sample missing = with;
  EXPECT_THROW((void)by_name.plan(missing, a), std::out_of_range);
}

TEST(RandCropByPosNegLabel, An_empty_set_leaves_the_choice_to_the_other) {
  Sample s;
  s.set("label", Tensor::zeros(DType::u8, {1, 5, 5}));
  Rng rng = stream(1);
  EXPECT_NO_THROW((void)Crop({.spatial_size = 2, .neg = 0}).plan(s, rng));
  s.set("label", Tensor::zeros(DType::u8, {1, 5, 5}).add_(1));
  EXPECT_NO_THROW((void)Crop({.spatial_size = 2, .pos = 0}).plan(s, rng));
}

TEST(RandCropByPosNegLabel, Nothing_to_choose_is_an_error_naming_the_file) {
  Sample s;
  s.set("label", Tensor::zeros(DType::u8, {1, 5, 5}));
  s.set_path("label", "/data/l.nii.gz");
  s.set("image", Tensor::zeros(DType::f32, {1, 5, 5}));
  Rng rng = stream(1);
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 2, .image_key = "image"}).plan(s, rng); }),
                   {"label", "/data/l.nii.gz", "neither foreground nor background"}));
}

TEST(RandCropByPosNegLabel, Shapes_that_do_not_fit_are_errors) {
  Rng rng = stream(14);
  Sample s = encoded({6, 7, 8}, 0.1, rng);
  EXPECT_TRUE(says(message_of([&] {
                     (void)Crop({.spatial_size = {6, 8, 8}}).plan(s, rng);
                   }),
                   {"[6, 8, 8]", "[6, 7, 8]", "larger"}));
  EXPECT_TRUE(says(message_of([&] {
                     (void)Crop({.spatial_size = {3, 3}}).plan(s, rng);
                   }),
                   {"spatial_size", "[3, 3]", "3"}));
  Sample odd = s;
  odd.set("image", counting<float>({1, 6, 7, 9}));
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 3}).plan(odd, rng); }),
                   {"image", "/data/i.nii.gz", "[6, 7, 9]", "[6, 7, 8]"}));
  EXPECT_NO_THROW((void)Crop({.keys = {"label", "where"}, .spatial_size = 3}).plan(odd, rng));
  // a plan for one sample does not crop another one of other shapes
  const Crop::Plan plan = Crop({.spatial_size = 3}).plan(s, rng);
  EXPECT_THROW(Crop({.spatial_size = 3}).apply(odd, plan), std::invalid_argument);
  Sample stale = s;
  FgBgToIndices({}).apply(stale);
  for (const char* key : {"image", "label", "where"}) stale.set(key, stale.get(key).narrow(1, 0, 5));
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 3}).plan(stale, rng); }),
                   {"label_fg_indices", "[6, 7, 8]", "[5, 7, 8]"}));
  Sample flat;
  flat.set("label", counting<std::uint8_t>({4}));
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 3}).plan(flat, rng); }), {"label", "[4]", "channel"}));
  Sample empty;
  empty.set("label", Tensor::empty(DType::u8, {1, 4, 0}));
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 0}).plan(empty, rng); }), {"[4, 0]", "no voxels"}));
}

TEST(RandCropByPosNegLabel, A_smaller_image_can_be_allowed) {
  Rng rng = stream(15);
  Sample s = encoded({4, 9}, 0.3, rng);
  const Crop op({.spatial_size = {6, 6}, .allow_smaller = true});
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s, op.plan(s, rng));
  EXPECT_EQ(s.get("image").shape(), (Shape{1, 4, 6}));
  EXPECT_EQ(spec, s.spec());
}

TEST(RandCropByPosNegLabel, Infers_what_it_can) {
  SampleSpec spec{{{.name = "image", .shape = {2, unknown, unknown, 5}},
                   {.name = "label", .dtype = DType::u8, .shape = {1, unknown, unknown, 5}},
                   {.name = "label_fg_indices", .kind = FieldKind::voxels},
                   {.name = "label_bg_indices", .kind = FieldKind::voxels}}};
  const SampleSpec out = Crop({.spatial_size = {96, 0, -1}}).infer(spec);
  EXPECT_EQ(out.at("image").shape, (Shape{2, 96, unknown, 5}));
  EXPECT_EQ(out.at("label").shape, (Shape{1, 96, unknown, 5}));
  EXPECT_EQ(out.fields.size(), 2u);
  EXPECT_EQ(Crop({.spatial_size = 4, .allow_smaller = true}).infer(spec).at("image").shape,
            (Shape{2, unknown, unknown, 4}));
  EXPECT_TRUE(says(message_of([&] { (void)Crop({.spatial_size = 6}).infer(spec); }), {"image", "6", "5"}));
  EXPECT_THROW((void)Crop({.label_key = "seg", .spatial_size = 2}).infer(spec), std::invalid_argument);
  EXPECT_EQ(Crop({.keys = "label", .spatial_size = 4}).infer(spec).at("image").shape, (Shape{2, unknown, unknown, 5}));
}

TEST(RandCropByPosNegLabel, Is_pure) {
  Rng rng = stream(16);
  Sample s = encoded({6, 7, 8}, 0.1, rng);
  FgBgToIndices({}).apply(s);
  s.freeze();
  const Sample before = s;
  const Crop op({.spatial_size = 4, .num_samples = 2});
  Rng a = stream(3), b = stream(4), a2 = stream(3), b2 = stream(4);
  const Crop::Plan first_a = op.plan(s, a), first_b = op.plan(s, b);
  const Crop::Plan second_b = op.plan(s, b2), second_a = op.plan(s, a2);
  EXPECT_TRUE(first_a.start == second_a.start && first_b.start == second_b.start);
  ASSERT_EQ(s.size(), before.size());
  for (const Field& f : before.fields())
    if (f.is_tensor()) {
      EXPECT_EQ(s.get(f.name.view()).raw(), f.tensor().raw());
    }
  Sample x = s, y = s;
  op.apply(x, first_a);
  op.apply(y, second_a);
  EXPECT_TRUE(x.get("image").equal(y.get("image")));
}

TEST(RandCropByPosNegLabel, Copies_no_voxel) {
  Rng rng = stream(17);
  Sample s = encoded({6, 7, 8}, 0.1, rng);
  FgBgToIndices({}).apply(s);
  const Crop op({.spatial_size = 4});
  Sample patch = s;
  CountingPlace place;
  patch.set_output_place(&place);
  op.apply(patch, op.plan(patch, rng));
  EXPECT_EQ(place.outputs, 0);
  for (const char* key : {"image", "label", "where"})
    EXPECT_TRUE(patch.get(key).storage().same_block(s.get(key).storage())) << key;
  // writing to a patch reaches neither the volume nor another patch
  Sample other = s;
  op.apply(other, op.plan(other, rng));
  const Tensor volume = s.get("image").clone();
  const Tensor sibling = other.get("image").clone();
  patch.tensor("image").fill_(-1);
  EXPECT_TRUE(s.get("image").equal(volume));
  EXPECT_TRUE(other.get("image").equal(sibling));
}

TEST(RandCropByPosNegLabel, Refuses_bad_options_naming_them) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(says(message_of([] { Crop({}); }), {"RandCropByPosNegLabel", "spatial_size"}));
  EXPECT_TRUE(
      says(message_of([] { Crop({.spatial_size = std::int64_t{1} << 40}); }), {"spatial_size", "1099511627776"}));
  EXPECT_TRUE(says(message_of([] { Crop({.spatial_size = 2, .pos = -1}); }), {"pos", "-1"}));
  EXPECT_TRUE(says(message_of([&] { Crop({.spatial_size = 2, .neg = nan}); }), {"neg", "nan"}));
  EXPECT_TRUE(says(message_of([] { Crop({.spatial_size = 2, .pos = 0, .neg = 0}); }), {"pos = 0", "neg = 0"}));
  EXPECT_TRUE(says(message_of([] { Crop({.spatial_size = 2, .pos = 1.7e308, .neg = 1.7e308}); }), {"pos + neg"}));
  EXPECT_TRUE(says(message_of([] { Crop({.spatial_size = 2, .num_samples = 0}); }), {"num_samples", "0", "16383"}));
  EXPECT_TRUE(says(message_of([] { Crop({.spatial_size = 2, .num_samples = 16384}); }), {"num_samples", "16384"}));
  EXPECT_NO_THROW(Crop({.spatial_size = 2, .num_samples = 16383}));
  EXPECT_TRUE(says(message_of([] { Crop({.label_key = "", .spatial_size = 2}); }), {"label_key"}));
  EXPECT_TRUE(
      says(message_of([] { Crop({.spatial_size = 2, .fg_indices_key = "a"}); }), {"fg_indices_key", "bg_indices_key"}));
}

TEST(RandCropByPosNegLabel, Describes_every_option_and_pins_its_number) {
  const Crop op({.keys = {"image", "label"}, .spatial_size = {96, 96, 64}, .pos = 0.1, .num_samples = 4, .op = 9});
  EXPECT_EQ(op.describe(),
            "keys=[\"image\", \"label\"], label_key=\"label\", spatial_size=[96, 96, 64], pos=0.1, neg=1, "
            "num_samples=4, image_key=\"\", "
            "image_threshold=0, fg_indices_key=\"\", bg_indices_key=\"\", allow_smaller=false, op=9");
  EXPECT_EQ(op.op_number(), 9);
  EXPECT_EQ(compose(op).parts(), 4u);
}

}  // namespace
}  // namespace headrace
