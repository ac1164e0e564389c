// What comes out of a file: types, byte order, scaling, layout, and values that do not fit.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <headrace/io/nifti_reader.hpp>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
constexpr int nifti_code() {
  switch (dtype_of<T>) {
    case DType::u8:
      return 2;
    case DType::i16:
      return 4;
    case DType::i32:
      return 8;
    case DType::f32:
      return 16;
    case DType::f64:
      return 64;
    case DType::i8:
      return 256;
    case DType::u16:
      return 512;
    case DType::u32:
      return 768;
    case DType::i64:
      return 1024;
    default:
      return 1280;
  }
}
template <class T>
HeaderBuilder builder(std::vector<int> sizes, bool big = false) {
  return HeaderBuilder(std::move(sizes), nifti_code<T>(), static_cast<int>(8 * sizeof(T)), big);
}

template <class T>
class NiftiTypes : public testing::Test {};
using Stored = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                              std::uint64_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(NiftiTypes, Stored);

template <class T>
std::vector<T> extremes() {
  using L = std::numeric_limits<T>;
  std::vector<T> v{L::lowest(), L::max(), T(0), T(1), T(2), T(100)};
  while (v.size() < 24) v.push_back(static_cast<T>(v.size()));
  if constexpr (std::is_floating_point_v<T>) {
    v[3] = std::numeric_limits<T>::quiet_NaN();
    v[4] = L::infinity();
    v[5] = T(-0.0);
    v[6] = L::denorm_min();
  }
  return v;
}

// Each stored type, in both byte orders, to itself: every bit as it was, in transposed order.
TYPED_TEST(NiftiTypes, ToItself) {
  const Folder folder;
  const auto values = extremes<TypeParam>();
  for (const bool big : {false, true}) {
    const std::string path = folder.write("a.nii", builder<TypeParam>({2, 3, 4}, big).with(values));
    const NiftiImage image = read_nifti(path, {.dtype = dtype_of<TypeParam>});
    ASSERT_EQ(image.tensor.shape(), (Shape{1, 2, 3, 4}));
    ASSERT_EQ(image.tensor.dtype(), dtype_of<TypeParam>);
    ASSERT_TRUE(image.tensor.is_contiguous());
    const TypeParam* out = image.tensor.data<TypeParam>();
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 4; ++k)
          EXPECT_EQ(std::memcmp(&out[(i * 3 + j) * 4 + k], &values[i + 2 * (j + 3 * k)], sizeof(TypeParam)), 0)
              << i << j << k;
    EXPECT_EQ(image.header.big_endian, big);
  }
}

// Each stored type to float: one conversion, no detour through double that would round twice.
TYPED_TEST(NiftiTypes, ToFloat) {
  const Folder folder;
  auto values = extremes<TypeParam>();
  if constexpr (std::is_same_v<TypeParam, std::int64_t> || std::is_same_v<TypeParam, std::uint64_t>)
    values[7] = (TypeParam(1) << 54) + (TypeParam(1) << 30) + 1;  // to double and then to float would give 2^54
  for (const bool big : {false, true}) {
    const NiftiImage image = read_nifti(folder.write("a.nii", builder<TypeParam>({24}, big).with(values)));
    const float* out = image.tensor.data<float>();
    for (std::size_t i = 0; i < 24; ++i) {
      const float expected = static_cast<float>(values[i]);
      EXPECT_EQ(std::memcmp(&out[i], &expected, sizeof(float)), 0) << i << ": " << out[i] << " for " << expected;
    }
  }
}

TEST(NiftiValues, FloatRoundsLargeIntegers) {
  const Folder folder;
  const std::string path =
      folder.write("a.nii", builder<std::int32_t>({2}).with(std::vector<std::int32_t>{16777217, -16777219}));
  EXPECT_EQ(read_nifti(path).tensor.at<float>({0, 0}), 16777216.0f);
  EXPECT_EQ(read_nifti(path).tensor.at<float>({0, 1}), -16777220.0f);
}

TEST(NiftiValues, ScalingIsInDoubleAndCastOnce) {
  const Folder folder;
  const std::vector<std::int16_t> raw{10001, 0, -3, 7};
  const auto value = [&](double slope, double inter, std::size_t i) {
    const std::string path = folder.write("a.nii", builder<std::int16_t>({4}).scaling(slope, inter).with(raw));
    return read_nifti(path).tensor.at<float>({0, static_cast<std::int64_t>(i)});
  };
  EXPECT_FLOAT_EQ(value(0.1, -1024.3, 0), -24.2000332f);
  EXPECT_EQ(value(0.1, -1024.3, 0),
            static_cast<float>(10001 * static_cast<double>(0.1f) + static_cast<double>(-1024.3f)));
  EXPECT_NE(value(0.1, -1024.3, 0), 10001 * 0.1f + -1024.3f);
  for (double slope : {0.0, nan, inf, -inf})
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(value(slope, 5, i), raw[i]) << slope;
  EXPECT_EQ(value(1, 5, 2), 2);
  EXPECT_EQ(value(-2, 0, 3), -14);
  EXPECT_EQ(value(2, -1, 0), 20001);
}

// The header edits of the golden list: int16 2 x 3 x 4, file-order values 0..23.
TEST(NiftiValues, HeaderEdits) {
  const Folder folder;
  std::vector<std::int16_t> raw(24);
  std::iota(raw.begin(), raw.end(), std::int16_t{0});
  HeaderBuilder base = builder<std::int16_t>({2, 3, 4});
  base.pixdim(-1, 2, 3, 4).srow({-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30}).quaternion(0, 1, 0, 10, -20, 30).forms(1, 1);

  const NiftiImage plain = read_nifti(folder.write("a.nii", base.with(raw)));
  EXPECT_EQ(plain.affine(0, 0), -2);
  EXPECT_EQ(plain.affine.apply({0, 0, 0}), (std::array<double, 3>{10, -20, 30}));
  EXPECT_EQ(plain.tensor.at({0, 1, 0, 0}), 1);
  EXPECT_EQ(plain.tensor.at({0, 0, 1, 0}), 2);
  EXPECT_EQ(plain.tensor.at({0, 0, 0, 1}), 6);

  HeaderBuilder scaled = base;
  const NiftiImage s = read_nifti(folder.write("a.nii", scaled.scaling(2, -1).with(raw)));
  EXPECT_EQ(s.tensor.at({0, 0, 0, 0}), -1);
  EXPECT_EQ(s.tensor.at({0, 1, 2, 3}), 45);

  HeaderBuilder none = base;
  const NiftiImage n = read_nifti(folder.write("a.nii", none.forms(0, 0).with(raw)));
  EXPECT_EQ(n.affine(0, 0), -2);
  EXPECT_EQ(n.affine.apply({0, 0, 0}), (std::array<double, 3>{1, -3, -6}));

  // With qfac -1 and a half turn about y the third column is +4; qfac 0 is read as 1 and turns it.
  HeaderBuilder q = base;
  EXPECT_EQ(read_nifti(folder.write("a.nii", q.forms(1, 0).with(raw))).affine(2, 2), 4);
  EXPECT_EQ(read_nifti(folder.write("a.nii", q.f32(76, 0).with(raw))).affine(2, 2), -4);
}

TEST(NiftiValues, TimesAndChannelsComeFirst) {
  const Folder folder;
  std::vector<std::int16_t> raw(2 * 3 * 4 * 5);
  std::iota(raw.begin(), raw.end(), std::int16_t{0});
  for (const std::vector<int>& sizes : {std::vector<int>{2, 3, 4, 5}, std::vector<int>{2, 3, 4, 1, 5}}) {
    const std::string path = folder.write("a.nii", builder<std::int16_t>(sizes).with(raw));
    const NiftiImage image = read_nifti(path, {.channels = 5});
    ASSERT_EQ(image.tensor.shape(), (Shape{5, 2, 3, 4}));
    for (int t = 0; t < 5; ++t)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 4; ++k) EXPECT_EQ(image.tensor.at({t, i, j, k}), i + 2 * (j + 3 * (k + 4 * t)));
    const std::string text = message_of<IoError>([&] { read_nifti(path, {.channels = 1}); });
    EXPECT_CONTAINS(text, "has 5 channels");
    EXPECT_CONTAINS(text, "expected 1");
  }
}

TEST(NiftiValues, IntegersMustFit) {
  const Folder folder;
  const auto failure = [&](const Bytes& file, DType to) {
    const std::string path = folder.write("label.nii", file);
    return message_of<IoError>([&] { read_nifti(path, {.dtype = to}); });
  };
  std::vector<std::int16_t> labels(24, 7);
  labels[1 + 2 * (2 + 3 * 3)] = 256;
  labels[23] = 256;
  labels[21] = -1;
  const std::string text = failure(builder<std::int16_t>({2, 3, 4}).with(labels), DType::u8);
  EXPECT_CONTAINS(text, "label.nii");
  EXPECT_CONTAINS(text, "the value -1 at voxel (1, 1, 3) does not fit u8");
  EXPECT_CONTAINS(failure(builder<std::int16_t>({2, 3, 2, 2}).with(labels), DType::u8), "voxel (1, 1, 1) of channel 1");

  const auto one = [&](double v, DType to, double slope = 1) {
    return failure(builder<double>({1}).scaling(slope, 0).with(std::vector<double>{v}), to);
  };
  EXPECT_EQ(one(255, DType::u8), "(no exception)");
  EXPECT_EQ(one(-0.0, DType::u8), "(no exception)");
  EXPECT_CONTAINS(one(0.5, DType::u8), "the value 0.5 ");
  EXPECT_CONTAINS(one(256, DType::u8), "the value 256 ");
  EXPECT_CONTAINS(one(-1, DType::u8), "the value -1 ");
  EXPECT_CONTAINS(one(nan, DType::i32), "the value nan ");
  EXPECT_CONTAINS(one(inf, DType::i64), "the value inf ");
  EXPECT_CONTAINS(one(1e300, DType::u64), "the value 1e+300 ");
  EXPECT_EQ(one(-0x1p63, DType::i64), "(no exception)");
  EXPECT_CONTAINS(one(0x1p63, DType::i64), "does not fit i64");
  EXPECT_EQ(one(0x1p63, DType::u64), "(no exception)");
  EXPECT_CONTAINS(one(0x1p64, DType::u64), "does not fit u64");
  EXPECT_EQ(one(6, DType::u8, 0.5), "(no exception)");
  EXPECT_CONTAINS(one(5, DType::u8, 0.5), "the value 2.5 ");

  const std::vector<std::uint64_t> large{(std::uint64_t{1} << 63) + 1};
  EXPECT_CONTAINS(failure(builder<std::uint64_t>({1}).with(large), DType::i64), "the value 9223372036854775809 ");
  const std::vector<std::int64_t> minus{-1};
  EXPECT_CONTAINS(failure(builder<std::int64_t>({1}).with(minus), DType::u64), "the value -1 ");
  // Values as they are, without a detour through double.
  const std::vector<std::int64_t> exact{(std::int64_t{1} << 53) + 1};
  const std::string path = folder.write("a.nii", builder<std::int64_t>({1}).with(exact));
  EXPECT_EQ(*read_nifti(path, {.dtype = DType::i64}).tensor.data<std::int64_t>(), exact[0]);
  EXPECT_EQ(*read_nifti(path, {.dtype = DType::u64}).tensor.data<std::uint64_t>(),
            static_cast<std::uint64_t>(exact[0]));
}

TEST(NiftiValues, VoxOffset) {
  const Folder folder;
  const std::vector<std::int32_t> raw{11, 22, 33};
  // Exactly 0: the header's bytes are the first voxels, and the first of them is its own size.
  HeaderBuilder zero = builder<std::int32_t>({90});
  const NiftiImage z = read_nifti(folder.write("a.nii", zero.f32(108, 0).with(raw)));
  EXPECT_EQ(z.tensor.at({0, 0}), 348);
  EXPECT_EQ(z.tensor.at({0, 88}), 11);
  EXPECT_EQ(z.tensor.at({0, 89}), 22);
  // Extensions are skipped.
  HeaderBuilder far = builder<std::int32_t>({3});
  far.f32(108, 12352);
  far.bytes.resize(12352, 0xAB);
  EXPECT_EQ(read_nifti(folder.write("a.nii", far.with(raw))).tensor.at({0, 2}), 33);
  EXPECT_EQ(read_nifti(folder.write("a.nii.gz", gzip(far.with(raw)))).tensor.at({0, 2}), 33);
}

TEST(NiftiValues, OptionsThatMakeNoSense) {
  const Folder folder;
  const std::string path = folder.write("a.nii", builder<std::uint8_t>({1}).with(std::vector<std::uint8_t>{1}));
  EXPECT_CONTAINS(message_of<std::invalid_argument>([&] { read_nifti(path, {.dtype = DType::f16}); }), "f16");
  EXPECT_CONTAINS(message_of<std::invalid_argument>([&] { read_nifti(path, {.channels = -1}); }), "-1");
}

TEST(NiftiValues, HeaderAlone) {
  const Folder folder;
  const Bytes file = builder<std::uint8_t>({1, 2, 3}).with(std::vector<std::uint8_t>(6, 1));
  for (const std::string& path : {folder.write("a.nii", file), folder.write("a.nii.gz", gzip(file))}) {
    const NiftiHeader h = read_nifti_header(path);
    EXPECT_EQ(h.shape, (Shape{1, 1, 2, 3}));
    EXPECT_EQ(h.stored, DType::u8);
  }
  EXPECT_EQ(read_nifti(folder / "a.nii").stamp, stamp_of(folder / "a.nii"));
}

// No state is shared: many threads read two files at once, each time all of its voxels.
TEST(NiftiValues, ManyThreads) {
  const Folder folder;
  std::vector<std::string> paths;
  for (const std::uint8_t v : {std::uint8_t{1}, std::uint8_t{2}}) {
    const Bytes file = builder<std::uint8_t>({20, 30, 40}).with(std::vector<std::uint8_t>(24000, v));
    paths.push_back(folder.write("f" + std::to_string(v) + ".nii.gz", gzip(file)));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 20; ++round) {
        const std::size_t which = (t + round) % 2;
        const Tensor image = read_nifti(paths[which]).tensor;
        const float* v = image.data<float>();
        wrong += std::count(v, v + 24000, static_cast<float>(which + 1)) != 24000;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
