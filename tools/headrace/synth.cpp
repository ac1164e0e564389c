// `headrace synth`: writes a made-up dataset in the layout of the Medical Segmentation Decathlon.
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <headrace/io/file.hpp>
#include <headrace/io/nifti_writer.hpp>
#include <memory>

#include "output.hpp"
#include "phantom.hpp"
#include "progress.hpp"
#include "verbs.hpp"

namespace headrace::tool {
namespace {

namespace fs = std::filesystem;

struct Synth {
  std::string out;
  std::string count = "8";
  std::string shape = "128,128,64";
  std::string seed = "0";
  std::string vary = "0";
};

// Marks a folder as ours from the first file on, so that an interrupted run can be repeated.
constexpr const char* marker = ".headrace-synth";

template <class T>
T parse(const std::string& text, const std::string& option, T low, T high, const std::string& expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    throw std::invalid_argument(option + ": '" + text + "'; expected " + expected);
  return value;
}

std::array<std::int64_t, 3> parse_shape(const std::string& text) {
  const std::string expected = "three sizes X,Y,Z, each 4 to 32767";
  std::array<std::int64_t, 3> shape{};
  std::size_t begin = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t comma = text.find(',', begin);
    if ((comma == std::string::npos) != (d == 2))
      throw std::invalid_argument("--shape: '" + text + "'; expected " + expected);
    shape[d] = parse<std::int64_t>(text.substr(begin, comma - begin), "--shape", 4, 32767, expected);
    begin = comma + 1;
  }
  return shape;
}

std::string file_name(std::uint64_t i) {
  const std::string digits = std::to_string(i);
  return "synth_" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits + ".nii.gz";
}

// An empty folder, a new one, or one that an earlier run made, whose files are removed.
void prepare_folder(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out, error) && !fs::is_directory(out, error)) throw IoError(out.string(), "is not a folder");
  if (fs::exists(out, error) && !fs::is_empty(out) && !fs::exists(out / marker))
    throw IoError(out.string(), "is not empty and was not written by this command; expected a new or an empty folder");
  fs::create_directories(out, error);
  if (error) throw IoError(out.string(), "cannot be created: " + error.message());
  if (std::ofstream file(out / marker); !(file << "Written by headrace synth; it may empty this folder.\n").flush())
    throw IoError((out / marker).string(), "cannot be written");
  fs::remove(out / "dataset.json");
  for (const char* folder : {"imagesTr", "labelsTr"}) {
    fs::create_directories(out / folder);
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(out / folder))
      if (entry.path().filename().string().starts_with("synth_")) old.push_back(entry.path());
    for (const fs::path& path : old) fs::remove(path);
  }
}

// Last, and whole or not at all: a folder with a dataset.json is complete.
void write_list(const fs::path& out, const nlohmann::ordered_json& list) {
  const fs::path part = out / "dataset.json.part";
  if (std::ofstream file(part); !(file << list.dump(1) << "\n").flush()) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw IoError((out / "dataset.json").string(), "cannot be written");
  }
  fs::rename(part, out / "dataset.json");
}

int synth(const Synth& o, bool json) {
  const auto count = parse<std::uint64_t>(o.count, "--count", 1, 1'000'000, "a number of volumes, 1 to 1000000");
  const auto seed = parse<std::uint64_t>(o.seed, "--seed", 0, UINT64_MAX, "a whole number of 0 to 2^64 - 1");
  const PhantomOptions options{.shape = parse_shape(o.shape),
                               .vary = parse<double>(o.vary, "--vary", 0, 1, "a part, 0 to 1")};
  for (std::int64_t size : options.shape)
    if (static_cast<double>(size) * (1 + options.vary) >= 32768)
      throw std::invalid_argument("--shape: '" + o.shape + "' with --vary " + o.vary +
                                  " may pass NIfTI-1's limit of 32767");
  detail::check_path(o.out);

  const auto start = std::chrono::steady_clock::now();
  const fs::path out(o.out);
  prepare_folder(out);
  nlohmann::ordered_json list{{"name", "Synthetic spleen"},
                              {"description", "Made by headrace synth: no patient, no disease, nothing to learn"},
                              {"tensorImageSize", "3D"},
                              {"modality", {{"0", "CT"}}},
                              {"labels", {{"0", "background"}, {"1", "spleen"}}},
                              {"numTraining", count},
                              {"numTest", 0},
                              {"training", nlohmann::ordered_json::array()},
                              {"test", nlohmann::ordered_json::array()}};
  Progress progress(!json);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (interrupted()) throw Interrupted();
    progress.show("writing", i, count);
    const Phantom phantom = make_phantom(options, seed, i);
    const std::string image = "imagesTr/" + file_name(i), label = "labelsTr/" + file_name(i);
    write_nifti((out / image).string(), phantom.image, phantom.affine, {.description = "headrace synth"});
    write_nifti((out / label).string(), phantom.label, phantom.affine, {.description = "headrace synth"});
    list["training"].push_back({{"image", "./" + image}, {"label", "./" + label}});
    bytes += fs::file_size(out / image) + fs::file_size(out / label);
  }
  progress.clear();
  write_list(out, list);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (json)
    print_json({{"out", o.out},
                {"count", count},
                {"shape", options.shape},
                {"seed", seed},
                {"bytes", bytes},
                {"seconds", seconds}});
  else
    std::printf("%llu volumes with labels, %.1f MB, in %s (%.1f s)\n", static_cast<unsigned long long>(count),
                static_cast<double>(bytes) / 1e6, o.out.c_str(), seconds);
  return 0;
}

}  // namespace

Verb add_synth(CLI::App& app) {
  auto o = std::make_shared<Synth>();
  CLI::App* verb =
      app.add_subcommand("synth", "Write a made-up CT dataset with spleen labels, the same for the same seed");
  verb->add_option("--out", o->out, "Folder to write: new, empty, or an earlier result, which is replaced")->required();
  verb->add_option("--count", o->count, "Volumes")->capture_default_str();
  verb->add_option("--shape", o->shape, "Voxels per axis, X,Y,Z")->capture_default_str();
  verb->add_option("--seed", o->seed, "Seed of all random numbers")->capture_default_str();
  verb->add_option("--vary", o->vary, "Make each size larger by a random part, up to this: 0.1 for a tenth")
      ->capture_default_str();
  return {verb, [o](bool json) { return synth(*o, json); }};
}

}  // namespace headrace::tool
