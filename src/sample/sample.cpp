#include <algorithm>
#include <headrace/sample/sample.hpp>
#include <stdexcept>

namespace headrace {

FieldName::FieldName(std::string_view name) : length_(static_cast<std::uint8_t>(name.size())) {
  if (name.empty() || name.size() > max_length)
    throw std::invalid_argument("'" + std::string(name) + "' is no field name: expected 1 to " +
                                std::to_string(max_length) + " bytes");
  std::copy(name.begin(), name.end(), text_.begin());
}

namespace {

[[noreturn]] void throw_missing(std::string_view name, std::span<const Field> fields) {
  std::string known;
  for (const Field& f : fields) known += (known.empty() ? "" : ", ") + f.name.str();
  throw std::out_of_range("the sample has no field '" + std::string(name) +
                          "'; it has: " + (known.empty() ? "none" : known));
}
[[noreturn]] void throw_kind(std::string_view name, std::string_view asked) {
  throw std::invalid_argument("field '" + std::string(name) + "' is not " + std::string(asked));
}
const std::string empty_path;

}  // namespace

const Field* Sample::find(std::string_view name) const noexcept {
  const auto it = std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
  return it == fields_.end() ? nullptr : &*it;
}
Field* Sample::find_mutable(std::string_view name) noexcept { return const_cast<Field*>(find(name)); }

const Field& Sample::field(std::string_view name) const {
  if (const Field* f = find(name)) return *f;
  throw_missing(name, fields_);
}

Field& Sample::field_for_writing(std::string_view name) {
  if (Field* f = find_mutable(name)) return *f;
  return fields_.emplace_back(Field{FieldName(name), {}, {}, {}});
}

const Tensor& Sample::get(std::string_view name) const {
  if (const auto* t = std::get_if<Tensor>(&field(name).value)) return *t;
  throw_kind(name, "a tensor");
}

Tensor& Sample::tensor(std::string_view name) {
  Field* f = find_mutable(name);
  if (!f) throw_missing(name, fields_);
  auto* t = std::get_if<Tensor>(&f->value);
  if (!t) throw_kind(name, "a tensor");
  if (t->defined() && (!t->writable() || !t->is_contiguous())) {
    Tensor own = output(name, t->dtype(), t->shape());
    own.copy_from(*t);
    *t = std::move(own);
  }
  return *t;
}

double Sample::real(std::string_view name) const {
  const FieldValue& v = field(name).value;
  if (const auto* d = std::get_if<double>(&v)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  throw_kind(name, "a number");
}
std::int64_t Sample::integer(std::string_view name) const {
  if (const auto* i = std::get_if<std::int64_t>(&field(name).value)) return *i;
  throw_kind(name, "an integer");
}
const std::string& Sample::text(std::string_view name) const {
  const auto* s = std::get_if<SharedText>(&field(name).value);
  if (s && *s) return **s;
  throw_kind(name, "a text");
}
const VoxelSet& Sample::voxels(std::string_view name) const {
  const auto* v = std::get_if<std::shared_ptr<const VoxelSet>>(&field(name).value);
  if (v && *v) return **v;
  throw_kind(name, "a voxel set");
}

const std::string& Sample::path(std::string_view name) const {
  const SharedText& p = field(name).path;
  return p ? *p : empty_path;
}

const std::string& Sample::first_path() const noexcept {
  for (const Field& f : fields_)
    if (f.path) return *f.path;
  return empty_path;
}

void Sample::set(std::string_view name, Tensor value) { field_for_writing(name).value = std::move(value); }
void Sample::set(std::string_view name, Tensor value, const Affine& affine) {
  Field& f = field_for_writing(name);
  f.value = std::move(value);
  f.affine = affine;
}
void Sample::set_value(std::string_view name, FieldValue value) { field_for_writing(name).value = std::move(value); }
void Sample::set_path(std::string_view name, std::string path) {
  Field* f = find_mutable(name);
  if (!f) throw_missing(name, fields_);
  f->path = path.empty() ? nullptr : std::make_shared<const std::string>(std::move(path));
}
void Sample::erase(std::string_view name) {
  std::erase_if(fields_, [&](const Field& f) { return f.name == name; });
}

Tensor Sample::output(std::string_view name, DType dtype, const Shape& shape) {
  return place_ ? place_->output(name, dtype, shape) : Tensor::empty(dtype, shape);
}
Tensor Sample::scratch(DType dtype, const Shape& shape) {
  return place_ ? place_->scratch(dtype, shape) : Tensor::empty(dtype, shape);
}

void Sample::release_values() noexcept {
  for (Field& f : fields_) {
    f.value = std::int64_t{0};
    f.path = nullptr;
  }
}

SampleSpec Sample::spec() const {
  SampleSpec spec;
  for (const Field& f : fields_) {
    FieldSpec s{.name = f.name.str()};
    if (const auto* t = std::get_if<Tensor>(&f.value)) {
      s.dtype = t->dtype();
      s.shape = t->shape();
    } else if (std::holds_alternative<double>(f.value)) {
      s.kind = FieldKind::real;
    } else if (std::holds_alternative<std::int64_t>(f.value)) {
      s.kind = FieldKind::integer;
    } else if (std::holds_alternative<SharedText>(f.value)) {
      s.kind = FieldKind::text;
    } else {
      s.kind = FieldKind::voxels;
    }
    spec.fields.push_back(std::move(s));
  }
  return spec;
}

void Sample::freeze() {
  for (Field& f : fields_)
    if (auto* t = std::get_if<Tensor>(&f.value)) {
      // A strided view of a larger storage would keep all of it alive in the cache.
      if (!t->is_contiguous() || t->bytes() < t->storage().bytes()) *t = t->clone();
      Storage storage = t->storage();
      storage.set_read_only();
    }
}

std::size_t Sample::bytes() const {
  std::size_t n = 0;
  for (const Field& f : fields_) {
    if (const auto* t = std::get_if<Tensor>(&f.value)) n += t->bytes();
    if (const auto* v = std::get_if<std::shared_ptr<const VoxelSet>>(&f.value)) n += *v ? (*v)->bytes() : 0;
  }
  return n;
}

}  // namespace headrace
