#include "job.hpp"

#include <charconv>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "decathlon.hpp"

namespace headrace::tool {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

// Independent of the locale: a decimal comma in the environment changes nothing.
double parse_number(const std::string& text, const std::string& option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(option + ": '" + text + "' is not a number");
  return value;
}

// Exactly three numbers, one per axis.
template <class T>
void add_axes(CLI::App& app, const std::string& name, std::vector<T>& values, const std::string& text,
              const std::string& expected) {
  std::string shown;
  for (const T v : values) {
    char digits[32];
    shown += (shown.empty() ? "" : ",") + std::string(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  app.add_option_function<std::string>(
         name,
         [&values, name, expected](const std::string& given) {
           std::vector<T> read;
           for (const std::string& part : split(given)) {
             T value{};
             const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
             if (part.empty() || error != std::errc() || end != part.data() + part.size()) break;
             read.push_back(value);
           }
           if (read.size() != 3 || split(given).size() != 3)
             throw CLI::ValidationError(name, "'" + given + "'; expected " + expected);
           values = read;
         },
         text)
      ->default_str(shown);
}

Transform intensity_op(const std::string& text) {
  if (text == "percentile")
    return ScaleIntensityRangePercentiles(
        {.keys = "image", .lower = 0.5, .upper = 99.5, .b_min = 0, .b_max = 1, .clip = true});
  const std::vector<std::string> n = split(text);
  if (n.size() != 4)
    throw std::invalid_argument(
        "--intensity: expected 'percentile' or four numbers a,b,c,d (a..b becomes c..d), got '" + text + "'");
  const std::array<double, 4> v{parse_number(n[0], "--intensity"), parse_number(n[1], "--intensity"),
                                parse_number(n[2], "--intensity"), parse_number(n[3], "--intensity")};
  return ScaleIntensityRange({.keys = "image", .a = {v[0], v[1]}, .b = {v[2], v[3]}, .clip = true});
}

}  // namespace

template <std::unsigned_integral T>
void add_count(CLI::App& app, const std::string& name, T& value, std::uint64_t low, std::uint64_t high,
               const std::string& text) {
  app.add_option_function<std::string>(
         name,
         [&value, name, low, high](const std::string& given) {
           std::uint64_t read = 0;
           const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), read);
           const bool padded = given.size() > 1 && given[0] == '0';
           if (given.empty() || padded || error != std::errc() || end != given.data() + given.size() || read < low ||
               read > high)
             throw CLI::ValidationError(name, "'" + given + "'; expected a whole number from " + std::to_string(low) +
                                                  " to " + std::to_string(high));
           value = static_cast<T>(read);
         },
         text)
      ->default_str(std::to_string(value));
}
template void add_count(CLI::App&, const std::string&, std::uint32_t&, std::uint64_t, std::uint64_t,
                        const std::string&);
template void add_count(CLI::App&, const std::string&, std::uint64_t&, std::uint64_t, std::uint64_t,
                        const std::string&);

void JobOptions::add_to(CLI::App& app) {
  app.add_option("--data", data,
                 "Dataset folder with a dataset.json in the layout of the Medical Segmentation Decathlon")
      ->required();
  add_axes(app, "--patch", patch, "Patch size per axis, voxels", "three sizes X,Y,Z");
  add_count(app, "--samples", samples, 1, 16383, "Patches per volume");
  add_count(app, "--batch-size", batch_size, 1, 1u << 20, "Volumes per batch");
  add_count(app, "--seed", seed, 0, UINT64_MAX, "Seed of all random numbers");
  add_axes(app, "--spacing", spacing, "Resample to this voxel size, mm; 0 keeps an axis as it is",
           "three numbers X,Y,Z");
  app.add_option("--intensity", intensity, "'percentile' (0.5 to 99.5 become 0 to 1) or a,b,c,d (a..b becomes c..d)")
      ->capture_default_str();
  app.add_option("--label-dtype", label_dtype, "Element type of labels; values that do not fit are an error")
      ->capture_default_str();
  app.add_option("--augment", augment, "'none', or any of affine,flip")->capture_default_str();
  app.add_flag("--no-shuffle", no_shuffle, "Keep the order of dataset.json");
  app.add_flag("--no-cache", no_cache, "Read and prepare volumes anew each time");
}

Job make_job(const JobOptions& o) {
  const Decathlon data = read_decathlon(o.data);
  NiftiDataset::Fields fields{{"image", {}}, {"label", {}}};
  for (const DecathlonPair& pair : data.training) {
    fields[0].second.push_back(pair.image);
    fields[1].second.push_back(pair.label);
  }
  for (std::int64_t n : o.patch)
    if (n < 1 || n > 4096) throw std::invalid_argument("--patch: size " + std::to_string(n) + " is not within 1..4096");

  std::vector<Transform> prepare{Orientation({.axcodes = "RAS"})};
  bool resample = false;
  for (double mm : o.spacing) {
    if (!(mm >= 0 && mm < 1e6))
      throw std::invalid_argument("--spacing: expected millimetres, or 0 to keep an axis as it is");
    resample = resample || mm > 0;
  }
  if (resample) prepare.emplace_back(Spacing({.pixdim = std::vector<double>(o.spacing)}));
  prepare.push_back(intensity_op(o.intensity));
  prepare.emplace_back(CropForeground({.source_key = "image"}));
  prepare.emplace_back(FgBgToIndices({.label_key = "label", .image_key = "image"}));

  std::vector<Transform> random{RandCropByPosNegLabel(
      {.label_key = "label", .spatial_size = std::vector<std::int64_t>(o.patch), .num_samples = o.samples})};
  std::set<std::string> wanted;
  for (const std::string& name : split(o.augment)) {
    if (name != "affine" && name != "flip" && !(name == "none" && o.augment == "none"))
      throw std::invalid_argument("--augment: '" + name + "' is not one of affine, flip, none");
    if (!wanted.insert(name).second) throw std::invalid_argument("--augment: '" + name + "' is named twice");
  }
  if (wanted.contains("affine"))
    random.emplace_back(RandAffine({.prob = 0.5,
                                    .rotate_range = {0.26, 0.26, 0.26},
                                    .scale_range = {0.1, 0.1, 0.1},
                                    .padding_mode = Padding::border,
                                    .op = 1}));
  if (wanted.contains("flip")) random.emplace_back(RandFlip({.prob = 0.5, .spatial_axis = {0}, .op = 2}));

  return {
      .files = NiftiDataset(std::move(fields), {.dtypes = {{"label", parse_dtype(o.label_dtype)}}, .root = data.root}),
      .deterministic = Pipeline(std::move(prepare)),
      .random = Pipeline(std::move(random))};
}

std::vector<unsigned> parse_counts(const std::string& text, const std::string& option) {
  std::vector<unsigned> counts;
  for (const std::string& part : split(text)) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || error != std::errc() || end != part.data() + part.size())
      throw std::invalid_argument(option + ": '" + part + "' is not a whole number of 0 or more");
    counts.push_back(value);
  }
  return counts;
}

}  // namespace headrace::tool
