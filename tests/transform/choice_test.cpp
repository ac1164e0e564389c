// OneOf, SomeOf, RandomOrder: frequencies, addresses that do not depend on the choice, places, errors.
#include <cmath>
#include <headrace/loader/loader.hpp>
#include <headrace/loader/verify.hpp>
#include <headrace/transform/choice.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/rand_gaussian_noise.hpp>
#include <headrace/transform/rand_scale_intensity.hpp>
#include <headrace/transform/rand_spatial_crop.hpp>
#include <headrace/transform/resize.hpp>
#include <headrace/transform/rotate90.hpp>
#include <headrace/transform/spatial_crop.hpp>
#include <map>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

struct Add {
  static constexpr const char* name = "Add";
  double value = 0;
  void apply(Sample& s) const { s.tensor("image").add_(value); }
  std::string describe() const { return std::to_string(value); }
};
struct Times {
  double value = 1;
  void apply(Sample& s) const { s.tensor("image").mul_(value); }
};
Sample zeros() {
  Sample s;
  s.set("image", Tensor::zeros(DType::f32, {1, 4, 4}));
  return s;
}
Pipeline::Address item(std::uint64_t i) { return {.seed = 5, .epoch = 0, .item = i}; }
double after(const Pipeline& p, std::uint64_t i) { return p.run(zeros(), item(i))[0].get("image").at({0, 0, 0}); }

TEST(OneOf, Takes_each_branch_as_often_as_its_weight) {
  const Pipeline p =
      compose(OneOf({.transforms = {Add{1}, compose(Add{1}, Add{1}), Add{3}, Add{4}}, .weights = {1, 2, 0, 3}}));
  std::map<int, int> seen;
  for (std::uint64_t i = 0; i < 6000; ++i) ++seen[static_cast<int>(after(p, i))];
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_NEAR(seen[1], 1000, 150);
  EXPECT_NEAR(seen[2], 2000, 200);
  EXPECT_NEAR(seen[4], 3000, 200);
}

// What a branch draws is what it would draw as an op of that number, whatever the others are.
TEST(OneOf, A_branch_draws_from_its_own_address) {
  const RandScaleIntensity scale({.factors = {1, 9}, .prob = 1});
  const Pipeline p = compose(
      RandFlip(),
      OneOf({.transforms = {compose(Add{1}, RandGaussianNoise({.prob = 1})), compose(RandFlip(), Add{1}, scale)},
             .weights = {0, 1}}));
  EXPECT_EQ(p.op(1).op_numbers(), 4u);
  const Sample out = p.run(zeros(), item(3))[0];
  // Numbers: RandFlip 0, OneOf 1, noise 2, flip 3, scale 4.
  Rng rng(StreamAddress{.seed = 5, .epoch = 0, .item = 3, .patch = item_patch, .op = 4});
  const auto plan = scale.plan(zeros(), rng);
  EXPECT_EQ(static_cast<float>(out.get("image").at({0, 1, 1})), static_cast<float>(1 + plan.factor));
  // An op behind it is numbered behind all of them.
  const Pipeline longer = compose(OneOf({.transforms = {RandFlip(), RandFlip()}}), RandFlip());
  EXPECT_EQ(longer.op_number(1), 3);
}

TEST(SomeOf, Draws_so_many_without_repeating_or_with) {
  const std::vector<Branch> branches{Add{1}, Add{10}, Add{100}, Add{1000}};
  const Pipeline some = compose(SomeOf({.transforms = branches, .least = 1, .most = 3}));
  std::map<int, int> digits;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const int v = static_cast<int>(after(some, i));
    int count = 0;
    for (int left = v; left > 0; left /= 10) {
      EXPECT_LE(left % 10, 1) << "a branch ran twice";
      count += left % 10;
    }
    ++digits[count];
  }
  for (const int n : {1, 2, 3}) EXPECT_NEAR(digits[n], 1000, 130);
  const Pipeline twice = compose(SomeOf({.transforms = branches, .most = 2, .replace = true, .weights = {0, 0, 1, 0}}));
  EXPECT_EQ(after(twice, 1), 200);
  const Pipeline weighted = compose(SomeOf({.transforms = branches, .most = 2, .weights = {1, 1, 0, 8}}));
  int with_last = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const int v = static_cast<int>(after(weighted, i));
    EXPECT_EQ(v / 100 % 10, 0);
    with_last += v >= 1000;
  }
  // 1 - P(neither pick is the last) = 1 - 2 * (1/10)(1/9) = 0.978
  EXPECT_NEAR(with_last, 978, 20);
}

TEST(RandomOrder, Every_order_is_alike) {
  const Pipeline p = compose(RandomOrder({.transforms = {Add{2}, Times{3}, Add{5}}}));
  std::map<int, int> seen;
  for (std::uint64_t i = 0; i < 6000; ++i) ++seen[static_cast<int>(after(p, i))];
  // 2 3* 5, 2 5 3*, 5 2 3*, 5 3* 2, 3* first: 11, 21, 21, 17, 7, 7
  EXPECT_NEAR(seen[11], 1000, 150);
  EXPECT_NEAR(seen[21], 2000, 200);
  EXPECT_NEAR(seen[17], 1000, 150);
  EXPECT_NEAR(seen[7], 2000, 200);
}

// In a loader, where fields go to batch memory.
TEST(Choice, In_a_loader_gives_what_the_pipeline_gives) {
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i) {
    Sample s;
    s.set("image", counting<float>({1, 12, 10, 9}));
    s.tensor("image").add_(i);
    s.set("label", counting<std::uint8_t>({1, 12, 10, 9}));
    samples.push_back(std::move(s));
  }
  const Pipeline p =
      compose(RandSpatialCropSamples({.roi_size = 8, .num_samples = 3}),
              OneOf({.transforms = {compose(RandGaussianNoise({.keys = "image", .prob = 1}), RandZoom({.prob = 1}),
                                            RandFlip({.prob = .5})),
                                    compose(RandZoom({.prob = .5}),
                                            RandScaleIntensity({.keys = "image", .factors = .5, .prob = .5})),
                                    RandAxisFlip({.prob = 1}), CenterSpatialCrop({.roi_size = 8})}}),
              SomeOf({.transforms = {RandAffine({.prob = 1, .rotate_range = {.3, .3, .3}}),
                                     compose(RandAffine({.prob = 1, .translate_range = {2, 2, 2}}),
                                             RandAffine({.prob = 1, .scale_range = {.2, .2, .2}})),
                                     RandGaussianNoise({.keys = "image", .prob = .5})},
                      .least = 0,
                      .most = 3}));
  const MemoryDataset data(std::move(samples));
  Loader loader(data, p, {.batch_size = 2, .seed = 5, .threads = 3, .epochs = 1});
  std::uint64_t i = 0;
  for (const Batch& batch : loader.epoch(0))
    for (std::size_t k = 0; k < batch.size(); ++k, ++i) {
      const Sample expected = p.run(data(i / 3), item(i / 3))[i % 3], got = batch.sample(k);
      for (const char* field : {"image", "label"}) {
        EXPECT_TRUE(got.get(field).equal(expected.get(field).contiguous())) << field << " " << i;
        EXPECT_EQ(got.affine(field), expected.affine(field));
      }
    }
  EXPECT_EQ(i, 18u);
  const VerifyReport report =
      verify(data, p, {.loader = {.batch_size = 2}, .threads = {0, 3}, .windows = {2}, .epochs = 1});
  EXPECT_TRUE(report.equal) << report.message();
  EXPECT_EQ(report.failures, 0u) << report.message();
}

// Only the last op that touches a field asks for its place: what comes before would have to be copied again.
TEST(Choice, One_output_per_field_whatever_the_number_of_ops) {
  const RandAffine turn({.prob = 1, .rotate_range = {.3}});
  const OneOf op({.transforms = {compose(turn, turn, turn)}});
  Sample s = zeros();
  CountingPlace place;
  s.set_output_place(&place);
  op.apply(s, {.count = 1}, stream(1));
  EXPECT_EQ(place.outputs, 1);
  EXPECT_EQ(s.get("image").raw(), place.last.raw());
}

TEST(Choice, Specifications_agree_or_are_refused) {
  Sample s = zeros();
  const OneOf sizes({.transforms = {CenterSpatialCrop({.roi_size = {2, 4}}), CenterSpatialCrop({.roi_size = {3, 4}})}});
  EXPECT_EQ(sizes.infer(s.spec()).at("image").shape, (Shape{1, unknown, 4}));
  const OneOf types({.transforms = {RandFlip(), RandGaussianNoise({.dtype = DType::f64})}});
  EXPECT_TRUE(says(message_of([&] { types.infer(s.spec()); }), {"OneOf", "branch 1", "f64"}));
  const SomeOf crops({.transforms = {CenterSpatialCrop({.roi_size = 2})}});
  EXPECT_TRUE(says(message_of([&] { crops.infer(s.spec()); }), {"SomeOf", "branch 0", "no change"}));
}

TEST(Choice, Refuses_bad_options_and_names_what_fails_inside) {
  EXPECT_TRUE(says(message_of([] { OneOf({}); }), {"OneOf", "0 branches"}));
  EXPECT_TRUE(says(message_of([] { OneOf({.transforms = {Add{1}}, .weights = {1, 2}}); }), {"weights", "1 branches"}));
  EXPECT_TRUE(says(message_of([] { OneOf({.transforms = {Add{1}}, .weights = {0}}); }), {"sum above 0"}));
  EXPECT_TRUE(says(message_of([] { OneOf({.transforms = {Add{1}, Add{2}}, .weights = {-1, 2}}); }), {"0 or more"}));
  EXPECT_TRUE(says(message_of([] { OneOf({.transforms = {RandFlip({.op = 3})}}); }), {"pins", "RandFlip"}));
  EXPECT_TRUE(
      says(message_of([] { OneOf({.transforms = {RandSpatialCropSamples({.roi_size = 2})}}); }), {"one-to-many"}));
  EXPECT_TRUE(says(message_of([] { SomeOf({.transforms = {Add{1}}, .most = 2}); }), {"only 1"}));
  EXPECT_TRUE(says(message_of([] { SomeOf({.transforms = {Add{1}, Add{2}}, .least = 2, .most = 1}); }), {"least"}));
  EXPECT_TRUE(says(message_of([] {
                     compose(RandFlip({.op = 2}), OneOf({.transforms = {RandFlip(), RandFlip()}}));
                   }),
                   {"number 2"}));
  const Pipeline fails =
      compose(OneOf({.transforms = {compose(Add{1}, CenterSpatialCrop({.keys = "nothing", .roi_size = 1}))}}));
  EXPECT_TRUE(says(message_of([&] { fails.run(zeros(), item(0)); }), {"OneOf", "op 1 (CenterSpatialCrop)", "nothing"}));
}

}  // namespace
}  // namespace headrace
