#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <limits>
#include <string>
#include <vector>

#include "tensor/tensor_support.hpp"

using namespace headrace;
using namespace headrace_test;

namespace {

TEST(DType, NamesAndSizesGoBothWays) {
  const std::pair<const char*, const char*> names[] = {{"u8", "uint8"},      {"i8", "int8"},     {"u16", "uint16"},
                                                       {"i16", "int16"},     {"u32", "uint32"},  {"i32", "int32"},
                                                       {"u64", "uint64"},    {"i64", "int64"},   {"f16", "float16"},
                                                       {"bf16", "bfloat16"}, {"f32", "float32"}, {"f64", "float64"}};
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(name_of(all_dtypes[i]), names[i].first);
    EXPECT_EQ(parse_dtype(names[i].first), all_dtypes[i]);
    EXPECT_EQ(parse_dtype(names[i].second), all_dtypes[i]);
    visit_dtype(all_dtypes[i], [&](auto zero) {
      EXPECT_EQ(sizeof(zero), size_of(all_dtypes[i]));
      EXPECT_EQ(dtype_of<decltype(zero)>, all_dtypes[i]);
      EXPECT_EQ(is_floating(all_dtypes[i]),
                std::is_floating_point_v<decltype(zero)> || std::is_class_v<decltype(zero)>);
    });
  }
}

TEST(DType, UnknownNamesAreRefusedWithTheList) {
  for (const char* bad : {"", "F32", "float", "u8 ", "int", "double"}) {
    try {
      parse_dtype(bad);
      FAIL() << bad;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("'" + std::string(bad) + "'"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64"),
                std::string::npos)
          << e.what();
    }
  }
}

TEST(DType, StorageFormatsHaveNoArithmetic) {
  for (DType t : all_dtypes) {
    const bool storage_only = t == DType::f16 || t == DType::bf16;
    if (storage_only)
      EXPECT_THROW(visit_arithmetic(t, [](auto) {}), std::invalid_argument);
    else
      visit_arithmetic(t, [&](auto zero) { EXPECT_EQ(dtype_of<decltype(zero)>, t); });
    Tensor x = Tensor::zeros(t, {2});
    if (storage_only) {
      EXPECT_THROW(x.add_(1), std::invalid_argument);
      EXPECT_THROW(Tensor::empty(t, {0}).add_(1), std::invalid_argument);
    } else {
      EXPECT_EQ(x.add_(1).at({1}), 1);
    }
  }
}

struct Format {
  DType dtype;
  int exponent_bits, fraction_bits;
  std::uint16_t infinity() const { return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits); }
};
constexpr Format formats[] = {{DType::f16, 5, 10}, {DType::bf16, 8, 7}};

template <class T>
std::vector<std::uint16_t> narrowed(const std::vector<T>& values, DType to) {
  const Tensor t = Tensor::from(std::span<const T>(values), {static_cast<std::int64_t>(values.size())}).to(to);
  std::vector<std::uint16_t> bits(values.size());
  std::memcpy(bits.data(), t.raw(), t.bytes());
  return bits;
}

// The nearest pattern of a non-negative value by bisection over all finite patterns, ties to the even one.
std::uint16_t nearest(const Format& f, long double v) {
  const auto value = [&](int p) {
    // The first number that does not exist any more stands for infinity: half a step below it is where overflow begins.
    return p == f.infinity() ? std::ldexp(1.0L, 1 << (f.exponent_bits - 1))
                             : decode16(static_cast<std::uint16_t>(p), f.exponent_bits, f.fraction_bits);
  };
  if (v >= value(f.infinity())) return f.infinity();
  int low = 0, high = f.infinity();
  while (high - low > 1) (value((low + high) / 2) <= v ? low : high) = (low + high) / 2;
  const long double down = v - value(low), up = value(high) - v;
  return static_cast<std::uint16_t>(down < up || (down == up && low % 2 == 0) ? low : high);
}

TEST(HalfFormats, EveryPatternSurvivesTheWayThroughFloatAndDouble) {
  for (const Format& f : formats) {
    std::vector<std::uint16_t> patterns(65536);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    Tensor all = Tensor::empty(f.dtype, {65536});
    std::memcpy(all.mutable_raw(), patterns.data(), all.bytes());
    for (DType wide : {DType::f32, DType::f64}) {
      const Tensor w = all.to(wide), back = w.to(f.dtype);
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const long double expected = decode16(patterns[i], f.exponent_bits, f.fraction_bits);
        const long double got = decode(wide, w.raw() + i * size_of(wide));
        const std::uint16_t again = reinterpret_cast<const std::uint16_t*>(back.raw())[i];
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(got)) << i;
          ASSERT_EQ(std::signbit(got), (i & 0x8000) != 0) << i;
          ASSERT_EQ(again, (i & 0x8000) | f.infinity() | (1u << (f.fraction_bits - 1))) << i;
        } else {
          ASSERT_EQ(got, expected) << name_of(f.dtype) << " " << i;
          ASSERT_EQ(std::signbit(got), std::signbit(expected)) << i;
          ASSERT_EQ(again, patterns[i]) << i;
        }
      }
    }
  }
}

TEST(HalfFormats, DoublesAroundEveryTieRoundOnceToNearestEven) {
  for (const Format& f : formats) {
    std::vector<double> values;
    for (int p = 0; p < f.infinity(); ++p) {
      const auto low = static_cast<double>(decode16(static_cast<std::uint16_t>(p), f.exponent_bits, f.fraction_bits));
      const double high =
          p + 1 == f.infinity()
              ? std::ldexp(1.0, 1 << (f.exponent_bits - 1))
              : static_cast<double>(decode16(static_cast<std::uint16_t>(p + 1), f.exponent_bits, f.fraction_bits));
      const double tie = low + (high - low) / 2;
      for (double v :
           {low, tie, std::nextafter(tie, 0), std::nextafter(tie, HUGE_VAL), std::nextafter(low, HUGE_VAL)}) {
        values.push_back(v);
        values.push_back(-v);
      }
    }
    for (double v : {0.0, -0.0, 5e-324, 1e-310, 2.2e-308, 1e300, 1.7e308, 65519.999, 65520.0, 3.39e38, 3.4e38,
                     3.3961775292304957e38})
      values.push_back(v);
    const auto bits = narrowed(values, f.dtype);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto expected =
          static_cast<std::uint16_t>((std::signbit(values[i]) ? 0x8000 : 0) | nearest(f, std::fabs(values[i])));
      ASSERT_EQ(bits[i], expected) << name_of(f.dtype) << " " << std::hexfloat << values[i];
    }
    const auto special = narrowed<double>({HUGE_VAL, -HUGE_VAL, std::nan(""), -std::nan("")}, f.dtype);
    EXPECT_EQ(special[0], f.infinity());
    EXPECT_EQ(special[1], f.infinity() | 0x8000);
    EXPECT_EQ(special[2], f.infinity() | (1 << (f.fraction_bits - 1)));
    EXPECT_EQ(special[3], f.infinity() | (1 << (f.fraction_bits - 1)) | 0x8000);
  }
}

// A double rounding through float would land on the tie and go to even: down here, where up is right.
TEST(HalfFormats, NoDoubleRoundingThroughFloat) {
  const double v = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(narrowed<double>({v}, DType::bf16)[0], 0x3f81);
  EXPECT_EQ(narrowed<float>({static_cast<float>(v)}, DType::bf16)[0], 0x3f80);
  EXPECT_EQ(narrowed<double>({1 + 0x1p-11 + 0x1p-40}, DType::f16)[0], 0x3c01);
}

// 64-bit integers near ties hold more bits than a double.
TEST(HalfFormats, WideIntegersRoundOnce) {
  Engine e(1);
  std::vector<std::uint64_t> u;
  std::vector<std::int64_t> s;
  for (int k = 8; k < 63; ++k) {
    const std::uint64_t tie = (std::uint64_t{1} << k) + (std::uint64_t{1} << (k - 8));  // of bf16
    for (std::uint64_t v : {tie - 1, tie, tie + 1, tie + (tie >> 7), std::uint64_t{e() >> (63 - k)}}) u.push_back(v);
  }
  for (std::uint64_t v :
       {std::numeric_limits<std::uint64_t>::max(), (std::uint64_t{1} << 63) + (std::uint64_t{1} << 55) + 1})
    u.push_back(v);
  for (std::uint64_t v : u) {
    s.push_back(static_cast<std::int64_t>(v >> 1));
    s.push_back(-static_cast<std::int64_t>(v >> 1));
  }
  s.push_back(std::numeric_limits<std::int64_t>::min());
  for (const Format& f : formats) {
    const auto from_u = narrowed(u, f.dtype);
    for (std::size_t i = 0; i < u.size(); ++i) ASSERT_EQ(from_u[i], nearest(f, static_cast<long double>(u[i]))) << u[i];
    const auto from_s = narrowed(s, f.dtype);
    for (std::size_t i = 0; i < s.size(); ++i)
      ASSERT_EQ(from_s[i], (s[i] < 0 ? 0x8000 : 0) | nearest(f, std::fabs(static_cast<long double>(s[i])))) << s[i];
  }
}

TEST(HalfFormats, TheHostsRoundingModeHasNoSay) {
  Engine e(2);
  std::vector<double> values(2000);
  for (double& v : values)
    v = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(e), static_cast<int>(draw(e, -30, 18)));
  const int before = std::fegetround();
  for (const Format& f : formats) {
    const auto expected = narrowed(values, f.dtype);
    for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const auto got = narrowed(values, f.dtype);
      std::fesetround(before);
      EXPECT_EQ(got, expected) << mode;
    }
  }
}

}  // namespace
