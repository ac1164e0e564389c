// The header rules, one row after the other.
#include <cmath>
#include <headrace/io/nifti_header.hpp>
#include <limits>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

NiftiHeader parse(const HeaderBuilder& b) { return parse_nifti_header(b.header(), "f.nii"); }
std::string failure(const HeaderBuilder& b) {
  return message_of<IoError>([&] { parse(b); });
}
HeaderBuilder plain() { return HeaderBuilder({2, 3, 4}, 4, 16); }
bool noted(const NiftiHeader& h, std::string_view part) {
  return std::any_of(h.notes.begin(), h.notes.end(), [&](const std::string& n) { return contains(n, part); });
}
Affine affine(const std::array<double, 12>& m) {
  Affine a;
  std::copy(m.begin(), m.end(), a.m.begin());
  return a;
}
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(NiftiHeader, Plain) {
  const NiftiHeader h = parse(plain());
  EXPECT_EQ(h.shape, (Shape{1, 2, 3, 4}));
  EXPECT_EQ(h.stored, DType::i16);
  EXPECT_FALSE(h.scaled);
  EXPECT_FALSE(h.big_endian);
  EXPECT_EQ(h.affine, Affine::identity());
  EXPECT_EQ(h.form, NiftiForm::sform);
  EXPECT_EQ(h.data_offset, 352u);
  EXPECT_EQ(h.data_bytes, 48u);
  EXPECT_TRUE(h.notes.empty());
}

TEST(NiftiHeader, SizeofHdr) {
  EXPECT_TRUE(noted(parse(plain().i32(0, 349)), "sizeof_hdr is 349"));
  EXPECT_EQ(parse(plain().i32(0, 349)).shape, (Shape{1, 2, 3, 4}));
}

TEST(NiftiHeader, TooShort) {
  const HeaderBuilder b = plain();
  for (std::size_t n : {0u, 1u, 40u, 347u})
    EXPECT_CONTAINS(message_of<IoError>([&] { parse_nifti_header(b.header().first(n), "f.nii"); }),
                    "has only " + std::to_string(n));
  EXPECT_NO_THROW(parse_nifti_header(b.header().first(348), "f.nii"));
}

TEST(NiftiHeader, Magic) {
  HeaderBuilder b = plain();
  std::memcpy(b.bytes.data() + 344, "ni1", 4);
  EXPECT_CONTAINS(failure(b), "pair");
  std::memcpy(b.bytes.data() + 344, "n+1x", 4);
  EXPECT_CONTAINS(failure(b), "6e 2b 31 78");
  std::memcpy(b.bytes.data() + 344, "\0\0\0\0", 4);
  EXPECT_CONTAINS(failure(b), "not a NIfTI-1 file");
  b = plain().i32(0, 540);
  std::memcpy(b.bytes.data() + 4, "n+2\0\r\n\032\n", 8);
  EXPECT_CONTAINS(failure(b), "NIfTI-2");
}

TEST(NiftiHeader, ByteOrderIsDecidedByDim0) {
  for (const bool big : {false, true}) {
    const NiftiHeader h = parse(HeaderBuilder({100, 3, 4}, 4, 16, big));
    EXPECT_EQ(h.big_endian, big);
    EXPECT_EQ(h.shape, (Shape{1, 100, 3, 4}));
    EXPECT_EQ(h.affine, Affine::identity());
    // sizeof_hdr does not decide: with a wrong one the order is still found.
    EXPECT_EQ(parse(HeaderBuilder({100, 3, 4}, 4, 16, big).i32(0, 349)).big_endian, big);
    // dim[0] = 0 is an error in either order.
    EXPECT_CONTAINS(failure(HeaderBuilder({100, 3, 4}, 4, 16, big).i16(40, 0)), "dim[0] is 0");
  }
  EXPECT_CONTAINS(failure(plain().i16(40, 9)), "expected 1 to 7");
  EXPECT_CONTAINS(failure(plain().i16(40, -1)), "expected 1 to 7");
}

TEST(NiftiHeader, Dimensions) {
  EXPECT_EQ(parse(HeaderBuilder({5}, 4, 16)).shape, (Shape{1, 5}));
  EXPECT_EQ(parse(HeaderBuilder({5, 6}, 4, 16)).shape, (Shape{1, 5, 6}));
  EXPECT_EQ(parse(HeaderBuilder({2, 3, 4, 5}, 4, 16)).shape, (Shape{5, 2, 3, 4}));
  EXPECT_EQ(parse(HeaderBuilder({2, 3, 4, 1}, 4, 16)).shape, (Shape{1, 2, 3, 4}));
  EXPECT_EQ(parse(HeaderBuilder({2, 3, 4, 1, 3}, 4, 16)).shape, (Shape{3, 2, 3, 4}));
  EXPECT_EQ(parse(HeaderBuilder({2, 3, 4, 1, 1, 1, 1}, 4, 16)).shape, (Shape{1, 2, 3, 4}));
  EXPECT_TRUE(noted(parse(HeaderBuilder({2, 3, 4, 1, 3}, 4, 16)), "dimension 5"));
  EXPECT_CONTAINS(failure(HeaderBuilder({2, 3, 4, 2, 3}, 4, 16)), "dim[4] = 2 and dim[5] = 3");
  EXPECT_CONTAINS(failure(HeaderBuilder({2, 3, 4, 1, 1, 2}, 4, 16)), "6th or 7th");
  // What lies beyond dim[0] is not looked at.
  EXPECT_EQ(parse(plain().i16(48, 0).i16(50, -7)).shape, (Shape{1, 2, 3, 4}));
  for (int d = 1; d <= 3; ++d)
    for (int bad : {0, -1, -32768})
      EXPECT_CONTAINS(failure(plain().i16(40 + 2 * static_cast<std::size_t>(d), bad)),
                      "dim[" + std::to_string(d) + "] is " + std::to_string(bad));
  EXPECT_CONTAINS(failure(HeaderBuilder({32767, 32767, 32767, 1, 32767}, 64, 64)), "less than 2^62");
}

TEST(NiftiHeader, DataTypes) {
  struct Row {
    int code, bits;
    DType dtype;
  };
  for (const Row& r : {Row{2, 8, DType::u8}, Row{4, 16, DType::i16}, Row{8, 32, DType::i32}, Row{16, 32, DType::f32},
                       Row{64, 64, DType::f64}, Row{256, 8, DType::i8}, Row{512, 16, DType::u16},
                       Row{768, 32, DType::u32}, Row{1024, 64, DType::i64}, Row{1280, 64, DType::u64}}) {
    const NiftiHeader h = parse(HeaderBuilder({2, 3, 4}, r.code, r.bits));
    EXPECT_EQ(h.stored, r.dtype);
    EXPECT_EQ(h.data_bytes, 24 * size_of(r.dtype));
    EXPECT_TRUE(h.notes.empty());
  }
  struct Bad {
    int code;
    const char* name;
  };
  for (const Bad& b : {Bad{0, "UNKNOWN"}, Bad{1, "BINARY"}, Bad{32, "COMPLEX64"}, Bad{128, "RGB24"},
                       Bad{1536, "FLOAT128"}, Bad{1792, "COMPLEX128"}, Bad{2048, "COMPLEX256"}, Bad{2304, "RGBA32"},
                       Bad{77, "unknown"}, Bad{-4, "unknown"}}) {
    const std::string text = failure(HeaderBuilder({2, 3, 4}, b.code, 8));
    EXPECT_CONTAINS(text, "f.nii");
    EXPECT_CONTAINS(text, "datatype is " + std::to_string(b.code) + " (" + b.name + ")");
    EXPECT_CONTAINS(text, "expected one of");
  }
  EXPECT_TRUE(noted(parse(HeaderBuilder({2, 3, 4}, 4, 8)), "bitpix is 8"));
}

TEST(NiftiHeader, VoxOffset) {
  for (double bad : {1.0, 348.0, 351.0, -1.0, -352.0, nan, inf, 1e20})
    EXPECT_CONTAINS(failure(plain().f32(108, bad)), "vox_offset is");
  EXPECT_EQ(parse(plain().f32(108, 352)).data_offset, 352u);
  const NiftiHeader zero = parse(plain().f32(108, 0));
  EXPECT_EQ(zero.data_offset, 0u);
  EXPECT_TRUE(noted(zero, "header's own bytes"));
  const NiftiHeader odd = parse(plain().f32(108, 354));
  EXPECT_EQ(odd.data_offset, 354u);
  EXPECT_TRUE(noted(odd, "not divisible by 16"));
  const NiftiHeader fraction = parse(plain().f32(108, 368.5));
  EXPECT_EQ(fraction.data_offset, 368u);
  EXPECT_TRUE(noted(fraction, "read as 368"));
}

TEST(NiftiHeader, Scaling) {
  for (double slope : {0.0, -0.0, nan, inf, -inf}) {
    const NiftiHeader h = parse(plain().scaling(slope, 5));
    EXPECT_FALSE(h.scaled);
    EXPECT_EQ(h.slope, 1);
    EXPECT_EQ(h.inter, 0);
    EXPECT_TRUE(noted(h, "no scaling, and scl_inter 5 is ignored"));
    EXPECT_FALSE(parse(plain().scaling(slope, nan)).scaled);
  }
  for (double inter : {nan, inf, -inf})
    for (double slope : {1.0, 2.0, -1.0})
      EXPECT_CONTAINS(failure(plain().scaling(slope, inter)), "expected a finite intercept");
  EXPECT_FALSE(parse(plain().scaling(1, 0)).scaled);
  EXPECT_TRUE(parse(plain().scaling(1, 5)).scaled);
  EXPECT_TRUE(parse(plain().scaling(-1, 0)).scaled);
  const NiftiHeader h = parse(plain().scaling(0.1, -1024.3));
  EXPECT_EQ(h.slope, static_cast<double>(0.1f));
  EXPECT_EQ(h.inter, static_cast<double>(-1024.3f));
}

TEST(NiftiHeader, SformComesFirst) {
  const std::array<double, 12> rows{-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30};
  const NiftiHeader h = parse(plain().pixdim(1, 2, 3, 4).srow(rows).forms(1, 2).quaternion(1, 0, 0, 7, 8, 9));
  EXPECT_EQ(h.form, NiftiForm::sform);
  EXPECT_EQ(h.affine, affine(rows));
}

TEST(NiftiHeader, Qform) {
  // No rotation.
  NiftiHeader h = parse(plain().pixdim(1, 2, 3, 4).forms(1, 0).quaternion(0, 0, 0, 10, -20, 30));
  EXPECT_EQ(h.form, NiftiForm::qform);
  EXPECT_EQ(h.affine, affine({2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30}));
  // Half turns about each axis.
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(1, 0).quaternion(1, 0, 0, 0, 0, 0)).affine,
            affine({2, 0, 0, 0, 0, -3, 0, 0, 0, 0, -4, 0}));
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(1, 0).quaternion(0, 1, 0, 0, 0, 0)).affine,
            affine({-2, 0, 0, 0, 0, 3, 0, 0, 0, 0, -4, 0}));
  // qfac turns the third column only.
  EXPECT_EQ(parse(plain().pixdim(-1, 2, 3, 4).forms(1, 0)).affine, affine({2, 0, 0, 0, 0, 3, 0, 0, 0, 0, -4, 0}));
  // A third of a turn about (1, 1, 1): axes are exchanged. a = b = c = d = 1/2.
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(1, 0).quaternion(0.5, 0.5, 0.5, 0, 0, 0)).affine,
            affine({0, 0, 4, 0, 2, 0, 0, 0, 0, 3, 0, 0}));
}

TEST(NiftiHeader, QuaternionLength) {
  // b^2 + c^2 + d^2 a little above 1 is rounding; more is damage.
  const double step = std::numeric_limits<float>::epsilon();
  EXPECT_NO_THROW(parse(plain().forms(1, 0).quaternion(1 + step, 0, 0, 0, 0, 0)));
  EXPECT_CONTAINS(failure(plain().forms(1, 0).quaternion(1 + 2 * step, 0, 0, 0, 0, 0)), "quaternion");
  EXPECT_CONTAINS(failure(plain().forms(1, 0).quaternion(1, 1, 0, 0, 0, 0)), "longer than 1");
  EXPECT_CONTAINS(failure(plain().forms(1, 0).quaternion(nan, 0, 0, 0, 0, 0)), "quaternion");
  // Not looked at while the sform is in force and consistent.
  EXPECT_NO_THROW(parse(plain().forms(1, 1).quaternion(1, 1, 0, 0, 0, 0)));
}

TEST(NiftiHeader, NoForm) {
  NiftiHeader h = parse(plain().pixdim(1, 2, 3, 4).forms(0, 0));
  EXPECT_EQ(h.form, NiftiForm::none);
  EXPECT_EQ(h.affine, affine({-2, 0, 0, 1, 0, 3, 0, -3, 0, 0, 4, -6}));
  EXPECT_TRUE(noted(h, "neither sform nor qform"));
  // Missing dimensions count as size 1, spacing 1.
  EXPECT_EQ(parse(HeaderBuilder({3, 5}, 4, 16).pixdim(1, 2, 3, 9).forms(0, 0)).affine,
            affine({-2, 0, 0, 2, 0, 3, 0, -6, 0, 0, 1, 0}));
  EXPECT_EQ(parse(HeaderBuilder({3}, 4, 16).pixdim(1, 2, 3, 9).forms(0, 0)).affine,
            affine({-2, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0}));
}

TEST(NiftiHeader, Repairs) {
  for (double qfac : {0.0, 2.0, -2.0, nan}) {
    const NiftiHeader h = parse(plain().pixdim(qfac, 2, 3, 4).forms(1, 0));
    EXPECT_EQ(h.pixdim[0], 1);
    EXPECT_EQ(h.affine(2, 2), 4);
    EXPECT_TRUE(noted(h, "qfac"));
  }
  const NiftiHeader h = parse(plain().pixdim(1, 0, -3, 4).forms(1, 0));
  EXPECT_EQ(h.affine, affine({1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0}));
  EXPECT_TRUE(noted(h, "pixdim[1] is 0: read as 1"));
  EXPECT_TRUE(noted(h, "pixdim[2] is -3: read as 3"));
  // A code that does not exist is no code.
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(1, 99)).form, NiftiForm::qform);
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(-3, 0)).form, NiftiForm::none);
}

TEST(NiftiHeader, FormsThatDisagreeWithPixdim) {
  const std::array<double, 12> wrong{5, 0, 0, 10, 0, 5, 0, -20, 0, 0, 5, 30};
  // The qform agrees with pixdim, the sform does not: the qform is used.
  NiftiHeader h = parse(plain().pixdim(1, 2, 3, 4).forms(1, 1).srow(wrong).quaternion(0, 0, 0, 1, 2, 3));
  EXPECT_EQ(h.form, NiftiForm::qform);
  EXPECT_EQ(h.affine, affine({2, 0, 0, 1, 0, 3, 0, 2, 0, 0, 4, 3}));
  EXPECT_TRUE(noted(h, "the qform is used"));
  // So it is with qform_code 0: what counts is which one agrees with pixdim.
  EXPECT_EQ(parse(plain().pixdim(1, 2, 3, 4).forms(0, 1).srow(wrong).quaternion(0, 0, 0, 1, 2, 3)).affine, h.affine);
  // Within tolerance nothing happens.
  h = parse(plain().pixdim(1, 5.00001, 5, 5).forms(1, 1).srow(wrong));
  EXPECT_EQ(h.form, NiftiForm::sform);
  EXPECT_TRUE(h.notes.empty());
  h = parse(plain().pixdim(1, 5.001, 5, 5).forms(1, 1).srow(wrong));
  EXPECT_EQ(h.form, NiftiForm::qform);
  // Neither agrees (a two-dimensional slice of a turned volume): the affine is used, and pixdim follows it.
  const double s = 0.38268343236508977;  // sin(pi/8): 45 degrees about x
  h = parse(HeaderBuilder({4, 5}, 4, 16).pixdim(1, 2, 3, 4).forms(1, 0).quaternion(s, 0, 0, 0, 0, 0));
  EXPECT_EQ(h.form, NiftiForm::qform);
  EXPECT_NEAR(h.affine(1, 1), 3 * std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(h.pixdim[2], 3 * std::sqrt(0.5), 1e-6);
  EXPECT_TRUE(noted(h, "the affine is used"));
  // The same, but the sform agrees: it is used although its code is 0.
  h = parse(HeaderBuilder({4, 5}, 4, 16)
                .pixdim(1, 2, 3, 4)
                .forms(1, 0)
                .quaternion(s, 0, 0, 0, 0, 0)
                .srow({2, 0, 0, 7, 0, 3, 0, 8, 0, 0, 4, 9}));
  EXPECT_EQ(h.form, NiftiForm::sform);
  EXPECT_EQ(h.affine(0, 3), 7);
}

TEST(NiftiHeader, FourDimensionsCompareThreeColumns) {
  const std::array<double, 12> wrong{5, 0, 0, 10, 0, 5, 0, -20, 0, 0, 5, 30};
  const HeaderBuilder four = HeaderBuilder({2, 3, 4, 5}, 4, 16).pixdim(1, 2, 3, 4).f32(92, 1.5).forms(1, 1);
  HeaderBuilder bad = four;
  NiftiHeader h = parse(bad.srow(wrong).quaternion(0, 0, 0, 1, 2, 3));
  EXPECT_EQ(h.form, NiftiForm::qform);
  EXPECT_EQ(h.pixdim[4], 1.5);
  HeaderBuilder good = four;
  h = parse(good.srow({2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30}));
  EXPECT_EQ(h.form, NiftiForm::sform);
  EXPECT_EQ(h.pixdim[4], 1.5);
  EXPECT_FALSE(noted(h, "disagrees"));
  // From five dimensions on nothing is reconciled.
  h = parse(HeaderBuilder({2, 3, 4, 1, 5}, 4, 16).pixdim(1, 2, 3, 4).forms(1, 1).srow(wrong));
  EXPECT_EQ(h.form, NiftiForm::sform);
}

TEST(NiftiHeader, AffineMustBeFinite) {
  EXPECT_CONTAINS(failure(plain().f32(280, nan)), "not finite");
  EXPECT_CONTAINS(failure(plain().f32(292, inf)), "not finite");
  EXPECT_CONTAINS(failure(plain().forms(1, 0).quaternion(0, 0, 0, nan, 0, 0)), "not finite");
  EXPECT_CONTAINS(failure(plain().forms(0, 0).pixdim(1, nan, 1, 1)), "not finite");
  EXPECT_TRUE(noted(parse(plain().srow({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})), "singular"));
}

TEST(NiftiHeader, UnitsAndText) {
  HeaderBuilder b = plain();
  b.bytes[123] = 2;
  EXPECT_TRUE(parse(b).notes.empty());
  b.bytes[123] = 3 | 8;
  EXPECT_TRUE(noted(parse(b), "micrometres"));
  b = plain();
  std::memcpy(b.bytes.data() + 148, "head", 4);
  EXPECT_EQ(parse(b).description, "head");
  std::memset(b.bytes.data() + 148, 'x', 80);
  EXPECT_EQ(parse(b).description.size(), 80u);
}

}  // namespace
