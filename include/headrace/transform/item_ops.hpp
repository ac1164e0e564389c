// CopyItems and SelectItems: fields by name.
//
//   CopyItems({.keys = "image", .names = {"original"}})    another field with the same voxels, shared until one is written
//   SelectItems({.keys = {"image", "label"}})              only these fields stay, in the sample's order
//
// With times = t, names are read round by round: one per key, then one per key again; without names they are KEY_0, KEY_1,
// ... of each key, in the same order. No voxel is copied.
//
// Errors: std::invalid_argument from the constructor (no keys; times of 0; a wrong number of names; a name twice); for a
// name that exists already. A missing key: std::out_of_range. Thread-safety: immutable.
// Source: MONAI 1.6.1 CopyItemsd (whose default names are assigned to the wrong keys), SelectItemsd.
#pragma once

#include <cstdint>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct CopyItemsOptions {
  Keys keys{};  // needed
  unsigned times = 1;
  std::vector<std::string> names{};
};

class CopyItems {
 public:
  static constexpr const char* name = "CopyItems";

  explicit CopyItems(CopyItemsOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const;

 private:
  CopyItemsOptions options_;
};

struct SelectItemsOptions {
  Keys keys{};  // needed
};

class SelectItems {
 public:
  static constexpr const char* name = "SelectItems";

  explicit SelectItems(SelectItemsOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const;

 private:
  Keys keys_;
};

}  // namespace headrace
