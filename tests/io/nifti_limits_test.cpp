// What a file may claim, and a disk that is full: in child processes with limits of their own.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>
#include <headrace/io/nifti_reader.hpp>
#include <headrace/io/nifti_writer.hpp>

#include "nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace_test;

// Runs f in a child; it must return an empty string, or the reason why the test failed.
std::string in_child(const std::function<std::string()>& f) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = f();
    } catch (const std::exception& e) {
      text = std::string("exception: ") + e.what();
    }
    const ssize_t ignored = ::write(ends[1], text.data(), text.size());
    ::_exit(ignored >= 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text += " (the child died)";
  return text;
}

std::string limit(int what, rlim_t bytes) {
  const rlimit l{bytes, bytes};
  return ::setrlimit(static_cast<__rlimit_resource>(what), &l) == 0 ? "" : "no limit";
}

// Headers that claim far more than the file holds: the error comes before memory is asked for. The child may not have
// more than 64 MB beyond what it already has, while the claims are of gigabytes and more.
TEST(NiftiLimits, ClaimsAreCheckedBeforeMemoryIsAskedFor) {
  const Folder folder;
  std::vector<std::string> paths;
  for (const std::vector<int>& sizes :
       {std::vector<int>{2000, 2000, 1000}, std::vector<int>{32767, 32767, 32767},
        std::vector<int>{32767, 32767, 32767, 1, 8}, std::vector<int>{32767, 32767, 1}}) {
    const Bytes file = HeaderBuilder(sizes, 64, 64).with(std::vector<double>(10000, 1.0));
    paths.push_back(folder.write("a" + std::to_string(paths.size()) + ".nii", file));
    paths.push_back(folder.write("a" + std::to_string(paths.size()) + ".nii.gz", gzip(file)));
  }
  EXPECT_EQ(in_child([&]() -> std::string {
              std::size_t pages = 0;
              std::ifstream("/proc/self/statm") >> pages;
              if (const std::string l = limit(RLIMIT_AS, pages * 4096 + (rlim_t{64} << 20)); !l.empty()) return l;
              for (const std::string& path : paths) {
                const std::string text = message_of<IoError>([&] { read_nifti(path); });
                if (!contains(text, "but the file has")) return text;
                const std::string header = message_of<IoError>([&] { read_nifti_header(path); });
                if (!contains(header, "but the file has")) return header;
              }
              return "";
            }),
            "");
}

// The limit itself: a volume that deflate can just make is read.
TEST(NiftiLimits, MostCompressibleVolume) {
  const Folder folder;
  const Tensor zeros = Tensor::zeros(DType::u8, Shape{1, 200, 200, 200});
  write_nifti(folder / "a.nii.gz", zeros, Affine::identity(), {.level = 3});
  EXPECT_LT(std::filesystem::file_size(folder / "a.nii.gz"), 100000u);
  EXPECT_TRUE(read_nifti(folder / "a.nii.gz", {.dtype = DType::u8}).tensor.equal(zeros));
}

Tensor noise() {
  Tensor t = Tensor::empty(DType::u8, Shape{1, 100, 100, 100});
  Mix mix{7};
  std::uint8_t* v = t.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < t.numel(); ++i) v[i] = static_cast<std::uint8_t>(mix());
  return t;
}

std::string write_fails_cleanly(const std::string& folder, const char* reason) {
  const Tensor tensor = noise();
  for (const char* name : {"a.nii", "a.nii.gz"}) {
    const std::string path = folder + "/" + name;
    const Bytes before = read_bytes(path);
    const std::string text = message_of<IoError>([&] { write_nifti(path, tensor, Affine::identity()); });
    if (!contains(text, path) || !contains(text, reason)) return text;
    if (read_bytes(path) != before) return "the old file was changed";
  }
  const auto files = std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  return files == 1 ? "" : std::to_string(files) + " files are left; expected 1";
}

TEST(NiftiLimits, FileSizeLimit) {
  const Folder folder;
  folder.write("a.nii", {1, 2, 3});
  EXPECT_EQ(in_child([&]() -> std::string {
              std::signal(SIGXFSZ, SIG_IGN);
              if (const std::string l = limit(RLIMIT_FSIZE, 100000); !l.empty()) return l;
              return write_fails_cleanly(folder / "", "File too large");
            }),
            "");
}

TEST(NiftiLimits, FullDisk) {
  const Folder folder;
  const std::string result = in_child([&]() -> std::string {
    // A tiny file system of its own, seen by this child only.
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return "skip";
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL) return "skip";
    if (::mount("none", (folder / "").c_str(), "tmpfs", 0, "size=64k") != 0) return "skip";
    std::ofstream(folder / "a.nii") << "old";
    return write_fails_cleanly(folder / "", "No space left on device");
  });
  if (result == "skip") GTEST_SKIP() << "a file system cannot be mounted here";
  EXPECT_EQ(result, "");
}

}  // namespace
