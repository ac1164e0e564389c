#include "job.hpp"

#include <charconv>
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

void JobOptions::add_to(CLI::App& app) {
  app.add_option("--data", data,
                 "Dataset folder with a dataset.json in the layout of the Medical Segmentation Decathlon")
      ->required();
  app.add_option("--patch", patch, "Patch size per axis, voxels")->delimiter(',')->capture_default_str();
  app.add_option("--samples", samples, "Patches per volume")->capture_default_str()->check(CLI::Range(1u, 16383u));
  app.add_option("--batch-size", batch_size, "Volumes per batch")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 20));
  app.add_option("--seed", seed, "Seed of all random numbers")->capture_default_str();
  app.add_option("--spacing", spacing, "Resample to this voxel size, mm; 0 keeps an axis as it is")
      ->delimiter(',')
      ->capture_default_str();
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
  if (o.patch.size() != 3)
    throw std::invalid_argument("--patch: expected three sizes, got " + std::to_string(o.patch.size()));
  for (std::int64_t n : o.patch)
    if (n < 1 || n > 4096) throw std::invalid_argument("--patch: size " + std::to_string(n) + " is not within 1..4096");
  if (o.spacing.size() != 3)
    throw std::invalid_argument("--spacing: expected three numbers, got " + std::to_string(o.spacing.size()));

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
