// What is known about a sample before the first one is made: names, kinds, types and shapes of its fields.
//
// A dataset states the specification of its items; every transform maps it (`infer`); the loader lays out its batch
// slots from what comes out at the end. A size that is not known yet (the extent of a volume on disk) is `unknown`.
#pragma once

#include <headrace/tensor/dtype.hpp>
#include <headrace/tensor/shape.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

inline constexpr std::int64_t unknown = -1;

enum class FieldKind : std::uint8_t { tensor, real, integer, text, voxels };

struct FieldSpec {
  std::string name;
  FieldKind kind = FieldKind::tensor;
  DType dtype = DType::f32;  // tensors only
  Shape shape{};             // tensors only, channel first; `unknown` where not known

  bool known() const noexcept;  // every size is known
  std::size_t bytes() const;  // of a known tensor; throws std::logic_error otherwise, std::length_error beyond 64 bits
  std::string str() const;    // "image f32 [1, ?, ?, ?]"
  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

struct SampleSpec {
  std::vector<FieldSpec> fields;

  const FieldSpec* find(std::string_view name) const noexcept;
  FieldSpec* find(std::string_view name) noexcept;
  // Throws std::invalid_argument that lists the fields there are.
  FieldSpec& at(std::string_view name);
  const FieldSpec& at(std::string_view name) const;
  void set(FieldSpec field);  // replaces or appends
  void erase(std::string_view name);
  bool known() const noexcept;
  std::string str() const;
  friend bool operator==(const SampleSpec&, const SampleSpec&) = default;
};

}  // namespace headrace
