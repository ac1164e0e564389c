#include <algorithm>
#include <headrace/transform/crop_foreground.hpp>
#include <headrace/transform/delete_items.hpp>
#include <headrace/transform/ensure_type.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/pipeline.hpp>
#include <limits>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

const float nan = std::numeric_limits<float>::quiet_NaN();

// The example of the reference: 2x7x8x9, foreground box [2,5)x[3,6)x[4,8).
Sample example() {
  Tensor image = Tensor::zeros(DType::f32, {2, 7, 8, 9});
  const std::int64_t start[] = {2, 3, 4}, size[] = {3, 3, 4};
  Tensor box = image.crop(start, size);
  box.copy_from(Tensor::zeros(DType::f32, box.shape()).add_(1));
  Sample s;
  s.set("image", std::move(image), Affine::translation({10, 20, 30}) * Affine::scaling({2, 3, 4}));
  s.set_path("image", "/data/a.nii.gz");
  s.set("where", counting<std::int32_t>({1, 7, 8, 9}));
  return s;
}

Box box_of(CropForegroundOptions options) { return CropForeground(std::move(options)).box(example()); }

TEST(CropForeground, Finds_the_boxes_of_the_reference) {
  EXPECT_EQ(box_of({}), (Box{{2, 3, 4}, {3, 3, 4}}));
  EXPECT_EQ(box_of({.margin = 3}), (Box{{-1, 0, 1}, {9, 9, 10}}));
  EXPECT_EQ(box_of({.margin = 3, .allow_smaller = true}), (Box{{0, 0, 1}, {7, 8, 8}}));
  EXPECT_EQ(box_of({.k_divisible = 4}), (Box{{2, 3, 4}, {4, 4, 4}}));
  EXPECT_EQ(box_of({.margin = 1, .k_divisible = 8}), (Box{{0, 1, 2}, {8, 8, 8}}));
  EXPECT_EQ(box_of({.margin = {0, 1, 2}, .k_divisible = {0, -3, 1}}), (Box{{2, 2, 2}, {3, 5, 8}}));
}

TEST(CropForeground, Inside_the_image_the_result_is_a_view) {
  Sample s = example();
  const Tensor before = s.get("image");
  CountingPlace place;
  s.set_output_place(&place);
  const CropForeground op({});
  op.apply(s);
  EXPECT_EQ(op.effect("image"), Effect::view);
  EXPECT_EQ(place.outputs, 0);
  EXPECT_TRUE(s.get("image").storage().same_block(before.storage()));
  EXPECT_EQ(s.get("image").shape(), (Shape{2, 3, 3, 4}));
  EXPECT_EQ(s.get("where").at<std::int32_t>({0, 0, 0, 0}), (2 * 8 + 3) * 9 + 4);
  // the voxel that is first now is where it was in the world
  EXPECT_EQ(s.affine("image").apply({0, 0, 0}), (std::array<double, 3>{14, 29, 46}));
  EXPECT_EQ(s.path("image"), "/data/a.nii.gz");
}

TEST(CropForeground, Outside_the_image_are_zeros) {
  Sample s = example();
  CountingPlace place;
  s.set_output_place(&place);
  const CropForeground op({.margin = 3});
  EXPECT_EQ(op.effect("where"), Effect::rewrite);
  op.apply(s);
  EXPECT_EQ(place.outputs, 2);
  const Tensor& where = s.get("where");
  ASSERT_EQ(where.shape(), (Shape{1, 9, 9, 10}));
  for (std::int64_t i = 0; i < 9; ++i)
    for (std::int64_t j = 0; j < 9; ++j)
      for (std::int64_t k = 0; k < 10; ++k) {
        const std::int64_t x = i - 1, y = j, z = k + 1;
        const bool in = x >= 0 && x < 7 && y < 8 && z < 9;
        ASSERT_EQ(where.at<std::int64_t>({0, i, j, k}), in ? (x * 8 + y) * 9 + z : 0) << i << ' ' << j << ' ' << k;
      }
  EXPECT_EQ(s.affine("image").apply({1, 0, 0}), (std::array<double, 3>{10, 20, 34}));
}

TEST(CropForeground, Equals_a_plain_search_on_random_images) {
  Rng rng = stream(3);
  for (int round = 0; round < 200; ++round) {
    const int axes = static_cast<int>(rng.below(3)) + 1;
    Shape shape{static_cast<std::int64_t>(rng.below(3)) + 1};
    for (int d = 0; d < axes; ++d) shape.push_back(static_cast<std::int64_t>(rng.below(12)) + 1);
    std::vector<std::int16_t> v(static_cast<std::size_t>(shape.numel()));
    for (auto& x : v) x = static_cast<std::int16_t>(rng.bernoulli(0.03) ? 6 : 5);
    v[rng.below(v.size())] = 7;
    Tensor image = Tensor::from(std::span<const std::int16_t>(v), shape);
    if (round % 2) image = image.flip({1}).flip({axes});
    Shape first, last;
    for (int d = 0; d < axes; ++d) {
      std::int64_t low = shape[d + 1], high = -1;
      for (std::int64_t i = 0; i < shape[d + 1]; ++i) {
        const auto slice = values_of<std::int16_t>(image.narrow(d + 1, i, 1));
        if (std::any_of(slice.begin(), slice.end(), [](std::int16_t x) { return x > 5; })) {
          low = std::min(low, i);
          high = i;
        }
      }
      first.push_back(low);
      last.push_back(high);
    }
    Sample s;
    s.set("image", image);
    const std::int64_t margin = static_cast<std::int64_t>(rng.below(4)), k = static_cast<std::int64_t>(rng.below(5));
    const Box box = CropForeground({.threshold = 5, .margin = margin, .k_divisible = k}).box(s);
    for (int d = 0; d < axes; ++d) {
      ASSERT_LE(box.start[d], first[d] - margin);
      ASSERT_GE(box.start[d] + box.size[d], last[d] + 1 + margin);
      ASSERT_LT(box.size[d], last[d] + 1 - first[d] + 2 * margin + std::max<std::int64_t>(k, 1));
      if (k > 1) {
        ASSERT_EQ(box.size[d] % k, 0);
      } else {
        ASSERT_EQ(box.start[d], first[d] - margin);
      }
    }
    CropForeground({.threshold = 5, .margin = margin, .k_divisible = k}).apply(s);
    for (int d = 0; d < axes; ++d) ASSERT_EQ(s.get("image").size(d + 1), box.size[d]);
  }
}

TEST(CropForeground, NaN_is_not_foreground_and_channels_can_be_chosen) {
  Sample s;
  s.set("image", Tensor::from<float>({nan, 0, 1, 0, 0, 0, nan, 2}, Shape{2, 4}));
  EXPECT_EQ(CropForeground({}).box(s), (Box{{2}, {2}}));
  EXPECT_EQ(CropForeground({.channel_indices = {0}}).box(s), (Box{{2}, {1}}));
  EXPECT_EQ(CropForeground({.channel_indices = {-1}}).box(s), (Box{{3}, {1}}));
  EXPECT_TRUE(
      says(message_of([&] { CropForeground({.channel_indices = {2}}).box(s); }), {"channel_indices", "2", "image"}));
}

TEST(CropForeground, No_foreground_is_an_error_naming_file_and_key) {
  Sample s = example();
  EXPECT_TRUE(says(message_of([&] { CropForeground({.threshold = 1}).apply(s); }),
                   {"image", "/data/a.nii.gz", "foreground", "1"}));
  Sample empty;
  empty.set("image", Tensor::empty(DType::f32, {1, 0, 3}));
  EXPECT_TRUE(says(message_of([&] { CropForeground({}).apply(empty); }), {"image", "foreground"}));
}

TEST(CropForeground, Keys_of_another_shape_are_an_error_and_nothing_is_cropped) {
  Sample s = example();
  s.set("odd", counting<float>({1, 7, 8, 8}));
  EXPECT_TRUE(says(message_of([&] { CropForeground({}).apply(s); }), {"odd", "[7, 8, 8]", "[7, 8, 9]"}));
  EXPECT_EQ(s.get("image").shape(), (Shape{2, 7, 8, 9}));
  EXPECT_NO_THROW(CropForeground({.keys = {"image", "where"}}).apply(s));
  EXPECT_EQ(s.get("odd").shape(), (Shape{1, 7, 8, 8}));
}

TEST(CropForeground, Coordinates_are_stored_where_asked) {
  Sample s = example();
  const CropForeground op({.keys = {"image", "where"}, .margin = 3, .start_coord_key = "from", .end_coord_key = "to"});
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(values_of<std::int64_t>(s.get("from")), (std::vector<std::int64_t>{-1, 0, 1}));
  EXPECT_EQ(values_of<std::int64_t>(s.get("to")), (std::vector<std::int64_t>{8, 9, 11}));
  EXPECT_EQ(spec.at("from"), s.spec().at("from"));
  EXPECT_EQ(spec.at("image").shape, (Shape{2, unknown, unknown, unknown}));
  EXPECT_EQ(example().size() + 2, s.size());
}

TEST(CropForeground, Refuses_bad_options_naming_them) {
  using Op = CropForeground;
  EXPECT_TRUE(says(message_of([] { Op({.margin = -1}); }), {"CropForeground", "margin", "-1"}));
  EXPECT_TRUE(says(message_of([] { Op({.margin = {1, 1 << 30}}); }), {"margin"}));
  EXPECT_TRUE(says(message_of([] { Op({.k_divisible = 1 << 30}); }), {"k_divisible"}));
  EXPECT_TRUE(says(message_of([] { Op({.source_key = ""}); }), {"source_key"}));
  EXPECT_TRUE(says(message_of([] { Op({.threshold = std::numeric_limits<double>::quiet_NaN()}); }), {"threshold"}));
  EXPECT_TRUE(says(message_of([] { Op({.start_coord_key = "a", .end_coord_key = "a"}); }),
                   {"start_coord_key", "end_coord_key"}));
  EXPECT_TRUE(says(message_of([] { Op({.margin = {1, 2}}).box(example()); }), {"margin", "[1, 2]", "3"}));
  EXPECT_EQ(
      Op({.margin = {1, 2, 3}}).describe(),
      "keys=\"all\", source_key=\"image\", threshold=0, channel_indices=[], margin=[1, 2, 3], allow_smaller=false, "
      "k_divisible=1, start_coord_key=\"\", end_coord_key=\"\"");
}

// ---- FgBgToIndices

std::vector<std::uint64_t> members(const VoxelSet& set) {
  std::vector<std::uint64_t> m;
  for (std::uint64_t k = 0; k < set.size(); ++k) m.push_back(set.select(k));
  return m;
}
using List = std::vector<std::uint64_t>;

TEST(FgBgToIndices, Not_zero_is_foreground_also_below_zero_and_NaN) {
  Sample s;
  s.set("label", Tensor::from<float>({0, -1, nan, 2, -0.f, 0}, Shape{1, 2, 3}));
  FgBgToIndices({}).apply(s);
  EXPECT_EQ(members(s.voxels("label_fg_indices")), (List{1, 2, 3}));
  EXPECT_EQ(members(s.voxels("label_bg_indices")), (List{0, 4, 5}));
  EXPECT_EQ(s.voxels("label_fg_indices").shape(), (Shape{2, 3}));
}

TEST(FgBgToIndices, One_hot_leaves_out_channel_0) {
  Sample s;
  s.set("seg", Tensor::from<std::uint8_t>({1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1}, Shape{3, 4}));
  FgBgToIndices({.label_key = "seg", .fg_postfix = "_f", .bg_postfix = "_b"}).apply(s);
  EXPECT_EQ(members(s.voxels("seg_f")), (List{1, 2, 3}));
  EXPECT_EQ(members(s.voxels("seg_b")), (List{0}));
}

TEST(FgBgToIndices, The_image_restricts_the_background_only) {
  Sample s;
  s.set("label", Tensor::from<std::uint8_t>({0, 1, 0, 0, 1}, Shape{1, 5}));
  s.set("image", Tensor::from<float>({1, 0, 0.5f, nan, 0, 0, 0, 0, 2, 3}, Shape{2, 5}));
  FgBgToIndices({.image_key = "image", .image_threshold = 0.5}).apply(s);
  EXPECT_EQ(members(s.voxels("label_fg_indices")), (List{1, 4}));
  EXPECT_EQ(members(s.voxels("label_bg_indices")), (List{0, 3}));
  s.set("image", Tensor::zeros(DType::f32, {1, 4}));
  EXPECT_TRUE(says(message_of([&] { FgBgToIndices({.image_key = "image"}).apply(s); }), {"image", "[4]", "[5]"}));
}

TEST(FgBgToIndices, Equals_a_plain_loop_on_random_strided_labels) {
  Rng rng = stream(4);
  for (int round = 0; round < 100; ++round) {
    const Shape shape{static_cast<std::int64_t>(rng.below(2)) + 1, static_cast<std::int64_t>(rng.below(9)) + 1,
                      static_cast<std::int64_t>(rng.below(9)) + 1, static_cast<std::int64_t>(rng.below(150)) + 1};
    std::vector<std::int16_t> v(static_cast<std::size_t>(shape.numel())), w(v.size());
    for (auto& x : v) x = static_cast<std::int16_t>(rng.bernoulli(0.3));
    for (auto& x : w) x = static_cast<std::int16_t>(rng.bernoulli(0.5));
    Tensor label = Tensor::from(std::span<const std::int16_t>(v), shape),
           image = Tensor::from(std::span<const std::int16_t>(w), shape);
    if (round % 2) label = label.flip({3}).permute({0, 2, 1, 3}), image = image.permute({0, 2, 1, 3});
    Sample s;
    s.set("label", label);
    s.set("image", image);
    FgBgToIndices({.image_key = round % 3 ? "image" : ""}).apply(s);
    const auto lv = values_of<std::int16_t>(label), iv = values_of<std::int16_t>(image);
    const auto channels = static_cast<std::size_t>(shape[0]), n = lv.size() / channels;
    for (std::size_t i = 0; i < n; ++i) {
      bool fg = false, above = round % 3 == 0;
      for (std::size_t c = channels > 1 ? 1 : 0; c < channels; ++c) fg = fg || lv[c * n + i] != 0;
      for (std::size_t c = 0; c < channels; ++c) above = above || iv[c * n + i] > 0;
      ASSERT_EQ(s.voxels("label_fg_indices").contains(i), fg);
      ASSERT_EQ(s.voxels("label_bg_indices").contains(i), above && !fg);
    }
  }
}

TEST(FgBgToIndices, Declares_its_fields_and_refuses_bad_options) {
  Sample s;
  s.set("label", counting<std::uint8_t>({1, 70}));
  const FgBgToIndices op({});
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(spec, s.spec());
  EXPECT_THROW((void)op.infer(SampleSpec{}), std::invalid_argument);
  EXPECT_TRUE(says(message_of([] { FgBgToIndices({.fg_postfix = "_x", .bg_postfix = "_x"}); }),
                   {"FgBgToIndices", "fg_postfix", "_x"}));
  EXPECT_TRUE(says(message_of([] { FgBgToIndices({.label_key = ""}); }), {"label_key"}));
  EXPECT_EQ(
      op.describe(),
      "label_key=\"label\", image_key=\"\", image_threshold=0, fg_postfix=\"_fg_indices\", bg_postfix=\"_bg_indices\"");
}

// ---- DeleteItems, EnsureType

TEST(DeleteItems, Drops_fields_of_any_kind_and_ignores_missing_ones) {
  Sample s;
  s.set("image", counting<float>({1, 2}));
  s.set("age", 40.0);
  s.set("name", std::string("x"));
  const DeleteItems op({.keys = {"age", "image", "nothing"}});
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.size(), 1u);
  EXPECT_EQ(s.text("name"), "x");
  EXPECT_EQ(spec, s.spec());
  EXPECT_TRUE(says(message_of([] { DeleteItems({}); }), {"DeleteItems", "keys"}));
}

TEST(EnsureType, Converts_saturating_and_leaves_alone_what_has_the_type) {
  Sample s;
  s.set("a", Tensor::from<float>({-1, 1.9f, 300, nan}, Shape{4}).flip({0}));
  s.set("b", Tensor::from<std::uint8_t>({1, 2}, Shape{2}));
  const std::byte* b = s.get("b").raw();
  const EnsureType op({.dtype = DType::u8});
  const SampleSpec spec = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(values_of<std::uint8_t>(s.get("a")), (std::vector<std::uint8_t>{0, 255, 1, 0}));
  EXPECT_EQ(s.get("b").raw(), b);
  EXPECT_EQ(spec, s.spec());
  EXPECT_EQ(op.describe(), "keys=\"all\", dtype=\"u8\"");
}

}  // namespace
}  // namespace headrace
