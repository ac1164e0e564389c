#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <headrace/transform/resample.hpp>
#include <limits>
#include <string>
#include <utility>

#include "reference_sampler.hpp"

namespace headrace {
namespace {

using test::Dice;

constexpr std::array all_types{DType::u8,  DType::i8,  DType::u16, DType::i16,  DType::u32, DType::i32,
                               DType::u64, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr std::array all_paddings{Padding::zeros, Padding::border, Padding::reflection};

Shape random_shape(Dice& dice, int rank, std::int64_t channels, std::int64_t least, std::int64_t most) {
  Shape shape{channels};
  for (int d = 0; d < rank; ++d) shape.push_back(dice.between(least, most));
  return shape;
}

// The same values under other strides: cut out of something larger, mirrored, or with axes in another order in memory.
Tensor strided_copy(Dice& dice, const Tensor& t) {
  const int rank = t.rank();
  std::array<int, 4> order{0, 1, 2, 3};
  for (int d = rank - 1; d > 0; --d)
    std::swap(order[static_cast<std::size_t>(d)], order[static_cast<std::size_t>(dice.between(0, d))]);
  const std::span<const int> forward(order.data(), static_cast<std::size_t>(rank));
  std::array<int, 4> inverse{};
  for (int d = 0; d < rank; ++d) inverse[static_cast<std::size_t>(order[static_cast<std::size_t>(d)])] = d;
  std::vector<int> flips;
  for (int d = 0; d < rank; ++d)
    if (dice.coin()) flips.push_back(d);
  const Tensor turned = t.permute(forward);
  Shape larger;
  Shape start;
  for (int d = 0; d < rank; ++d) {
    start.push_back(dice.between(0, 2));
    larger.push_back(turned.size(d) + start[d] + dice.between(0, 2));
  }
  Tensor room = Tensor::zeros(t.dtype(), larger);
  Tensor window = room.crop(std::as_const(start), turned.shape())
                      .permute({inverse.data(), static_cast<std::size_t>(rank)})
                      .flip(flips);
  window.copy_from(t);
  EXPECT_TRUE(window.equal(t));
  return window;
}

Tensor run(const Tensor& in, const Shape& out_shape, const Affine& map, const ResampleOptions& options) {
  Tensor out = Tensor::empty(in.dtype(), out_shape);
  std::memset(const_cast<std::byte*>(out.raw()), 0xA5, out.bytes());
  resample(in, out, map, options);
  return out;
}

std::string show(const Tensor& in, const Shape& out, const Affine& map, const ResampleOptions& o) {
  return std::string(name_of(in.dtype())) + " " + in.shape().str() + " strides " + in.strides().str() + " -> " +
         out.str() + " map " + map.str() + " " + std::string(name_of(o.mode)) + " " +
         std::string(name_of(o.padding_mode)) + (o.align_corners ? " align_corners" : "");
}

struct Case {
  Tensor in;
  Shape out;
  Affine map;
  ResampleOptions options;
};

Case random_case(Dice& dice, DType dtype, int rank) {
  Case c;
  const std::int64_t channels = dice.between(1, 3);
  const Shape shape = random_shape(dice, rank, channels, 1, 12);
  c.in = test::random_tensor(dice, dtype, shape);
  if (dice.coin()) c.in = strided_copy(dice, c.in);
  c.out = random_shape(dice, rank, channels, 1, 14);
  c.map = dice.map(rank, shape, c.out);
  if (dice.between(0, 3) == 0)  // rows along an axis
    for (int r = 0; r < rank; ++r)
      for (int e = 0; e < rank; ++e)
        if (r != e) c.map(r, e) = 0;
  c.options.padding_mode = all_paddings[static_cast<std::size_t>(dice.between(0, 2))];
  c.options.align_corners = dice.coin();
  return c;
}

TEST(Resample, LinearAgreesWithThePlainSampler) {
  Dice dice(1);
  for (int n = 0; n < 600; ++n) {
    const DType dtype = all_types[static_cast<std::size_t>(n) % all_types.size()];
    Case c = random_case(dice, dtype, 1 + n % 3);
    c.options.mode = Interpolation::linear;
    SCOPED_TRACE(show(c.in, c.out, c.map, c.options));
    const Tensor got = run(c.in, c.out, c.map, c.options).to(DType::f64);
    const auto want =
        test::reference_resample(c.in, c.out, c.map, false, c.options.padding_mode, c.options.align_corners);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double g = got.data<double>()[i];
      const double w = want[i].value;
      double bound = 1e-6;  // on values of about unit size
      if (dtype == DType::f64) bound = 1e-13;
      if (dtype == DType::f16) bound = 0x1p-10;
      if (dtype == DType::bf16) bound = 0x1p-7;
      if (!is_floating(dtype)) bound = size_of(dtype) == 8 ? 3 : 0.5 + 1e-6;  // eight bytes: values up to 2^50
      ASSERT_NEAR(g, w, bound) << "element " << i;
    }
  }
}

TEST(Resample, NearestIsExactOutsideOfTies) {
  Dice dice(2);
  std::size_t compared = 0, ties = 0;
  for (int n = 0; n < 600; ++n) {
    const DType dtype = all_types[static_cast<std::size_t>(n) % all_types.size()];
    Case c = random_case(dice, dtype, 1 + n % 3);
    c.options.mode = Interpolation::nearest;
    SCOPED_TRACE(show(c.in, c.out, c.map, c.options));
    const Tensor got = run(c.in, c.out, c.map, c.options).to(DType::f64);
    const auto want =
        test::reference_resample(c.in, c.out, c.map, true, c.options.padding_mode, c.options.align_corners);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i].to_tie < 1e-4) {
        ++ties;
        continue;
      }
      ++compared;
      ASSERT_EQ(got.data<double>()[i], want[i].value) << "element " << i;
    }
  }
  EXPECT_GT(compared, 100 * ties);
}

TEST(Resample, TiesGoToTheEvenIndex) {
  const Tensor in = Tensor::from<std::uint8_t>({0, 1, 2, 3}, {1, 1, 4});
  Affine half = Affine::scaling({1, 0.5, 1});
  EXPECT_TRUE(run(in, {1, 1, 7}, half, {.mode = Interpolation::nearest})
                  .equal(Tensor::from<std::uint8_t>({0, 0, 1, 2, 2, 2, 3}, {1, 1, 7})));
  // -0.5 and n-0.5 with zeros: -0.5 rounds to 0, 3.5 rounds to 4, which is outside
  half(1, 3) = -0.5;
  EXPECT_TRUE(run(in, {1, 1, 9}, half, {.mode = Interpolation::nearest, .padding_mode = Padding::zeros})
                  .equal(Tensor::from<std::uint8_t>({0, 0, 0, 1, 2, 2, 2, 3, 0}, {1, 1, 9})));
  // a value half way: to the even integer
  const Tensor steps = Tensor::from<std::int16_t>({-3, -2, 1, 2, 3, 4}, {1, 1, 6});
  half(1, 3) = 0;
  EXPECT_TRUE(run(steps, {1, 1, 11}, half, {.mode = Interpolation::linear})
                  .equal(Tensor::from<std::int16_t>({-3, -2, -2, 0, 1, 2, 2, 2, 3, 4, 4}, {1, 1, 11})));
}

// The split of rows into interior and edges is a matter of speed: moving the image inside a frame of its own
// continuation turns edge voxels into interior ones and must not move a bit.
TEST(Resample, EdgesAndInteriorGiveTheSameBits) {
  Dice dice(3);
  for (int n = 0; n < 60; ++n) {
    const int rank = 2 + n % 2;
    const DType dtype = n % 5 == 0 ? DType::i16 : n % 5 == 1 ? DType::f64 : DType::f32;
    const Shape shape = random_shape(dice, rank, 1, 3, 9);
    const Tensor inner = test::random_tensor(dice, dtype, shape);
    Shape framed_shape = shape, start = shape;
    start[0] = 0;
    for (int d = 1; d <= rank; ++d) framed_shape[d] += 32, start[d] = 16;
    Tensor framed = Tensor::zeros(dtype, framed_shape);
    framed.crop(std::as_const(start), shape).copy_from(inner);
    const Shape out = random_shape(dice, rank, 1, 3, 9);
    // coordinates on a grid of 1/64, so that shifting them by 16 is exact
    Affine map = dice.map(rank, shape, out);
    for (double& v : map.m) v = std::round(v * 64) / 64;
    Affine shifted = map;
    for (int d = 0; d < rank; ++d) shifted(d, 3) += 16;
    const ResampleOptions options{.mode = Interpolation::linear, .padding_mode = Padding::zeros};
    SCOPED_TRACE(show(inner, out, map, options));
    EXPECT_TRUE(run(inner, out, map, options).equal(run(framed, out, shifted, options)));
  }
}

TEST(Resample, ViewsGiveTheSameBitsAsCopies) {
  Dice dice(4);
  for (int n = 0; n < 100; ++n) {
    Case c = random_case(dice, all_types[static_cast<std::size_t>(n) % all_types.size()], 1 + n % 3);
    c.options.mode = n % 2 == 0 ? Interpolation::linear : Interpolation::nearest;
    const Tensor view = strided_copy(dice, c.in);
    SCOPED_TRACE(show(view, c.out, c.map, c.options));
    EXPECT_TRUE(run(view, c.out, c.map, c.options).equal(run(c.in.clone(), c.out, c.map, c.options)));
  }
}

TEST(Resample, IdentityKeepsEveryBit) {
  Dice dice(5);
  for (const DType dtype : all_types)
    for (const Interpolation mode : {Interpolation::linear, Interpolation::nearest})
      for (const Padding padding : all_paddings) {
        const Tensor in = test::random_tensor(dice, dtype, {2, 5, 4, 6});
        const ResampleOptions options{.mode = mode, .padding_mode = padding};
        EXPECT_TRUE(run(in, in.shape(), {}, options).equal(in)) << show(in, in.shape(), {}, options);
      }
}

TEST(Resample, ModeByTypeIsLinearForFloatsAndNearestForIntegers) {
  const Affine half = Affine::scaling({1, 0.6, 1});
  EXPECT_EQ(run(Tensor::from<float>({0, 1}, {1, 1, 2}), {1, 1, 2}, half, {}).at({0, 0, 1}), 0.6f);
  EXPECT_EQ(run(Tensor::from<std::int32_t>({0, 10}, {1, 1, 2}), {1, 1, 2}, half, {}).at({0, 0, 1}), 10);
}

TEST(Resample, NotANumberAndInfinityComeFromInsideOnly) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor in = Tensor::from<float>({inf, 1, 2, nan}, {1, 1, 4});
  Affine map = Affine::translation({0, -1.5, 0});
  const Tensor border = run(in, {1, 1, 6}, map, {.mode = Interpolation::linear});
  EXPECT_EQ(border.at({0, 0, 0}), inf);
  EXPECT_EQ(border.at({0, 0, 1}), inf);
  EXPECT_EQ(border.at({0, 0, 2}), inf);
  EXPECT_EQ(border.at({0, 0, 3}), 1.5);
  EXPECT_TRUE(std::isnan(border.at({0, 0, 4})));
  EXPECT_TRUE(std::isnan(border.at({0, 0, 5})));
  // the last voxel: its missing neighbour counts as 0, not as 0 * infinity
  const Tensor end = run(Tensor::from<float>({1, inf}, {1, 1, 2}), {1, 1, 1}, Affine::translation({0, 1, 0}),
                         {.mode = Interpolation::linear});
  EXPECT_EQ(end.at({0, 0, 0}), inf);
}

TEST(Resample, FarAwayCoordinatesAreHarmless) {
  Dice dice(6);
  const Tensor in = test::random_tensor(dice, DType::f32, {1, 3, 4, 5});
  for (const double far : {1e9, 1e18, 1e300, -1e9, -1e18, -1e300})
    for (const Interpolation mode : {Interpolation::linear, Interpolation::nearest}) {
      Affine map = Affine::scaling({1, 1, far});
      map(0, 3) = far;
      map(1, 2) = far;
      EXPECT_TRUE(run(in, {1, 3, 3, 3}, map, {.mode = mode, .padding_mode = Padding::zeros})
                      .equal(Tensor::zeros(DType::f32, {1, 3, 3, 3})));
      for (const Padding padding : {Padding::border, Padding::reflection})
        for (const double v : {run(in, {1, 3, 3, 3}, map, {.mode = mode, .padding_mode = padding}).at({0, 2, 2, 2})})
          EXPECT_LE(std::fabs(v), 2.0);
    }
}

// A destination inside a larger block that others hold too, as in a batch slot: written in place, and nowhere else.
TEST(Resample, WritesInPlaceIntoASharedSlot) {
  Dice dice(7);
  const Tensor in = test::random_tensor(dice, DType::f32, {1, 6, 6, 6});
  const Tensor slot = Tensor::zeros(DType::f32, {3, 1, 4, 4, 4});
  Tensor middle = slot.select(0, 1);
  ASSERT_FALSE(middle.writable());
  const std::byte* before = middle.raw();
  resample(in, middle, Affine::translation({0.5, 0.5, 0.5}));
  EXPECT_EQ(middle.raw(), before);
  EXPECT_TRUE(slot.select(0, 1).equal(run(in, {1, 4, 4, 4}, Affine::translation({0.5, 0.5, 0.5}), {})));
  EXPECT_TRUE(slot.select(0, 0).equal(Tensor::zeros(DType::f32, {1, 4, 4, 4})));
  EXPECT_TRUE(slot.select(0, 2).equal(Tensor::zeros(DType::f32, {1, 4, 4, 4})));
}

TEST(Resample, RefusesWhatItCannotDo) {
  const Tensor in = Tensor::zeros(DType::f32, {1, 4, 4});
  const auto refuses = [&](const Tensor& from, Tensor to, const Affine& map, const std::string& what) {
    try {
      resample(from, to, map);
      ADD_FAILURE() << "accepted: " << what;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    }
  };
  refuses(Tensor::zeros(DType::f32, {4}), Tensor::zeros(DType::f32, {4}), {}, "1 to 3 spatial axes");
  refuses(Tensor::zeros(DType::f32, {1, 2, 2, 2, 2}), Tensor::zeros(DType::f32, {1, 2, 2, 2, 2}), {},
          "1 to 3 spatial axes");
  refuses(in, Tensor::zeros(DType::f64, {1, 4, 4}), {}, "f64");
  refuses(in, Tensor::zeros(DType::f32, {2, 4, 4}), {}, "channels");
  refuses(in, Tensor::zeros(DType::f32, {1, 4, 4, 4}), {}, "rank");
  refuses(in, Tensor::zeros(DType::f32, {1, 4, 4}).permute({0, 2, 1}), {}, "contiguous");
  refuses(Tensor::zeros(DType::f32, {1, 0, 4}), Tensor::zeros(DType::f32, {1, 4, 4}), {}, "no voxel");
  refuses(in, in, {}, "share memory");
  Affine broken;
  broken(0, 1) = std::numeric_limits<double>::quiet_NaN();
  refuses(in, Tensor::zeros(DType::f32, {1, 4, 4}), broken, "not finite");
  Tensor frozen = Tensor::zeros(DType::f32, {1, 4, 4});
  Storage storage = frozen.storage();
  storage.set_read_only();
  refuses(in, frozen, {}, "read-only");
  Tensor nothing = Tensor::zeros(DType::f32, {1, 0, 4});
  resample(in, nothing, {});
}

}  // namespace
}  // namespace headrace
