// The command as a user runs it: exit status, JSON, messages.
#include "command_runner.hpp"

namespace {

using namespace headrace_test;
using nlohmann::json;

class Command : public CommandTest {
 protected:
  std::string volume() const {
    HeaderBuilder b({2, 3, 4}, 4, 16);
    b.scaling(2, -1).pixdim(1, 2, 3, 4).srow({-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30});
    std::vector<std::int16_t> raw(24);
    for (std::size_t i = 0; i < 24; ++i) raw[i] = static_cast<std::int16_t>(i);
    return folder.write("v.nii.gz", gzip(b.with(raw)));
  }
};

TEST_F(Command, Info) {
  const Result r = run("info " + volume() + " --voxels --json");
  ASSERT_EQ(r.status, 0) << r.out << r.err;
  const json j = json::parse(r.out);
  EXPECT_EQ(j["shape"], json({2, 3, 4}));
  EXPECT_EQ(j["dtype"], "i16");
  EXPECT_EQ(j["affine"], json({{-2, 0, 0, 10}, {0, 3, 0, -20}, {0, 0, 4, 30}, {0, 0, 0, 1}}));
  EXPECT_EQ(j["spacing"], json({2, 3, 4}));
  EXPECT_EQ(j["slope"], 2);
  EXPECT_EQ(j["inter"], -1);
  EXPECT_EQ(j["min"], -1);
  EXPECT_EQ(j["max"], 45);
  EXPECT_EQ(j["sum"], 23 * 24 - 24);
  // zlib's crc32 of the 24 floats in C order, computed elsewhere.
  EXPECT_EQ(j["crc32"], 3306399352u);
  EXPECT_FALSE(json::parse(run("info " + volume() + " --json").out).contains("min"));
  const Result text = run("info " + volume() + " --voxels");
  EXPECT_EQ(text.status, 0);
  EXPECT_CONTAINS(text.out, "2 x 3 x 4");
  EXPECT_CONTAINS(text.out, "LAS");
}

TEST_F(Command, InfoOnOddFiles) {
  // NaN slope, NaN voxels, a description that is not UTF-8: valid JSON all the same.
  HeaderBuilder b({3, 1, 1, 2}, 16, 32);
  b.scaling(std::nan(""), 0);
  std::memcpy(b.bytes.data() + 148, "\xff\xfe", 2);
  const float nan = std::nanf("");
  const std::string path = folder.write("n.nii", b.with(std::vector<float>{1, nan, 3, 4, 5, 6}));
  const json j = json::parse(run("info " + path + " --voxels --json").out);
  EXPECT_EQ(j["shape"], json({3, 1, 1, 2}));
  EXPECT_EQ(j["tensor_shape"], json({2, 3, 1, 1}));
  EXPECT_EQ(j["slope"], 1);
  EXPECT_TRUE(j["header"]["scl_slope"].is_null());
  EXPECT_EQ(j["nan"], 1);
  EXPECT_EQ(j["sum"], 19);
  EXPECT_CONTAINS(j["notes"].dump(), "no scaling");

  expect_failure("info " + (folder / "none.nii"), 1, "No such file");
  expect_failure("info " + folder.write("bad.nii", Bytes(400, 'x')), 1, "not a NIfTI-1 file");
}

TEST_F(Command, Usage) {
  expect_failure("", 2, "subcommand is required");
  expect_failure("inof x", 2, "'inof' is not a verb");
  expect_failure("info", 2, "file is required");
  expect_failure("info a.nii --voxel", 2, "--voxel");
  expect_failure("synth --out x --count -1", 2, "--count: '-1'");
  expect_failure("synth --out x --count 1,5", 2, "--count: '1,5'");
  expect_failure("synth --out x --shape 8,8", 2, "--shape: '8,8'; expected three sizes");
  expect_failure("synth --out x --shape 8,8,8,8", 2, "--shape");
  expect_failure("synth --out x --shape 8,0,8", 2, "--shape");
  expect_failure("synth --out x --shape 8,8,99999999999999999999", 2, "--shape");
  expect_failure("synth --out x --seed 18446744073709551616", 2, "--seed");
  expect_failure("synth --out x --vary 0,5", 2, "--vary: '0,5'");
  expect_failure("synth --out x --vary nan", 2, "--vary");
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_CONTAINS(run("synth --help").out, "Exit status");
  EXPECT_CONTAINS(run("--version").out, "0.1.0");
  EXPECT_FALSE(std::filesystem::exists("x"));
}

TEST_F(Command, Synth) {
  const std::string out = folder / "data";
  const std::string arguments = "synth --out " + out + " --count 3 --shape 20,16,12 --seed 4";
  const Result r = run(arguments + " --json");
  ASSERT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_EQ(json::parse(r.out)["count"], 3);
  const json list = json::parse(read_bytes(out + "/dataset.json"));
  EXPECT_EQ(list["training"].size(), 3u);
  const json image = json::parse(run("info " + out + "/imagesTr/synth_0002.nii.gz --voxels --json").out);
  EXPECT_EQ(image["shape"], json({20, 16, 12}));
  EXPECT_EQ(image["dtype"], "i16");
  const json label = json::parse(run("info " + out + "/labelsTr/synth_0002.nii.gz --voxels --json").out);
  EXPECT_EQ(label["dtype"], "u8");
  EXPECT_EQ(label["affine"], image["affine"]);
  EXPECT_EQ(label["max"], 1);

  // Its own output may be replaced, also by fewer volumes; a decimal-comma locale changes nothing.
  EXPECT_EQ(run("synth --out " + out + " --count 1 --shape 20,16,12 --seed 4 --vary 0.0", "LC_ALL=de_DE.UTF-8").status,
            0);
  EXPECT_EQ(json::parse(read_bytes(out + "/dataset.json"))["training"].size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(out + "/imagesTr/synth_0002.nii.gz"));
  EXPECT_EQ(run(arguments).status, 0);
  EXPECT_EQ(json::parse(run("info " + out + "/imagesTr/synth_0002.nii.gz --voxels --json").out), image);

  // Somebody else's folder is left alone.
  std::filesystem::create_directory(folder / "mine");
  folder.write("mine/notes.txt", {'x'});
  expect_failure("synth --out " + (folder / "mine"), 1, "not empty");
  EXPECT_EQ(read_bytes(folder / "mine/notes.txt"), Bytes{'x'});
  expect_failure("synth --out " + (folder / "mine/notes.txt"), 1, "not a folder");
  expect_failure("synth --out /dev/null/x", 1, "/dev/null/x");
}

TEST_F(Command, FullOutput) {
  const std::string v = volume();
  const std::string line = std::string("'" HEADRACE_COMMAND "' info ") + v + " >/dev/full 2>/dev/null";
  const int status = std::system(line.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
