// The reference implementation (libniftiio) as an oracle: shape, affine and every voxel, on real volumes where they are
// installed and on volumes of our own writer.
#include <nifti1_io.h>

#include <headrace/io/nifti_reader.hpp>
#include <headrace/io/nifti_writer.hpp>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

double stored_value(const nifti_image& n, std::size_t i) {
  const auto value = [&](auto v) {
    std::memcpy(&v, static_cast<const char*>(n.data) + i * sizeof v, sizeof v);
    return static_cast<double>(v);
  };
  switch (n.datatype) {
    case 2:
      return value(std::uint8_t{});
    case 4:
      return value(std::int16_t{});
    case 8:
      return value(std::int32_t{});
    case 16:
      return value(float{});
    case 64:
      return value(double{});
    case 256:
      return value(std::int8_t{});
    case 512:
      return value(std::uint16_t{});
    default:
      ADD_FAILURE() << "datatype " << n.datatype;
      return 0;
  }
}

void compare(const std::string& path) {
  SCOPED_TRACE(path);
  const std::unique_ptr<nifti_image, void (*)(nifti_image*)> n(nifti_image_read(path.c_str(), 1), nifti_image_free);
  ASSERT_NE(n, nullptr);
  const NiftiImage ours = read_nifti(path);
  ASSERT_EQ(ours.tensor.shape(), (Shape{n->nt * n->nu, n->nx, n->ny, n->nz}));
  // libniftiio computes in float and keeps both forms; which one counts is our rule.
  const bool sform = ours.header.form == NiftiForm::sform;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      EXPECT_NEAR(ours.affine(r, c), static_cast<double>((sform ? n->sto_xyz : n->qto_xyz).m[r][c]), 1e-4) << r << c;
  const float* v = ours.tensor.data<float>();
  std::size_t i = 0, wrong = 0;
  const bool scaled = n->scl_slope != 0 && !(n->scl_slope == 1 && n->scl_inter == 0);
  for (int t = 0; t < n->nt * n->nu; ++t)
    for (int z = 0; z < n->nz; ++z)
      for (int y = 0; y < n->ny; ++y)
        for (int x = 0; x < n->nx; ++x, ++i) {
          double expected = stored_value(*n, i);
          if (scaled) expected = expected * static_cast<double>(n->scl_slope) + static_cast<double>(n->scl_inter);
          wrong += v[((std::size_t(t) * std::size_t(n->nx) + std::size_t(x)) * std::size_t(n->ny) + std::size_t(y)) *
                         std::size_t(n->nz) +
                     std::size_t(z)] != static_cast<float>(expected);
        }
  EXPECT_EQ(wrong, 0u);
}

TEST(NiftiOracle, RealVolumes) {
  const std::filesystem::path folder = "/usr/share/mricron/templates";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there (Debian package mricron-data)";
  int volumes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".nii.gz") && entry.file_size() < 4'000'000) {
      compare(entry.path().string());
      ++volumes;
    }
  EXPECT_GT(volumes, 5);
}

TEST(NiftiOracle, OurOwnFiles) {
  const Folder folder;
  Mix mix{8};
  for (DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::i32, DType::f32, DType::f64})
    for (const char* name : {"plain.nii", "packed.nii.gz"}) {  // asked for a.nii.gz, the library may open a.nii
      Tensor t = Tensor::zeros(DType::f64, Shape{2, 5, 6, 7});
      for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<double>()[i] = mix.below(100);
      Affine affine = Affine::translation({1, 2, 3});
      affine(0, 0) = 0;
      affine(1, 0) = -2;
      affine(1, 1) = 0;
      affine(0, 1) = 3;
      affine(2, 2) = 1.5;
      write_nifti(folder / name, t.to(dtype), affine);
      compare(folder / name);
      ASSERT_EQ(is_nifti_file((folder / name).c_str()), 1);
    }
}

}  // namespace
