// Damaged files: each gives the same volume as the whole file, or an error. Never other voxels.
#include <isa-l/crc.h>

#include <headrace/io/nifti_reader.hpp>
#include <numeric>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

Bytes small_volume() {
  HeaderBuilder b({5, 6, 7}, 4, 16);
  b.pixdim(1, 2, 3, 4).srow({-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30});
  std::vector<std::int16_t> raw(210);
  std::iota(raw.begin(), raw.end(), std::int16_t{-50});
  return b.with(raw);
}

// Equal to `whole` if it can be read at all. Returns whether it could.
bool equal_or_error(const std::string& path, const NiftiImage& whole, const std::string& what) {
  try {
    const NiftiImage image = read_nifti(path);
    EXPECT_TRUE(image.tensor.equal(whole.tensor)) << what << ": other voxels without an error";
    EXPECT_EQ(image.affine, whole.affine) << what;
    return true;
  } catch (const IoError& e) {
    EXPECT_CONTAINS(std::string(e.what()), path);
    return false;
  }
}

TEST(NiftiDamage, EveryByteFlipped) {
  const Folder folder;
  const Bytes raw = small_volume();
  for (std::uint32_t level : {0u, 1u, 3u}) {
    const Bytes file = gzip(raw, level);
    const NiftiImage whole = read_nifti(folder.write("a.nii.gz", file));
    std::size_t errors = 0;
    for (std::size_t at = 0; at < file.size(); ++at)
      for (int pattern : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF, 0x55}) {
        Bytes damaged = file;
        damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ pattern);
        const std::string path = folder.write("b.nii.gz", damaged);
        errors += !equal_or_error(path, whole, "byte " + std::to_string(at) + " ^ " + std::to_string(pattern));
      }
    // Only flag, time and system bytes of the gzip header, and unused padding bits, may be harmless.
    EXPECT_GT(errors, (file.size() - 12) * 10 - 10);
  }
}

TEST(NiftiDamage, TruncatedAtEveryLength) {
  const Folder folder;
  const Bytes raw = small_volume();
  const Bytes file = gzip(raw);
  for (std::size_t n = 0; n < file.size(); ++n) {
    const std::string path =
        folder.write("a.nii.gz", Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)));
    EXPECT_NE(message_of<IoError>([&] { read_nifti(path); }), "(no exception)") << n;
  }
  for (std::size_t n = 0; n < raw.size(); ++n) {
    const std::string path = folder.write("a.nii", Bytes(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(n)));
    const std::string text = message_of<IoError>([&] { read_nifti(path); });
    EXPECT_CONTAINS(text, n == 0    ? std::string("is empty")
                          : n < 348 ? "bytes; expected"
                                    : "but the file has " + std::to_string(n));
  }
  // Whole gzip stream, but fewer voxels than the header says.
  const Bytes shorter = gzip(std::span(raw).first(raw.size() - 1));
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("a.nii.gz", shorter)); }),
                  "ends after 419 bytes of voxels; expected 420");
  const Bytes nothing = gzip(std::span(raw).first(350));
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("a.nii.gz", nothing)); }),
                  "ends after 0 bytes of voxels");
  const std::string cut = folder.write("a.nii.gz", Bytes(file.begin(), file.end() - 9));
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(cut); }), "truncated");
}

TEST(NiftiDamage, ChecksumAndLength) {
  const Folder folder;
  const Bytes file = gzip(small_volume());
  for (std::size_t back = 1; back <= 8; ++back) {
    Bytes damaged = file;
    damaged[damaged.size() - back] ^= 1;
    EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("a.nii.gz", damaged)); }), "checksum or length");
  }
}

// Junk after the gzip stream: one byte or many, zeros, half a member.
TEST(NiftiDamage, TrailingJunk) {
  const Folder folder;
  const Bytes file = gzip(small_volume());
  for (const Bytes& junk : {Bytes{0}, Bytes{0, 0, 0, 0}, Bytes{0x1f}, Bytes{0x1f, 0x8b}, Bytes(100, 'x'),
                            Bytes(200000, 0), Bytes(file.begin(), file.end() - 1)}) {
    Bytes damaged = file;
    damaged.insert(damaged.end(), junk.begin(), junk.end());
    const std::string text = message_of<IoError>([&] { read_nifti(folder.write("a.nii.gz", damaged)); });
    EXPECT_TRUE(contains(text, "junk after the gzip stream") || contains(text, "truncated")) << text;
    if (junk[0] != 0x1f) {
      EXPECT_CONTAINS(text, "from byte " + std::to_string(file.size()));
    }
  }
}

TEST(NiftiDamage, MembersAreOneStream) {
  const Folder folder;
  const Bytes raw = small_volume();
  const NiftiImage whole = read_nifti(folder.write("a.nii", raw));
  for (std::size_t piece : {1u, 7u, 100u, 351u, 352u, 500u}) {
    Bytes file;
    for (std::size_t at = 0; at < raw.size(); at += piece) {
      const Bytes member = gzip(std::span(raw).subspan(at, std::min(piece, raw.size() - at)));
      file.insert(file.end(), member.begin(), member.end());
    }
    EXPECT_TRUE(read_nifti(folder.write("b.nii.gz", file)).tensor.equal(whole.tensor)) << piece;
    // A later member is checked too, also one that holds no voxel any more.
    Bytes extra = gzip(Bytes(10, 1));
    Bytes longer = file;
    longer.insert(longer.end(), extra.begin(), extra.end());
    const NiftiImage more = read_nifti(folder.write("b.nii.gz", longer));
    EXPECT_TRUE(more.tensor.equal(whole.tensor));
    EXPECT_CONTAINS(more.header.notes.back(), "10 bytes after the last voxel");
    longer[longer.size() - 5] ^= 1;
    EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("b.nii.gz", longer)); }), "checksum or length");
  }
}

// Members and their headers on every side of the input buffer's edge (128 KiB).
TEST(NiftiDamage, MembersAcrossBufferEdges) {
  const Folder folder;
  HeaderBuilder b({500, 400}, 2, 8);
  Mix mix{5};
  std::vector<std::uint8_t> noise(200000);
  for (auto& v : noise) v = static_cast<std::uint8_t>(mix());
  const Bytes raw = b.with(noise);
  const NiftiImage whole = read_nifti(folder.write("a.nii", raw));
  // Noise does not shrink, so the cut decides where the second member's header lies in the file.
  const std::size_t first = gzip(std::span(raw).first(131000)).size() - 131000;
  for (std::size_t end = 131072 - 24; end <= 131072 + 24; ++end) {
    const std::size_t cut = end - first;
    Bytes file = gzip(std::span(raw).first(cut));
    const Bytes second = gzip(std::span(raw).subspan(cut));
    file.insert(file.end(), second.begin(), second.end());
    EXPECT_TRUE(read_nifti(folder.write("b.nii.gz", file)).tensor.equal(whole.tensor)) << end;
    file.resize(file.size() - second.size());
    file.push_back('x');
    EXPECT_NE(message_of<IoError>([&] { read_nifti(folder.write("b.nii.gz", file)); }), "(no exception)") << end;
  }
}

TEST(NiftiDamage, NamesAndContents) {
  const Folder folder;
  const Bytes raw = small_volume();
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("a.nii.gz", raw)); }), "is not a gzip file");
  const NiftiImage image = read_nifti(folder.write("a.nii", gzip(raw)));
  EXPECT_CONTAINS(image.header.notes.front(), "does not end in .gz");
  EXPECT_TRUE(image.tensor.equal(read_nifti(folder.write("b.nii", raw)).tensor));
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("c.nii", Bytes(1000, 'x'))); }),
                  "not a NIfTI-1 file");
  EXPECT_CONTAINS(message_of<IoError>([&] { read_nifti(folder.write("c.nii.gz", gzip(gzip(raw)))); }), "expected");
}

TEST(NiftiDamage, BytesAfterTheVoxels) {
  const Folder folder;
  Bytes raw = small_volume();
  const NiftiImage whole = read_nifti(folder.write("a.nii", raw));
  raw.resize(raw.size() + 5);
  const NiftiImage more = read_nifti(folder.write("a.nii", raw));
  EXPECT_TRUE(more.tensor.equal(whole.tensor));
  EXPECT_CONTAINS(more.header.notes.back(), "5 bytes after the last voxel");
}

// Random changes to a compressed or plain file, several at a time: equal, or an IoError; never a crash or another
// exception. A plain file has no checksum, so there only the kind of the outcome is checked.
TEST(NiftiDamage, RandomChanges) {
  const Folder folder;
  const Bytes raw = small_volume();
  const Bytes file = gzip(raw);
  const NiftiImage whole = read_nifti(folder.write("a.nii", raw));
  Mix mix{6};
  const auto change = [&](Bytes bytes) {
    for (int n = 1 + mix.below(4); n > 0 && !bytes.empty(); --n) {
      const auto at = static_cast<std::ptrdiff_t>(mix() % bytes.size());
      switch (mix.below(5)) {
        case 0:
          bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(mix());
          break;
        case 1:
          bytes.erase(bytes.begin() + at);
          break;
        case 2:
          bytes.insert(bytes.begin() + at, static_cast<std::uint8_t>(mix()));
          break;
        case 3:
          bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1 << mix.below(8));
          break;
        default:
          bytes.resize(static_cast<std::size_t>(at));
          break;
      }
    }
    return bytes;
  };
  int read = 0;
  for (int round = 0; round < 3000; ++round)
    read += equal_or_error(folder.write("b.nii.gz", change(file)), whole, "round " + std::to_string(round));
  EXPECT_LT(read, 300);
  for (int round = 0; round < 3000; ++round) {
    // Mostly in the header, where the rules are.
    Bytes bytes = raw;
    for (int n = 1 + mix.below(3); n > 0; --n)
      bytes[static_cast<std::size_t>(mix.below(352))] = static_cast<std::uint8_t>(mix());
    const std::string path = folder.write("b.nii", mix.below(2) ? bytes : change(bytes));
    for (DType dtype : {DType::f32, DType::i16}) {
      try {
        const NiftiImage image = read_nifti(path, {.dtype = dtype});
        EXPECT_LE(image.header.data_bytes, bytes.size());
        EXPECT_TRUE(image.affine.finite());
      } catch (const IoError&) {
      }
    }
  }
}

}  // namespace
