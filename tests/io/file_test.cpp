#include <fcntl.h>
#include <sys/stat.h>

#include <headrace/io/file.hpp>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

TEST(File, OpenRefusesWhatIsNotAFile) {
  const Folder folder;
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading(folder / "none.nii"); }),
                  "none.nii: cannot be opened for reading: No such file");
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading(folder / ""); }), "is a directory");
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading(""); }), "empty path");
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading(std::string("a\0b", 3)); }), "zero byte");
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading("/dev/null"); }), "not a regular file");
  // A pipe without a writer is an error at once, not a thread that waits.
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(message_of<IoError>([&] { open_for_reading(folder / "pipe"); }), "not a regular file");
  try {
    open_for_reading(folder / "none.nii");
    FAIL();
  } catch (const IoError& e) {
    EXPECT_EQ(e.path(), folder / "none.nii");
  }
}

TEST(File, StampsTellContentsApart) {
  const Folder folder;
  const std::string path = folder.write("a", {1, 2, 3});
  const FileStamp first = stamp_of(path);
  EXPECT_EQ(first.size, 3u);
  EXPECT_EQ(first, stamp_of(open_for_reading(path), path));
  folder.write("a", {1, 2, 3, 4});
  EXPECT_NE(first, stamp_of(path));
  // Same size, another time.
  folder.write("a", {4, 5, 6});
  const timespec times[2] = {{1, 0}, {first.modified / 1'000'000'000 + 5, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_NE(first, stamp_of(path));
  // Replaced by another file of the same size and time.
  const FileStamp second = stamp_of(path);
  const std::string other = folder.write("b", {7, 8, 9});
  ASSERT_EQ(::utimensat(AT_FDCWD, other.c_str(), times, 0), 0);
  std::filesystem::rename(other, path);
  EXPECT_NE(second, stamp_of(path));
  EXPECT_EQ(second.modified, stamp_of(path).modified);
  EXPECT_CONTAINS(message_of<IoError>([&] { stamp_of(folder / "none"); }), "No such file");
}

TEST(File, ReadsAndWrites) {
  const Folder folder;
  const std::string path = folder.write("a", {1, 2, 3});
  const FileDescriptor file = open_for_reading(path);
  std::array<std::byte, 8> buffer{};
  EXPECT_EQ(read_some(file, std::span(buffer).first(2), path), 2u);
  EXPECT_EQ(read_some(file, buffer, path), 1u);
  EXPECT_EQ(buffer[0], std::byte{3});
  EXPECT_EQ(read_some(file, buffer, path), 0u);
  EXPECT_EQ(read_text(folder.write("t", {'h', 'i'})), "hi");
  EXPECT_CONTAINS(message_of<IoError>([&] { read_text(path, 2); }), "has 3 bytes; expected at most 2");
  EXPECT_NO_THROW(advise_willneed(path));

  FileDescriptor full(::open("/dev/full", O_WRONLY));
  ASSERT_TRUE(full);
  EXPECT_CONTAINS(message_of<IoError>([&] { write_all(full, buffer, "/dev/full"); }), "No space left on device");
  EXPECT_EQ(full.close(), 0);
  EXPECT_FALSE(full);
  EXPECT_CONTAINS(message_of<IoError>([&] { write_all(full, buffer, "x"); }), "Bad file descriptor");
}

}  // namespace
