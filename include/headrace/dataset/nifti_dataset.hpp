// NiftiDataset: NIfTI volumes by index, several named files per item (image, label, ...), read as channel-first
// tensors.
//
//     NiftiDataset files({{"image", image_paths}, {"label", label_paths}}, {.dtypes = {{"label", DType::u8}}});
//
// Item i holds, for each name, a tensor [C, n0, n1, n2] with its affine and path (what LoadImage, EnsureChannelFirst
// and EnsureType do elsewhere). Fields of one item must agree in shape and, unless told otherwise, in affine: an image
// and a label on different grids are an error that names both files, not a wrong patch.
//
// Errors: std::invalid_argument on construction (lists of different length, no field, no items are fine); IoError on
// access. Thread-safety: const; each access opens the files anew and touches nothing shared.
#pragma once

#include <headrace/sample/sample.hpp>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

struct NiftiDatasetOptions {
  std::map<std::string, DType> dtypes{};  // per field; f32 where not named
  std::int64_t channels = 1;              // every field's; a file with another number is an error
  bool check_geometry = true;             // fields of one item have one shape and one affine (within 1e-3)
  std::string root{};  // paths are described relative to it, so that a moved dataset keeps its fingerprint
};

class NiftiDataset {
 public:
  using Fields = std::vector<std::pair<std::string, std::vector<std::string>>>;
  explicit NiftiDataset(Fields fields, NiftiDatasetOptions options = {});
  // So that one field in braces is a list of one field, too.
  explicit NiftiDataset(std::initializer_list<Fields::value_type> fields, NiftiDatasetOptions options = {})
      : NiftiDataset(Fields(fields), std::move(options)) {}

  std::uint64_t size() const noexcept;
  Sample operator()(std::uint64_t index) const;
  SampleSpec spec() const;
  std::string path_of(std::uint64_t index) const;
  std::string describe() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace headrace
