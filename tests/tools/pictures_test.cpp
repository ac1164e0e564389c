// Contact sheets and made-up volumes.
#include <sys/stat.h>

#include <canvas.hpp>
#include <contact_sheet.hpp>
#include <headrace/io/error.hpp>
#include <phantom.hpp>

#include "io/nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace::tool;
using namespace headrace_test;

TEST(Canvas, DrawsInside) {
  Canvas c(20, 10, {1, 2, 3});
  c.rectangle(-5, -5, 7, 7, {9, 9, 9});
  c.rectangle(18, 8, 100, 100, {8, 8, 8});
  EXPECT_EQ(c.pixel(1, 1).r, 9);
  EXPECT_EQ(c.pixel(2, 1).r, 1);
  EXPECT_EQ(c.pixel(19, 9).b, 8);
  EXPECT_NO_THROW(c.text(-3, -3, std::string(500, 'W') + "\x80\n", {7, 7, 7}));
  EXPECT_THROW(Canvas(0, 1, {}), std::invalid_argument);
  EXPECT_THROW(Canvas(40000, 1, {}), std::invalid_argument);
}

// Big-endian word of a PNG's header: width at 16, height at 20.
std::uint32_t word(const Bytes& png, std::size_t at) {
  return std::uint32_t{png.at(at)} << 24 | std::uint32_t{png.at(at + 1)} << 16 | std::uint32_t{png.at(at + 2)} << 8 |
         png.at(at + 3);
}

TEST(ContactSheet, WritesAPicture) {
  const Folder folder;
  const Phantom p = make_phantom({.shape = {40, 30, 20}}, 1, 0);
  const Tensor none;
  const SheetOptions options{.columns = 2, .slice_size = 40};
  write_contact_sheet(folder / "a.png",
                      {{p.image, p.label, "one"}, {p.image, none, "two"}, {p.image, p.label.to(DType::f32), ""}},
                      options);
  const Bytes png = read_bytes(folder / "a.png");
  ASSERT_GT(png.size(), 1000u);
  EXPECT_EQ(png[1], 'P');
  EXPECT_GE(word(png, 16), 2u * (40 + 40 + 30));
  EXPECT_GE(word(png, 20), 2u * 30);
  // Any change of a patch changes the picture; the same patches give the same.
  write_contact_sheet(folder / "b.png",
                      {{p.image, p.label, "one"}, {p.image, none, "two"}, {p.image, p.label.to(DType::f32), ""}},
                      options);
  EXPECT_EQ(read_bytes(folder / "b.png"), png);
  write_contact_sheet(
      folder / "b.png",
      {{p.image, p.label.flip({1}), "one"}, {p.image, none, "two"}, {p.image, p.label.to(DType::f32), ""}}, options);
  EXPECT_NE(read_bytes(folder / "b.png"), png);
  EXPECT_EQ(folder.files(), 2u);
}

TEST(ContactSheet, UnusualPatches) {
  const Folder folder;
  Tensor nan = Tensor::zeros(DType::f32, Shape{1, 3, 4, 5});
  nan.fill_(std::numeric_limits<double>::quiet_NaN());
  Tensor labels = Tensor::zeros(DType::i64, Shape{2, 3, 4, 5});
  labels.fill_(-7);
  EXPECT_NO_THROW(write_contact_sheet(folder / "a.png",
                                      {{nan, labels, ""}, {Tensor::zeros(DType::u8, Shape{1, 1, 1, 1}), {}, ""}}));
  EXPECT_CONTAINS(message_of<std::invalid_argument>([&] { write_contact_sheet(folder / "a.png", {}); }), "no patches");
  EXPECT_CONTAINS(message_of<std::invalid_argument>([&] {
                    write_contact_sheet(folder / "a.png", {{nan, Tensor::zeros(DType::u8, Shape{1, 3, 4, 6}), ""}});
                  }),
                  "label has shape [1, 3, 4, 6]");
  EXPECT_CONTAINS(message_of<std::invalid_argument>([&] {
                    write_contact_sheet(folder / "a.png", {{Tensor(), {}, ""}});
                  }),
                  "entry 0");
  EXPECT_CONTAINS(message_of<IoError>([&] {
                    write_contact_sheet(folder / "no/a.png", {{nan, {}, ""}});
                  }),
                  "cannot be created");
}

// A pipe stands for every device: were it replaced by a file, the real ones would be too.
TEST(ContactSheet, ReplacesNoDevice) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const Tensor image = Tensor::zeros(DType::f32, Shape{1, 3, 4, 5});
  EXPECT_CONTAINS(message_of<IoError>([&] {
                    write_contact_sheet(folder / "pipe", {{image, {}, ""}});
                  }),
                  "not a regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Phantom, IsAFunctionOfSeedAndItem) {
  const PhantomOptions options{.shape = {48, 40, 32}};
  const Phantom a = make_phantom(options, 5, 3), b = make_phantom(options, 5, 3);
  EXPECT_TRUE(a.image.equal(b.image));
  EXPECT_TRUE(a.label.equal(b.label));
  EXPECT_EQ(a.affine, b.affine);
  EXPECT_FALSE(a.image.equal(make_phantom(options, 5, 4).image));
  EXPECT_FALSE(a.image.equal(make_phantom(options, 6, 3).image));
  EXPECT_EQ(a.image.shape(), (Shape{1, 48, 40, 32}));
}

TEST(Phantom, LooksLikeAScan) {
  for (std::uint64_t item = 0; item < 20; ++item) {
    const Phantom p = make_phantom({.shape = {64, 48, 40}, .vary = 0.3}, 9, item);
    for (int d = 0; d < 3; ++d) {
      const std::int64_t low[3] = {64, 48, 40};
      EXPECT_GE(p.image.size(d + 1), low[d]);
      EXPECT_LE(p.image.size(d + 1), low[d] * 13 / 10);
    }
    const std::int16_t* image = p.image.data<std::int16_t>();
    const std::uint8_t* label = p.label.data<std::uint8_t>();
    double spleen = 0, air = 0, sum = 0;
    for (std::int64_t i = 0; i < p.image.numel(); ++i) {
      spleen += label[i];
      air += image[i] < -800;
      if (label[i]) sum += image[i];
    }
    const double n = static_cast<double>(p.image.numel());
    EXPECT_GT(spleen / n, 0.001);
    EXPECT_LT(spleen / n, 0.05);
    EXPECT_GT(air / n, 0.2);
    EXPECT_LT(air / n, 0.8);
    EXPECT_NEAR(sum / spleen, 120, 3);
    EXPECT_NO_THROW(p.affine.inverse());
    // Left of the middle: world x of the labelled voxels is below that of the whole.
    double x = 0, all = 0, at = 0;
    for (std::int64_t i = 0; i < p.image.size(1); ++i)
      for (std::int64_t j = 0; j < p.image.size(2) * p.image.size(3); ++j) {
        const double w = p.affine(0, 0) * static_cast<double>(i);
        all += w;
        at += 1;
        if (label[i * p.image.size(2) * p.image.size(3) + j]) x += w;
      }
    EXPECT_LT(x / spleen, all / at);
  }
}

}  // namespace
