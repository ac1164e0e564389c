#include <headrace/dataset/nifti_dataset.hpp>
#include <headrace/io/nifti_reader.hpp>
#include <stdexcept>

namespace headrace {

struct NiftiDataset::State {
  Fields fields;
  NiftiDatasetOptions options;

  DType dtype(const std::string& field) const {
    const auto it = options.dtypes.find(field);
    return it == options.dtypes.end() ? DType::f32 : it->second;
  }
  std::string relative(const std::string& path) const {
    const std::string& root = options.root;
    if (root.empty() || path.compare(0, root.size(), root) != 0) return path;
    return path.substr(path.find_first_not_of('/', root.size()) == std::string::npos
                           ? path.size()
                           : path.find_first_not_of('/', root.size()));
  }
};

NiftiDataset::NiftiDataset(Fields fields, NiftiDatasetOptions options) {
  if (fields.empty())
    throw std::invalid_argument("NiftiDataset: no field was given; expected for example {{\"image\", paths}}");
  for (const auto& [name, paths] : fields) {
    (void)FieldName(name);
    if (paths.size() != fields.front().second.size())
      throw std::invalid_argument("NiftiDataset: field '" + name + "' has " + std::to_string(paths.size()) +
                                  " files and field '" + fields.front().first + "' has " +
                                  std::to_string(fields.front().second.size()) + ": expected as many");
  }
  for (const auto& [name, dtype] : options.dtypes) {
    bool known = false;
    for (const auto& field : fields) known = known || field.first == name;
    if (!known)
      throw std::invalid_argument("NiftiDataset: an element type is given for '" + name + "', which is no field");
    if (dtype == DType::f16 || dtype == DType::bf16)
      throw std::invalid_argument("NiftiDataset: field '" + name + "' cannot be read as " +
                                  std::string(name_of(dtype)));
  }
  if (options.channels < 1)
    throw std::invalid_argument("NiftiDataset: channels is " + std::to_string(options.channels) +
                                ": expected at least 1");
  state_ = std::make_shared<const State>(State{std::move(fields), std::move(options)});
}

std::uint64_t NiftiDataset::size() const noexcept { return state_->fields.front().second.size(); }

Sample NiftiDataset::operator()(std::uint64_t index) const {
  if (index >= size())
    throw std::out_of_range("item " + std::to_string(index) + " of a dataset of " + std::to_string(size()));
  Sample sample;
  const std::string* first_path = nullptr;
  for (const auto& [name, paths] : state_->fields) {
    const std::string& path = paths[index];
    NiftiImage image = read_nifti(path, {.dtype = state_->dtype(name), .channels = state_->options.channels});
    if (first_path && state_->options.check_geometry) {
      const Field& first = sample.fields().front();
      if (!(first.tensor().shape() == image.tensor.shape()))
        throw IoError(path, "its shape is " + image.tensor.shape().str() + "; expected " +
                                first.tensor().shape().str() + " as in " + *first_path);
      if (!first.affine.close_to(image.affine))
        throw IoError(
            path, "its affine is " + image.affine.str() + "; expected " + first.affine.str() + " as in " + *first_path);
    }
    if (!first_path) first_path = &path;
    sample.set(name, std::move(image.tensor), image.affine);
    sample.set_path(name, path);
  }
  return sample;
}

SampleSpec NiftiDataset::spec() const {
  SampleSpec spec;
  for (const auto& field : state_->fields)
    spec.fields.push_back({.name = field.first,
                           .dtype = state_->dtype(field.first),
                           .shape = {state_->options.channels, unknown, unknown, unknown}});
  return spec;
}

std::string NiftiDataset::path_of(std::uint64_t index) const {
  return index < size() ? state_->fields.front().second[index] : std::string();
}

std::string NiftiDataset::describe() const {
  std::string text = "nifti, channels " + std::to_string(state_->options.channels) + "\n";
  for (const auto& [name, paths] : state_->fields) {
    text += name + " " + std::string(name_of(state_->dtype(name))) + "\n";
    for (const std::string& path : paths) text += state_->relative(path) + "\n";
  }
  return text;
}

}  // namespace headrace
