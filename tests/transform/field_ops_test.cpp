// CopyItems, SelectItems, RandCoarseDropout, RandBiasField.
#include <cmath>
#include <headrace/transform/item_ops.hpp>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_bias_field.hpp>
#include <headrace/transform/rand_coarse_dropout.hpp>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;
using Floats = std::vector<float>;

Sample with(Tensor image) {
  Sample s;
  s.set("image", std::move(image));
  return s;
}
template <class Op>
Sample applied(const Op& op, Sample s) {
  const SampleSpec promised = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.spec(), promised);
  return s;
}

TEST(CopyItems, Shares_voxels_until_one_is_written) {
  Sample s = with(counting<float>({1, 2, 2}));
  s.set("name", std::string("case 7"));
  s.set("label", Tensor::zeros(DType::u8, {1, 2, 2}), Affine::scaling({2, 2, 2}));
  s.set_path("label", "/data/l.nii");
  const Sample c = applied(CopyItems({.keys = {"image", "label", "name"}, .times = 2}), s);
  EXPECT_EQ(c.get("image_1").raw(), s.get("image").raw());
  EXPECT_EQ(c.affine("label_0"), Affine::scaling({2, 2, 2}));
  EXPECT_EQ(c.path("label_1"), "/data/l.nii");
  EXPECT_EQ(c.text("name_0"), "case 7");
  Sample written = c;
  written.tensor("image_0").fill_(9);
  EXPECT_EQ(written.get("image").at({0, 1, 1}), 3);
  EXPECT_EQ(applied(CopyItems({.keys = "image", .names = {"x"}}), s).get("x").raw(), s.get("image").raw());
  EXPECT_TRUE(
      says(message_of([&] { CopyItems({.keys = "image", .names = {"label"}}).apply(s); }), {"label", "already"}));
  EXPECT_TRUE(says(message_of([] { CopyItems({.keys = "image", .times = 0}); }), {"times"}));
  EXPECT_TRUE(says(message_of([] {
                     CopyItems({.keys = "image", .times = 2, .names = {"a", "a"}});
                   }),
                   {"each name once"}));
  EXPECT_TRUE(says(message_of([] { CopyItems({.keys = "image", .names = {"a", "b"}}); }), {"1 names"}));
}

TEST(SelectItems, Keeps_what_is_named) {
  Sample s = with(counting<float>({1, 2, 2}));
  s.set("b", std::int64_t{1});
  s.set("c", 2.0);
  const Sample kept = applied(SelectItems({.keys = {"c", "image"}}), s);
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.fields()[0].name.str(), "image");
  EXPECT_TRUE(says(message_of([&] { SelectItems({.keys = "lable"}).apply(s); }), {"lable"}));
  EXPECT_TRUE(says(message_of([] { SelectItems({}); }), {"keys"}));
}

RandCoarseDropout::Plan one_hole() { return {.apply = true, .holes = {{.start = Shape{1, 0}, .size = Shape{2, 2}}}}; }

TEST(RandCoarseDropout, Gives_golden_H42_and_its_complement) {
  Sample s = with(counting<float>({1, 4, 4}));
  RandCoarseDropout({.spatial_size = 2, .fill_value = -1}).apply(s, one_hole(), stream(1));
  EXPECT_EQ(values_of<float>(s.get("image")), (Floats{0, 1, 2, 3, -1, -1, 6, 7, -1, -1, 10, 11, 12, 13, 14, 15}));
  Sample rest = with(counting<std::uint8_t>({1, 4, 4}));
  RandCoarseDropout({.spatial_size = 2, .dropout_holes = false, .fill_value = 300}).apply(rest, one_hole(), stream(1));
  EXPECT_EQ(values_of<std::uint8_t>(rest.get("image")),
            (std::vector<std::uint8_t>{255, 255, 255, 255, 4, 5, 255, 255, 8, 9, 255, 255, 255, 255, 255, 255}));
}

TEST(RandCoarseDropout, Random_fills_are_the_voxels_own_numbers) {
  for (const bool range : {false, true}) {
    Sample s = with(counting<float>({2, 4, 4}));
    s.set("other", counting<float>({2, 4, 4}));
    RandCoarseDropoutOptions o{.spatial_size = 2};
    if (range) o.fill_range = Range{5, 6};
    RandCoarseDropout(o).apply(s, one_hole(), stream(4));
    EXPECT_TRUE(s.get("image").equal(s.get("other")));
    Rng word = stream(4);
    word.seek(voxel_words_begin + 2 * 20);  // channel 1, row 1, column 0
    const double u = word.uniform();
    EXPECT_EQ(values_of<float>(s.get("image"))[20], static_cast<float>(range ? 5 + u : 31 * u));
  }
}

TEST(RandCoarseDropout, Places_and_sizes_are_drawn_in_the_image_and_the_same_count_always) {
  const Sample s = with(counting<float>({1, 6, 5}));
  const RandCoarseDropout op(
      {.holes = 2, .spatial_size = {2, 1}, .max_holes = 4, .max_spatial_size = {3, 9}, .fill_value = 0, .prob = .5});
  std::array<int, 5> counts{};
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Rng rng = stream(seed);
    const auto plan = op.plan(s, rng);
    EXPECT_EQ(rng.position(), 4 + 12 * 4u);
    ++counts[plan.holes.size()];
    for (const auto& h : plan.holes) {
      EXPECT_TRUE(h.size[0] >= 2 && h.size[0] <= 3 && h.size[1] >= 1 && h.size[1] <= 5);
      EXPECT_TRUE(h.start[0] >= 0 && h.start[0] + h.size[0] <= 6 && h.start[1] >= 0 && h.start[1] + h.size[1] <= 5);
    }
  }
  for (const std::size_t n : {2u, 3u, 4u}) EXPECT_NEAR(counts[n], 200, 60);
  EXPECT_TRUE(says(message_of([] { RandCoarseDropout({.holes = 0, .spatial_size = 1}); }), {"holes"}));
  EXPECT_TRUE(
      says(message_of([] { RandCoarseDropout({.holes = 3, .spatial_size = 1, .max_holes = 2}); }), {"max_holes"}));
  EXPECT_TRUE(says(message_of([] { RandCoarseDropout({.spatial_size = 1, .fill_value = 1, .fill_range = 2.0}); }),
                   {"fill_value"}));
  Sample two = s;
  two.set("other", counting<float>({1, 5, 5}));
  Rng rng = stream(1);
  EXPECT_TRUE(says(message_of([&] { op.plan(two, rng); }), {"other", "first key"}));
}

TEST(RandBiasField, Gives_golden_H41_in_three_dimensions) {
  Tensor ones = Tensor::zeros(DType::f32, {1, 2, 2, 2});
  ones.fill_(1);
  Sample s = with(ones);
  RandBiasField::Plan plan{.apply = true};
  plan.coefficients[0] = .1, plan.coefficients[1] = .2, plan.coefficients[2] = .3, plan.coefficients[3] = .4;
  RandBiasField({.degree = 1}).apply(s, plan);
  const double expected[] = {.449329, .67032, .8187308, 1.221403, 1, 1.491825, 1.822119, 2.718282};
  const Floats v = values_of<float>(s.get("image"));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(static_cast<double>(v[i]), expected[i], 2e-6) << i;
}

// Every rank and degree against the sum written out, pieces larger and smaller than a row.
TEST(RandBiasField, Equals_the_sum_of_all_terms_up_to_the_degree) {
  const auto legendre = [](int k, double x) {
    double a = 1, b = x;
    if (k == 0) return a;
    for (int i = 2; i <= k; ++i) {
      const double c = ((2 * i - 1) * x * b - (i - 1) * a) / i;
      a = b;
      b = c;
    }
    return b;
  };
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{2, 7, 9}, Shape{1, 11}, Shape{1, 1, 3, 1500}})
    for (const int degree : {1, 3, 5}) {
      Sample s = with(counting<float>(shape));
      Rng rng = stream(3);
      const RandBiasField op({.degree = degree, .coeff_range = {-.1, .1}, .prob = 1});
      const auto plan = op.plan(s, rng);
      EXPECT_EQ(rng.position(), 2u + 2u * static_cast<unsigned>((degree + 1) * (degree + 2) * (degree + 3) / 6));
      op.apply(s, plan);
      const Floats v = values_of<float>(s.get("image"));
      const int rank = shape.rank() - 1;
      for (std::size_t at = 0; at < v.size(); at += 3) {
        double x[3] = {0, 0, 0};
        auto left = static_cast<std::int64_t>(at);
        for (int d = rank - 1; d >= 0; --d) {
          const std::int64_t n = shape[d + 1], i = left % n;
          left /= n;
          x[d] = n == 1 ? -1 : -1 + 2 * static_cast<double>(i) / static_cast<double>(n - 1);
        }
        double sum = 0;
        std::size_t c = 0;
        for (int i = 0; i <= degree; ++i)
          for (int j = 0; j <= degree - i; ++j)
            for (int k = 0; k <= degree - i - j; ++k, ++c) {
              if ((rank < 3 && k > 0) || (rank < 2 && j > 0)) continue;
              sum += plan.coefficients[c] * legendre(i, x[0]) * (rank > 1 ? legendre(j, x[1]) : 1) *
                     (rank > 2 ? legendre(k, x[2]) : 1);
            }
        const double want = static_cast<double>(at) * std::exp(sum);
        ASSERT_NEAR(static_cast<double>(v[at]), want, 2e-6 * (1 + want)) << shape.str() << degree << " " << at;
      }
    }
  EXPECT_TRUE(says(message_of([] { RandBiasField({.degree = 9}); }), {"degree"}));
  Sample skipped = with(counting<std::uint8_t>({1, 3}));
  RandBiasField().apply(skipped, {});
  EXPECT_EQ(skipped.get("image").dtype(), DType::f32);
}

}  // namespace
}  // namespace headrace
