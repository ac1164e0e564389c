// A sample: a small flat map from field names to tensors (with geometry), numbers, strings and voxel sets.
//
// Copying a sample copies handles, never voxels. Reading a tensor through get() shares; writing through tensor() goes
// by copy-on-write, so a cached sample that many threads hold is never changed. Fields keep the order in which they
// were set: that is their declared order, in digests too.
//
// Where new voxels go: output() asks the sample's OutputPlace, which the loader sets to the batch slot (or to pooled
// scratch memory when a later op will rewrite the field). Without one, output() is fresh heap memory. An op that
// produces a field calls output(), fills it and calls set(): it never needs to know where it runs.
//
// Errors: std::out_of_range naming the missing field and listing those there are; std::invalid_argument for a field of
// another kind.
// Thread-safety: as a value; any number of threads may read one const sample.
#pragma once

#include <concepts>
#include <cstdint>
#include <headrace/sample/affine.hpp>
#include <headrace/sample/field_name.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/sample/voxel_set.hpp>
#include <headrace/tensor/tensor.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headrace {

using SharedText = std::shared_ptr<const std::string>;
using FieldValue = std::variant<Tensor, double, std::int64_t, SharedText, std::shared_ptr<const VoxelSet>>;

struct Field {
  FieldName name;
  FieldValue value;
  Affine affine;    // of a tensor with spatial axes; identity otherwise
  SharedText path;  // the file it came from, or null

  bool is_tensor() const noexcept { return std::holds_alternative<Tensor>(value); }
  const Tensor& tensor() const { return std::get<Tensor>(value); }
};

// Where ops put new voxels. Set by whoever runs a pipeline; one sample, one thread at a time.
class OutputPlace {
 public:
  virtual ~OutputPlace() = default;
  // Contiguous memory for the field's new value, contents undefined.
  virtual Tensor output(std::string_view field, DType dtype, const Shape& shape) = 0;
  // Called before each op of a pipeline with its position: where a field goes depends on the ops that are still to
  // come.
  virtual void before_op(std::size_t op) { (void)op; }
  // Contiguous memory that lives as long as a handle to it, for an op's intermediate results.
  virtual Tensor scratch(DType dtype, const Shape& shape) = 0;
};

// Which output of which item this is.
struct Origin {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // of the item in the epoch's order
  std::uint64_t index = 0;     // in the dataset
  std::uint32_t patch = 0;
};

class Sample {
 public:
  Sample() = default;
  // Copies share voxels. The OutputPlace is not copied: it belongs to the run, not to the value.
  Sample(const Sample& o) : fields_(o.fields_), origin_(o.origin_) {}
  Sample(Sample&& o) noexcept : fields_(std::move(o.fields_)), origin_(o.origin_) {}
  Sample& operator=(const Sample& o) {
    fields_ = o.fields_;
    origin_ = o.origin_;
    return *this;
  }
  Sample& operator=(Sample&& o) noexcept {
    fields_ = std::move(o.fields_);
    origin_ = o.origin_;
    return *this;
  }

  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  const Field* find(std::string_view name) const noexcept;
  const Field& field(std::string_view name) const;
  std::span<const Field> fields() const noexcept { return fields_; }
  std::size_t size() const noexcept { return fields_.size(); }

  // A tensor for reading: shares, copies nothing.
  const Tensor& get(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const { return get(name); }
  // A contiguous tensor for writing in place: first copied (to the OutputPlace) unless this sample is the only owner of
  // its voxels and they lie in C order. So code that walks from mutable_data() over numel() elements is right, also
  // behind a crop or a flip. In a loader the copy goes into the batch, where the voxels have to go anyway.
  Tensor& tensor(std::string_view name);
  double real(std::string_view name) const;  // integers convert
  std::int64_t integer(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const VoxelSet& voxels(std::string_view name) const;

  const Affine& affine(std::string_view name) const { return field(name).affine; }
  // Empty where the field came from no file.
  const std::string& path(std::string_view name) const;
  // The first path any field has: what an error names.
  const std::string& first_path() const noexcept;

  // Replaces or appends. Replacing a tensor without an affine keeps the field's affine and path.
  void set(std::string_view name, Tensor value);
  void set(std::string_view name, Tensor value, const Affine& affine);
  void set(std::string_view name, double value) { set_value(name, value); }
  void set(std::string_view name, std::int64_t value) { set_value(name, value); }
  template <std::integral T>
  void set(std::string_view name, T value) {
    set_value(name, static_cast<std::int64_t>(value));
  }
  void set(std::string_view name, std::string value) {
    set_value(name, std::make_shared<const std::string>(std::move(value)));
  }
  void set(std::string_view name, std::shared_ptr<const VoxelSet> value) { set_value(name, std::move(value)); }
  void set_path(std::string_view name, std::string path);
  void erase(std::string_view name);  // a missing field is ignored
  void clear() noexcept { fields_.clear(); }

  // New contiguous memory for a field's next value (see OutputPlace).
  Tensor output(std::string_view name, DType dtype, const Shape& shape);
  Tensor scratch(DType dtype, const Shape& shape);
  void set_output_place(OutputPlace* place) noexcept { place_ = place; }
  OutputPlace* output_place() const noexcept { return place_; }

  const Origin& origin() const noexcept { return origin_; }
  void set_origin(const Origin& origin) noexcept { origin_ = origin; }

  // Drops the values but keeps the memory of the map itself, for a record that will be filled again.
  void release_values() noexcept;
  // The specification this very sample has.
  SampleSpec spec() const;
  // Every tensor becomes read-only: what a cache does before it shares the sample.
  void freeze();
  // Bytes of the tensors' extents and of the voxel sets.
  std::size_t bytes() const;

 private:
  Field* find_mutable(std::string_view name) noexcept;
  Field& field_for_writing(std::string_view name);
  void set_value(std::string_view name, FieldValue value);

  std::vector<Field> fields_;
  Origin origin_;
  OutputPlace* place_ = nullptr;
};

}  // namespace headrace
