// What is written is what is read: random shapes, types, values, affines, views; plain and gzip.
#include <sys/stat.h>

#include <cmath>
#include <headrace/io/nifti_reader.hpp>
#include <headrace/io/nifti_writer.hpp>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

constexpr DType types[] = {DType::u8,  DType::i8,  DType::u16, DType::i16, DType::u32,
                           DType::i32, DType::u64, DType::i64, DType::f32, DType::f64};

Tensor random_tensor(Mix& mix, DType dtype, const Shape& shape) {
  Tensor t = Tensor::empty(dtype, shape);
  std::byte* raw = t.mutable_raw();
  // Half noise, half zeros: both ends of compressibility. Any bit pattern is a value, NaNs too.
  const bool noise = mix.below(2) == 0;
  for (std::size_t i = 0; i < t.bytes(); ++i)
    raw[i] = noise || mix.below(50) == 0 ? static_cast<std::byte>(mix.below(256)) : std::byte{0};
  return t;
}

// Rotation by a random unit quaternion, random spacing, mirrored or not; every number a float.
Affine random_affine(Mix& mix, bool sheared) {
  double q[4], length = 0;
  for (double& v : q) {
    v = mix.unit() - 0.5;
    length += v * v;
  }
  for (double& v : q) v /= std::sqrt(length);
  const double a = q[0], b = q[1], c = q[2], d = q[3];
  const double r[9] = {a * a + b * b - c * c - d * d, 2 * (b * c - a * d),           2 * (b * d + a * c),
                       2 * (b * c + a * d),           a * a + c * c - b * b - d * d, 2 * (c * d - a * b),
                       2 * (b * d - a * c),           2 * (c * d + a * b),           a * a + d * d - b * b - c * c};
  Affine out;
  for (int k = 0; k < 3; ++k) {
    const double scale = (0.3 + 3 * mix.unit()) * (k == 2 && mix.below(2) ? -1 : 1);
    for (int i = 0; i < 3; ++i) out(i, k) = r[3 * i + k] * scale;
    out(k, 3) = 200 * (mix.unit() - 0.5);
  }
  if (sheared) out(0, 1) += 0.5;
  for (double& v : out.m) v = static_cast<double>(static_cast<float>(v));
  return out;
}

TEST(NiftiRoundTrip, RandomVolumes) {
  const Folder folder;
  Mix mix{1};
  for (int round = 0; round < 300; ++round) {
    const DType dtype = types[round % 10];
    const int rank = 1 + mix.below(3);
    Shape shape{rank == 3 && mix.below(3) == 0 ? 1 + mix.below(4) : 1};
    // Around the tile and line sizes of the transposition, and single voxels.
    for (int d = 0; d < rank; ++d) shape.push_back(mix.below(4) == 0 ? 1 : 1 + mix.below(d == 1 ? 9 : 70));
    const Tensor tensor = random_tensor(mix, dtype, shape);
    const Affine affine = random_affine(mix, mix.below(4) == 0);
    const std::string path = folder / (mix.below(2) ? "a.nii" : "a.nii.gz");
    write_nifti(path, tensor, affine, {.level = mix.below(4), .description = "round " + std::to_string(round)});
    const NiftiImage back = read_nifti(path, {.dtype = dtype});
    ASSERT_TRUE(back.tensor.equal(tensor)) << round << " " << shape.str() << " " << name_of(dtype);
    ASSERT_EQ(back.affine, affine) << round;
    ASSERT_EQ(back.header.notes.size(), shape[0] > 1 ? 1u : 0u) << back.header.notes[0];
    ASSERT_EQ(back.header.description, "round " + std::to_string(round));
    std::filesystem::remove(path);
    ASSERT_EQ(folder.files(), 0u) << "a temporary file was left";
  }
}

// Larger than a slab and than one input buffer; slices larger than a slab; one long row.
TEST(NiftiRoundTrip, LargeVolumes) {
  const Folder folder;
  Mix mix{2};
  struct Case {
    Shape shape;
    DType dtype;
  };
  for (const Case& c : {Case{Shape{1, 61, 67, 70}, DType::f32}, Case{Shape{2, 300, 301, 5}, DType::f64},
                        Case{Shape{1, 1100, 1001, 3}, DType::f64}, Case{Shape{1, 1000, 1001}, DType::i16},
                        Case{Shape{1, 32767, 3, 4}, DType::f64}, Case{Shape{1, 3, 32767, 9}, DType::u8}}) {
    Tensor tensor = Tensor::empty(c.dtype, c.shape);
    std::byte* raw = tensor.mutable_raw();
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < tensor.bytes(); ++i) {
      if (i % 8 == 0) word = mix() & 0x0303030303030303ull;
      raw[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
    }
    for (const char* name : {"a.nii", "a.nii.gz"}) {
      write_nifti(folder / name, tensor, Affine::identity());
      EXPECT_TRUE(read_nifti(folder / name, {.dtype = c.dtype}).tensor.equal(tensor)) << c.shape.str() << " " << name;
    }
  }
}

TEST(NiftiRoundTrip, ViewsAreWrittenAsTheyLook) {
  const Folder folder;
  Mix mix{3};
  const Tensor whole = random_tensor(mix, DType::i16, Shape{3, 7, 8, 9});
  const Tensor view = whole.narrow(1, 2, 4).flip({2, 3}).permute({0, 3, 1, 2});
  ASSERT_FALSE(view.is_contiguous());
  write_nifti(folder / "a.nii.gz", view, Affine::identity());
  EXPECT_TRUE(read_nifti(folder / "a.nii.gz", {.dtype = DType::i16}).tensor.equal(view.contiguous()));
}

// The qform alone says the same as the sform. Only three quaternion components are stored, as floats: a = sqrt(1 - ...)
// is known to 3e-4 where it is near 0 (half turns), and the affine no better.
TEST(NiftiRoundTrip, QformAgrees) {
  const Folder folder;
  Mix mix{4};
  const Tensor tensor = Tensor::zeros(DType::u8, Shape{1, 2, 3, 4});
  for (int round = 0; round < 200; ++round) {
    Affine affine = random_affine(mix, false);
    if (round < 48) {  // all signed permutations
      const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
      affine = Affine::translation({1, 2, 3});
      for (int k = 0; k < 3; ++k) {
        affine(k, k) = 0;
      }
      for (int k = 0; k < 3; ++k) affine(order[round / 8][k], k) = (1.5 + k) * ((round >> k) & 1 ? -1 : 1);
    }
    write_nifti(folder / "a.nii", tensor, affine);
    Bytes bytes = read_bytes(folder / "a.nii");
    ASSERT_EQ(bytes[252], 1);
    bytes[254] = 0;
    const NiftiImage image = read_nifti(folder.write("b.nii", bytes));
    EXPECT_EQ(image.header.form, NiftiForm::qform);
    EXPECT_TRUE(image.affine.close_to(affine, 4e-3, 1e-5)) << image.affine.str() << "\n" << affine.str();
  }
  write_nifti(folder / "a.nii", tensor, random_affine(mix, true));
  EXPECT_EQ(read_bytes(folder / "a.nii")[252], 0) << "a sheared affine has no qform";
}

TEST(NiftiWriter, Refuses) {
  const Folder folder;
  const Tensor ok = Tensor::zeros(DType::u8, Shape{1, 2, 3, 4});
  const auto bad = [&](const Tensor& t, const Affine& a = {}, const NiftiWriteOptions& o = {}) {
    return message_of<std::invalid_argument>([&] { write_nifti(folder / "a.nii", t, a, o); });
  };
  EXPECT_CONTAINS(bad(Tensor()), "undefined");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::u8, Shape{3})), "shape [3]");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::u8, Shape{1, 1, 1, 1, 1})), "shape [1, 1, 1, 1, 1]");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::u8, Shape{2, 3, 4})), "fewer than 3 spatial axes");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::u8, Shape{1, 0, 4})), "1 to 32767");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::u8, Shape{1, 32768})), "1 to 32767");
  EXPECT_CONTAINS(bad(Tensor::zeros(DType::f16, Shape{1, 2})), "no data type for f16");
  Affine huge;
  huge(0, 0) = 1e39;
  EXPECT_CONTAINS(bad(ok, huge), "does not fit");
  huge(0, 0) = std::nan("");
  EXPECT_CONTAINS(bad(ok, huge), "does not fit");
  EXPECT_CONTAINS(bad(ok, {}, {.level = 4}), "level is 4");
  EXPECT_CONTAINS(bad(ok, {}, {.description = std::string(80, 'x')}), "80 bytes");
  const auto io = [&](const std::string& path) { return message_of<IoError>([&] { write_nifti(path, ok, {}); }); };
  EXPECT_CONTAINS(io(folder / "a.img"), ".nii or .nii.gz");
  EXPECT_CONTAINS(io(folder / "no/such/a.nii"), "cannot be created: No such file");
  std::filesystem::create_directory(folder / "d.nii");
  EXPECT_CONTAINS(io(folder / "d.nii"), "not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe.nii").c_str(), 0600), 0);
  EXPECT_CONTAINS(io(folder / "pipe.nii"), "not a regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe.nii"));
  EXPECT_CONTAINS(io(""), "expected");
  EXPECT_EQ(folder.files(), 2u);
}

}  // namespace
