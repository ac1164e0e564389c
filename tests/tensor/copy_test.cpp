// Copies: values for every pair of types, any pair of layouts, and who may be written to.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <thread>
#include <vector>

#include "tensor/tensor_support.hpp"

using namespace headrace;
using namespace headrace_test;

namespace {

// Values of a type that conversions stumble over, and random ones.
Tensor telling_values(Engine& e, DType dtype) {
  constexpr std::int64_t n = 600;
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    Tensor t = random_tensor(e, dtype, {n});
    T* p = t.mutable_data<T>();
    if constexpr (std::is_integral_v<T>) {
      std::int64_t k = 0;
      for (int bit = 0; bit < 8 * static_cast<int>(sizeof(T)); ++bit)
        for (std::uint64_t off : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
          p[k++] = static_cast<T>((std::uint64_t{1} << bit) + off);
      p[k++] = std::numeric_limits<T>::min();
      p[k++] = std::numeric_limits<T>::max();
      for (; k < n; k += 2) p[k] = static_cast<T>(e() >> draw(e, 0, 63));
    } else if constexpr (std::is_floating_point_v<T>) {
      std::int64_t k = 0;
      for (int bit : {0, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 127})
        for (T sign : {T{1}, T{-1}}) {
          const T v = sign * std::ldexp(T{1}, bit);
          for (T w : {v, std::nextafter(v, T{0}), std::nextafter(v, 2 * v), v + sign / 2, v - sign / 2, v - sign})
            p[k++] = w;
        }
      for (T v : {T{0}, -T{0}, T{0.5}, T{-0.5}, std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                  std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(),
                  std::numeric_limits<T>::denorm_min()})
        p[k++] = v;
      for (; k < n; k += 2)
        p[k] = static_cast<T>(
            std::ldexp(static_cast<double>(draw(e, -1000000, 1000000)), static_cast<int>(draw(e, -20, 45))));
    }
    return t;
  });
}

// The value a converted element must have: the documented rules, in long double.
long double converted(long double v, DType to) {
  return visit_dtype(to, [&](auto zero) -> long double {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (std::isnan(v)) return 0;
      return std::fmin(std::fmax(std::trunc(v), static_cast<long double>(std::numeric_limits<T>::min())),
                       static_cast<long double>(std::numeric_limits<T>::max()));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<long double>(static_cast<T>(v));
    } else {
      // Nearest by neighbours: the format's spacing at v.
      const int exponent_bits = std::is_same_v<T, Half> ? 5 : 8, fraction_bits = 15 - exponent_bits;
      if (!std::isfinite(v) || v == 0) return v;
      const int smallest = 2 - (1 << (exponent_bits - 1));
      const int exponent = std::max(std::ilogb(v), smallest);
      const long double rounded =
          std::ldexp(std::nearbyint(std::ldexp(v, fraction_bits - exponent)), exponent - fraction_bits);
      const long double limit = std::ldexp(1.0L, 1 << (exponent_bits - 1));
      return std::fabs(rounded) >= limit ? std::copysign(HUGE_VALL, v) : rounded;
    }
  });
}

TEST(TensorConversion, EveryPairOfTypesFollowsTheRules) {
  Engine e(30);
  for (DType from : all_dtypes) {
    const Tensor src = telling_values(e, from);
    for (DType to : all_dtypes) {
      if (from == to) continue;
      const Tensor dst = src.to(to);
      for (std::int64_t i = 0; i < src.numel(); ++i) {
        const long double v = decode(from, address(src, {i})), got = decode(to, address(dst, {i})),
                          expected = converted(v, to);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(got)) << name_of(from) << " -> " << name_of(to) << " at " << i;
        } else {
          ASSERT_EQ(got, expected) << name_of(from) << " " << static_cast<double>(v) << " -> " << name_of(to);
        }
        if (is_floating(from) && is_floating(to) && !std::isnan(v)) {
          ASSERT_EQ(std::signbit(got), std::signbit(v));
        }
      }
    }
    EXPECT_EQ(src.to(from).raw(), src.raw());
  }
}

TEST(TensorConversion, SingleElementsFollowTheSameRules) {
  const Tensor t = Tensor::from<double>({-3.7, 1e300, std::nan("")}, {3});
  EXPECT_EQ(t.at<std::int32_t>({0}), -3);
  EXPECT_EQ(t.at<std::int32_t>({1}), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(t.at<std::int64_t>({2}), 0);
  EXPECT_EQ(t.select(0, 0).item<float>(), -3.7f);
  EXPECT_EQ(Tensor::from<std::uint64_t>({~std::uint64_t{0}}, {1}).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::max());
}

// Same type: the very bits. Every combination of gaps, orders, flips and short or long rows.
TEST(TensorCopy, AnyLayoutToAnyLayout) {
  Engine e(31);
  for (int round = 0; round < 3000; ++round) {
    const DType dtype = all_dtypes[draw(e, 0, 11)];
    const Shape shape = random_shape(e, static_cast<int>(draw(e, 0, 6)), round % 10 == 0 ? 4 : 3, true);
    const Tensor src = random_layout(e, dtype, shape);
    Tensor dst = random_layout(e, dtype, shape);
    const Tensor before = Tensor(dst.storage(), DType::u8, {static_cast<std::int64_t>(dst.storage().bytes())}).clone();
    dst.copy_from(src);
    std::vector<bool> written(dst.storage().bytes(), false);
    for_each_index(shape, [&](const Index& i) {
      ASSERT_EQ(std::memcmp(address(dst, i), address(src, i), size_of(dtype)), 0)
          << src.strides().str() << dst.strides().str();
      for (std::size_t b = 0; b < size_of(dtype); ++b)
        written[static_cast<std::size_t>(address(dst, i) - dst.storage().data()) + b] = true;
    });
    for (std::size_t b = 0; b < written.size(); ++b) {
      ASSERT_TRUE(written[b] || dst.storage().data()[b] == before.raw()[b]) << "a byte outside the view changed";
    }
    ASSERT_TRUE(src.equal(dst));
    ASSERT_TRUE(src.clone().is_contiguous());
    ASSERT_TRUE(src.clone().equal(src));
    // With a conversion: element by element the same as alone.
    const DType other = all_dtypes[draw(e, 0, 11)];
    Tensor wide = random_layout(e, other, shape);
    wide.copy_from(src);
    const Tensor alone = src.clone().to(other);
    for_each_index(
        shape, [&](const Index& i) { ASSERT_EQ(std::memcmp(address(wide, i), address(alone, i), size_of(other)), 0); });
  }
}

// Reversed rows are moved eight bytes at a time: every length and phase.
TEST(TensorCopy, ReversedRowsOfEveryLength) {
  Engine e(32);
  for (DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64})
    for (std::int64_t n = 1; n <= 70; ++n)
      for (std::int64_t start : {0, 1, 3}) {
        const Tensor src = random_tensor(e, dtype, {2, n + start + 1}).narrow(1, start, n).flip({1});
        const Tensor dst = src.clone();
        for (std::int64_t r = 0; r < 2; ++r)
          for (std::int64_t i = 0; i < n; ++i)
            ASSERT_EQ(std::memcmp(address(src, {r, i}), address(dst, {r, i}), size_of(dtype)), 0) << n << " " << i;
      }
}

// Turned axes are moved in squares of one cache line a side: sizes around it, every order of axes, flips.
TEST(TensorCopy, TurnedAxesOfEverySizeAroundTheSquare) {
  Engine e(33);
  for (DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64}) {
    const auto side = static_cast<std::int64_t>(64 / size_of(dtype));
    for (std::int64_t x : {side - 1, side, side + 1, 2 * side + 3})
      for (std::int64_t y : {std::int64_t{1}, side - 1, side, side + 1})
        for (const std::array<int, 3>& order : {std::array{2, 1, 0}, std::array{2, 0, 1}, std::array{1, 2, 0},
                                                std::array{1, 0, 2}, std::array{0, 2, 1}}) {
          Tensor src = random_tensor(e, dtype, {x, 3, y}).permute(order);
          for (int d = 0; d < 3; ++d)
            if (draw(e, 0, 1)) src = src.flip({d});
          const Tensor dst = src.clone();
          for_each_index(src.shape(), [&](const Index& i) {
            ASSERT_EQ(std::memcmp(address(src, i), address(dst, i), size_of(dtype)), 0) << x << " " << y;
          });
        }
  }
}

TEST(TensorCopy, RefusesWrongDestinations) {
  Tensor t = Tensor::zeros(DType::f32, {4, 4});
  EXPECT_THROW(t.copy_from(Tensor::zeros(DType::f32, {4, 5})), std::invalid_argument);
  EXPECT_THROW(t.copy_from(Tensor::zeros(DType::f32, {16})), std::invalid_argument);
  Tensor half = t.narrow(0, 0, 2), other = t.narrow(0, 1, 2), rest = t.narrow(0, 2, 2);
  EXPECT_THROW(half.copy_from(half), std::invalid_argument);
  EXPECT_THROW(half.copy_from(other), std::invalid_argument);
  EXPECT_THROW(half.copy_from(half.flip({0})), std::invalid_argument);
  half.copy_from(rest);
  Tensor repeated(t.storage(), DType::f32, {3, 4}, {0, 1});
  EXPECT_THROW(repeated.copy_from(Tensor::zeros(DType::f32, {3, 4})), std::invalid_argument);
  Storage s = t.storage();
  s.set_read_only();
  EXPECT_THROW(t.copy_from(Tensor::zeros(DType::f32, {4, 4})), std::invalid_argument);
  EXPECT_TRUE(Tensor::zeros(DType::f32, {3, 4}).equal(repeated));  // reading a repetition is fine
}

TEST(CopyOnWrite, TheOnlyOwnerWritesInPlace) {
  Tensor t = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  const std::byte* where = t.raw();
  EXPECT_TRUE(t.writable());
  t.add_(1);
  t.mutable_data<float>()[0] = 9;
  EXPECT_EQ(t.raw(), where);
  EXPECT_EQ(t.at({0, 0}), 9);
  EXPECT_EQ(t.at({1, 1}), 5);
  // A view that is the last handle writes in place too, around the elements it does not show.
  Tensor column = t.narrow(1, 1, 1);
  t = Tensor();
  EXPECT_TRUE(column.writable());
  column.mul_(2);
  EXPECT_EQ(column.raw(), where + 4);
  EXPECT_EQ(reinterpret_cast<const float*>(where)[0], 9);
}

TEST(CopyOnWrite, NobodyElseSeesAWrite) {
  for (int mode = 0; mode < 3; ++mode) {
    Tensor a = Tensor::from<std::int16_t>({1, 2, 3, 4, 5, 6}, {2, 3});
    Storage s = a.storage();
    if (mode == 1) s.set_read_only();
    if (mode != 0) s.reset();
    Tensor b = a;
    if (mode == 1) a = a.flip({1});  // read-only, and shared
    if (mode == 2) b = b.permute({1, 0});
    EXPECT_FALSE(b.writable());
    const Tensor seen = a.clone();
    b.fill_(7);
    EXPECT_TRUE(a.equal(seen));
    EXPECT_EQ(b.at({1, 1}), 7);
    EXPECT_TRUE(b.is_contiguous());
    EXPECT_TRUE(b.writable());
    EXPECT_FALSE(b.storage().same_block(a.storage()));
  }
}

TEST(CopyOnWrite, ReadOnlyStorageIsNeverWrittenEvenByItsOnlyOwner) {
  std::vector<float> memory{1, 2, 3};
  Tensor t(Storage::wrap(memory.data(), 12, true, {}), DType::f32, {3});
  EXPECT_FALSE(t.writable());
  t.mutable_data<float>()[1] = 8;
  EXPECT_EQ(memory[1], 2);
  EXPECT_EQ(t.at({1}), 8);
  EXPECT_TRUE(t.writable());
}

TEST(CopyOnWrite, OnlyTheViewsExtentIsCopied) {
  const Tensor whole = Tensor::zeros(DType::u8, {100, 100, 100});
  Tensor patch = whole.crop(Index{10, 20, 30}, Index{4, 5, 6}).flip({0, 2});
  patch.add_(1);
  EXPECT_EQ(patch.storage().bytes(), 120u);
  EXPECT_EQ(patch.strides(), (Shape{30, 6, 1}));
}

TEST(CopyOnWrite, RepeatedElementsAreSpreadBeforeAWrite) {
  Tensor t(Tensor::from<float>({1, 2}, {2}).storage(), DType::f32, {3, 2}, {0, 1});
  EXPECT_FALSE(t.writable());
  t.add_(1);
  EXPECT_TRUE(t.equal(Tensor::from<float>({2, 3, 2, 3, 2, 3}, {3, 2})));
}

TEST(TensorArithmetic, RoundsAndClampsAsDocumented) {
  EXPECT_TRUE(
      Tensor::from<std::uint8_t>({0, 100, 250}, {3}).add_(10.9).equal(Tensor::from<std::uint8_t>({10, 110, 255}, {3})));
  EXPECT_TRUE(
      Tensor::from<std::int8_t>({-100, 3, 100}, {3}).mul_(-1.5).equal(Tensor::from<std::int8_t>({127, -4, -128}, {3})));
  EXPECT_TRUE(Tensor::from<float>({1, 2}, {2}).add_(0.1).equal(Tensor::from<float>({1 + 0.1f, 2 + 0.1f}, {2})));
  EXPECT_TRUE(Tensor::from<double>({1, 2}, {2, 1}).permute({1, 0}).mul_(3).equal(Tensor::from<double>({3, 6}, {1, 2})));
  EXPECT_EQ(Tensor::from<double>({5}, {}).add_(1).item(), 6);
  Tensor strided = Tensor::zeros(DType::i32, {3, 4});
  Tensor part = strided.crop(Index{1, 1}, Index{2, 2}).flip({1});
  strided = Tensor();
  part.fill_(5);
  EXPECT_TRUE(part.equal(Tensor::from<std::int32_t>({5, 5, 5, 5}, {2, 2})));
}

TEST(TensorEqual, ComparesTypeShapeAndBits) {
  const Tensor a = Tensor::from<float>({0.0f, std::nanf("")}, {2});
  EXPECT_TRUE(a.equal(a.clone()));
  EXPECT_FALSE(a.equal(Tensor::from<float>({-0.0f, std::nanf("")}, {2})));
  EXPECT_FALSE(a.equal(a.reshape({2, 1})));
  EXPECT_FALSE(Tensor::zeros(DType::f32, {2}).equal(Tensor::zeros(DType::i32, {2})));
  EXPECT_TRUE(Tensor::zeros(DType::f32, {0, 3}).equal(Tensor::empty(DType::f32, {0, 3})));
  EXPECT_FALSE(Tensor::zeros(DType::f32, {0, 3}).equal(Tensor::empty(DType::f32, {3, 0})));
}

}  // namespace
