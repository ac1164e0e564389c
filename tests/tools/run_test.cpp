// `headrace run` and `headrace verify` on small datasets: what they promise, and what they say of bad input.
#include <filesystem>
#include <fstream>
#include <headrace/io/nifti_reader.hpp>
#include <headrace/io/nifti_writer.hpp>
#include <set>

#include "command_runner.hpp"

namespace {

using namespace headrace_test;
using nlohmann::json;
namespace fs = std::filesystem;

class Run : public CommandTest {
 protected:
  // A dataset of three volumes whose shapes differ a little.
  std::string dataset() {
    const std::string data = folder / "data";
    if (!fs::exists(data)) {
      const Result r = run("synth --out '" + data + "' --count 3 --shape 40,36,32 --seed 1");
      EXPECT_EQ(r.status, 0) << r.err;
    }
    return data;
  }
  std::string job() { return "--data '" + dataset() + "' --patch 16,16,12 --samples 3 --batch-size 2"; }
  std::vector<std::string> digests(const std::string& arguments, const std::string& environment = "") {
    const Result r = run("run " + arguments + " --json", environment);
    EXPECT_EQ(r.status, 0) << arguments << r.out << r.err;
    std::vector<std::string> all;
    const json j = r.json();
    for (const json& epoch : j["epochs"]) all.push_back(epoch["digest"].get<std::string>());
    return all;
  }
  fs::path a_file(const std::string& sub) {
    std::set<fs::path> files;
    for (const auto& f : fs::directory_iterator(fs::path(dataset()) / sub)) files.insert(f.path());
    return *files.begin();
  }
};

TEST_F(Run, The_same_digests_whatever_the_threads_windows_and_delays) {
  const std::vector<std::string> reference = digests(job() + " --epochs 2 --threads 0");
  ASSERT_EQ(reference.size(), 2u);
  EXPECT_NE(reference[0], reference[1]);
  for (const char* setting : {"--threads 1", "--threads 2 --window 1", "--threads 3 --window 4 --no-help",
                              "--threads 8 --window 2 --delay-us 300", "--threads 2 --no-cache"})
    EXPECT_EQ(digests(job() + " --epochs 2 " + setting), reference) << setting;
  EXPECT_NE(digests(job() + " --epochs 2 --seed 1"), reference);
  EXPECT_NE(digests(job() + " --epochs 2 --augment flip"), reference);
}

TEST_F(Run, Completion_order_gives_the_same_set_digests) {
  const auto sets = [&](const std::string& setting) {
    const Result r =
        run("run --data '" + dataset() + "' --patch 16,16,12 --samples 3 --batch-size 1 --epochs 2 --json " + setting);
    EXPECT_EQ(r.status, 0) << setting << r.out << r.err;
    std::vector<std::string> all;
    const json j = r.json();
    for (const json& epoch : j["epochs"]) all.push_back(epoch["set_digest"].get<std::string>());
    return all;
  };
  const std::vector<std::string> reference = sets("--threads 0");
  ASSERT_EQ(reference.size(), 2u);
  EXPECT_NE(reference[0], reference[1]);
  for (const char* setting :
       {"--threads 2 --order sequence", "--threads 2 --order completion:0", "--threads 2 --order completion:1",
        "--threads 4 --window 3 --order completion:256 --delay-us 3000", "--threads 0 --order completion:4"})
    EXPECT_EQ(sets(setting), reference) << setting;
  // In sequence, and where nothing can overtake, the order is the same, too.
  EXPECT_EQ(digests(job() + " --epochs 2 --threads 2 --order completion:0"),
            digests(job() + " --epochs 2 --threads 0"));
  for (const char* bad : {"", "completion", "completion:", "completion:-1", "completion:257", "completion:4x", "random",
                          "completion:99999999999"})
    expect_failure("run " + job() + " --order '" + bad + "'", 2, "--order");
}

TEST_F(Run, A_decimal_comma_in_the_environment_changes_nothing) {
  const std::string arguments =
      "--data '" + dataset() +
      "' --patch 8,8,8 --samples 3 --epochs 1 --spacing 1.5,1.5,2.5 --intensity -57.5,164.25,0,1";
  EXPECT_EQ(digests(arguments, "LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8"), digests(arguments));
}

TEST_F(Run, Another_set_of_vector_instructions_in_the_C_library_changes_nothing) {
  const std::string off = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-FMA_Usable,-AVX512F";
  EXPECT_EQ(digests(job() + " --epochs 2", off), digests(job() + " --epochs 2"));
}

TEST_F(Run, One_changed_voxel_moves_the_digest) {
  const std::string arguments = "--data '" + dataset() + "' --patch 30,30,24 --samples 3 --epochs 1 --augment none";
  const std::vector<std::string> before = digests(arguments);
  const fs::path image = a_file("imagesTr");
  headrace::NiftiImage volume = headrace::read_nifti(image, {.dtype = headrace::DType::i16});
  std::int16_t* voxels = volume.tensor.mutable_data<std::int16_t>();
  voxels[volume.tensor.numel() / 2 + 16 * 18] =
      static_cast<std::int16_t>(voxels[volume.tensor.numel() / 2 + 16 * 18] + 1);
  headrace::write_nifti(image, volume.tensor, volume.affine);
  EXPECT_NE(digests(arguments), before);
}

TEST_F(Run, Json_has_what_scripts_rely_on) {
  const json j = run("run " + job() + " --epochs 2 --threads 2 --window 2 --json").json();
  ASSERT_EQ(j["epochs"].size(), 2u);
  const json& e = j["epochs"][1];
  EXPECT_EQ(e["epoch"], 1);
  EXPECT_EQ(e["patches"], 9);
  EXPECT_EQ(e["digest"].get<std::string>().size(), 32u);
  EXPECT_EQ(e["set_digest"].get<std::string>().size(), 32u);
  EXPECT_GT(e["seconds"].get<double>(), 0);
  EXPECT_GT(e["patches_per_second"].get<double>(), 0);
  EXPECT_LE(j["threads"].get<int>(), 2);
  EXPECT_EQ(j["window"], 2);
  EXPECT_GT(j["peak_rss_bytes"].get<double>(), 1e6);
  EXPECT_EQ(j["bytes_copied_per_patch"], 16 * 16 * 12 * (4 + 2));
  EXPECT_TRUE(j.contains("patches_stolen"));
  const json quiet = run("run " + job() + " --epochs 1 --no-digest --json").json();
  EXPECT_TRUE(quiet["epochs"][0]["digest"].is_null());
}

TEST_F(Run, Verify_says_equal) {
  const Result r = run("verify " + job() + " --threads 0,1,2,8 --windows 1,3 --delays 0,200 --json");
  EXPECT_EQ(r.status, 0) << r.out;
  const json j = r.json();
  EXPECT_EQ(j["equal"], true);
  EXPECT_EQ(j["runs"], 22) << "16 in sequence, 6 in completion order";
  EXPECT_FALSE(j.contains("first_difference"));
}

TEST_F(Run, A_contact_sheet_is_a_picture) {
  const std::string png = folder / "sheet.png";
  EXPECT_EQ(run("run " + job() + " --epochs 1 --contact-sheet '" + png + "'").status, 0);
  EXPECT_GT(fs::file_size(png), 1000u);
  expect_failure("run " + job() + " --epochs 1 --contact-sheet '" + dataset() + "'", 1, "not a regular file");
}

TEST_F(Run, Options_that_make_no_sense) {
  expect_failure("run --threads 1", 2, "--data");
  for (const char* bad : {"-1", "1.5", "two", "", "99999999999999"})
    expect_failure("run " + job() + " --threads '" + bad + "'", 2, "--threads");
  expect_failure("run " + job() + " --window -1", 2, "--window");
  expect_failure("run " + job() + " --batch-size 0", 2, "--batch-size");
  expect_failure("run " + job() + " --samples 0", 2, "--samples");
  expect_failure("run " + job() + " --samples 16384", 2, "--samples");
  expect_failure("run " + job() + " --epochs 0", 2, "--epochs");
  expect_failure("run " + job() + " --no-such-option", 2, "--no-such-option");
  const std::string data = "--data '" + dataset() + "' ";
  for (const char* bad : {"96", "0,16,16", "16,-3,16", "16,16,99999999", "16,16,16,16"})
    expect_failure("run " + data + "--patch " + bad, 2, "--patch");
  for (const char* bad : {"nan,1,1", "-1,1,1", "1,1", "inf,1,1"})
    expect_failure("run " + data + "--spacing " + bad, 2, "--spacing");
  for (const char* bad : {"percent", "1,2,3", "1,2,x,4", "1,2,3,nan"})
    expect_failure("run " + data + "--intensity " + bad, 2, "ntensity");
  expect_failure("run " + data + "--label-dtype u7", 2, "u7");
  expect_failure("run " + data + "--augment blur", 2, "blur");
  expect_failure("verify " + data + "--delays -5", 2, "--delays");
}

TEST_F(Run, Data_that_cannot_be_used) {
  expect_failure("run --data '" + (folder / "nowhere") + "'", 1, "nowhere");
  expect_failure("run --data '" + dataset() + "' --patch 300,16,16", 1, "RandCropByPosNegLabel");
  expect_failure("run --data '" + dataset() + "' --patch 16,16,16 --spacing 0.0000001,1,1", 1, "Spacing");
  const fs::path label = a_file("labelsTr"), image = a_file("imagesTr");
  const std::string item = "item 0";

  const headrace::NiftiImage original = headrace::read_nifti(label, {.dtype = headrace::DType::i16});
  headrace::Tensor large = original.tensor.clone();
  large.fill_(700);
  headrace::write_nifti(label, large, original.affine);
  expect_failure("run " + job() + " --label-dtype u8", 1, "700");
  large.fill_(0);
  headrace::write_nifti(label, large, original.affine);
  EXPECT_EQ(run("run " + job() + " --epochs 1").status, 0) << "no foreground: patches come from the background";

  headrace::Affine moved = original.affine;
  moved(0, 3) += 5;
  headrace::write_nifti(label, original.tensor, moved);
  expect_failure("run " + job(), 1, "affine");
  headrace::write_nifti(label, original.tensor.narrow(1, 1, original.tensor.size(1) - 1), original.affine);
  expect_failure("run " + job(), 1, "shape");
  headrace::write_nifti(label, original.tensor, original.affine);

  const auto bytes = fs::file_size(image);
  fs::resize_file(image, bytes / 2);
  expect_failure("run " + job(), 1, image.filename());
  fs::remove(image);
  expect_failure("run " + job(), 1, image.filename());
}

TEST_F(Run, Batches_larger_than_the_dataset_are_short) {
  const json j =
      run("run --data '" + dataset() + "' --patch 16,16,12 --samples 2 --batch-size 50 --epochs 1 --json").json();
  EXPECT_EQ(j["epochs"][0]["patches"], 6);
}

TEST_F(Run, Numbers_are_decimal_digits_within_their_range) {
  for (const char* bad :
       {"--seed -1", "--seed 18446744073709551616", "--seed ''", "--seed 010", "--seed 0x10", "--seed ' 5'",
        "--seed 1e18", "--samples 010", "--samples 0", "--samples +3", "--batch-size -1", "--epochs 1.5",
        "--patch 8,8,8,", "--patch 8,8", "--patch 8,8,8.5", "--patch ''", "--spacing 1,1", "--spacing 1,1,1,"})
    expect_failure("run --data '" + dataset() + "' " + bad, 2, std::string(bad).substr(0, std::string(bad).find(' ')));
  expect_failure("verify --data '" + dataset() + "' --seed -1", 2, "--seed: '-1'; expected a whole number");
  EXPECT_NE(digests(job() + " --epochs 1 --seed 18446744073709551615"), digests(job() + " --epochs 1"));
}

TEST_F(Run, Verify_counts_failures_and_is_not_content_with_equal_ones) {
  const std::string small = "verify --data '" + dataset() + "' --threads 0,2 --windows 1 --epochs 1 ";
  const nlohmann::json good = run(small + "--patch 8,8,8 --json").json();
  EXPECT_EQ(good["failures"], 0);
  const Result r = run(small + "--patch 300,16,16 --json");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.json()["equal"], true);
  EXPECT_GT(r.json()["failures"], 0);
  EXPECT_CONTAINS(r.json()["first_failure"].get<std::string>(), "RandCropByPosNegLabel");
}

TEST_F(Run, Verify_can_be_interrupted) {
  // --foreground: else the whole group gets the signal too, and a second one ends the command at once.
  for (const char* signal : {"INT", "TERM"}) {
    const Result r = run("verify --data '" + dataset() + "' --patch 8,8,8 --epochs 1000 --delays 3000",
                         std::string("timeout --foreground --preserve-status --signal=") + signal + " -k 60 2");
    EXPECT_EQ(r.status, 130) << r.err;
  }
}

TEST_F(Run, A_file_name_cannot_command_a_terminal) {
  const Result r = run("run --data \"$(printf 'no\\033[31mfolder')\"");
  EXPECT_EQ(r.status, 1);
  EXPECT_CONTAINS(r.err, "no\\x1b[31mfolder");
}

TEST_F(Run, Interrupting_leaves_at_once) {
  const Result r = run("run " + job() + " --epochs 100000 --no-digest --delay-us 2000",
                       "timeout --foreground --preserve-status --signal=INT 2");
  EXPECT_EQ(r.status, 130) << r.err;
  EXPECT_CONTAINS(r.err, "interrupted");
}

TEST_F(Run, Works_where_threads_cannot_be_created) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer needs more address space than the limit leaves";
#endif
  // A limit of the address space stops thread stacks before it stops the job.
  const std::vector<std::string> expected = digests(job() + " --epochs 1 --threads 0");
  const Result r = run("run " + job() + " --epochs 1 --threads 64 --json", "ulimit -s 4194304; ulimit -v 12000000;");
  if (r.status != 0) GTEST_SKIP() << "this system cannot run the command under such a limit: " << r.out << r.err;
  EXPECT_EQ(r.json()["epochs"][0]["digest"], expected[0]);
}

}  // namespace
