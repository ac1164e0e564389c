#include <algorithm>
#include <headrace/dataset/dataset.hpp>
#include <stdexcept>

namespace headrace {
namespace {

// What two items have in common: sizes that differ become unknown.
SampleSpec common(const SampleSpec& a, const SampleSpec& b) {
  if (a.fields.size() != b.fields.size())
    throw std::invalid_argument("the items do not look alike: " + a.str() + " and " + b.str());
  SampleSpec out;
  for (FieldSpec f : a.fields) {
    const FieldSpec* g = b.find(f.name);
    if (!g || g->kind != f.kind || g->dtype != f.dtype || g->shape.rank() != f.shape.rank())
      throw std::invalid_argument("the items do not look alike: " + a.str() + " and " + b.str());
    for (int d = 0; d < f.shape.rank(); ++d)
      if (f.shape[d] != g->shape[d]) f.shape[d] = unknown;
    out.fields.push_back(std::move(f));
  }
  return out;
}

// Volumes differ in extent: only the channel count is taken from an example.
SampleSpec from_example(const Sample& sample) {
  SampleSpec spec = sample.spec();
  for (FieldSpec& f : spec.fields)
    for (int d = 1; d < f.shape.rank(); ++d) f.shape[d] = unknown;
  return spec;
}

}  // namespace

SampleSpec Dataset::spec() const {
  if (std::optional<SampleSpec> stated = model_->spec()) return *std::move(stated);
  const std::uint64_t tries = std::min<std::uint64_t>(size(), 8);
  std::string first_error;
  for (std::uint64_t i = 0; i < tries; ++i) {
    try {
      return from_example((*this)(i));
    } catch (const std::exception& e) {
      if (first_error.empty()) first_error = e.what();
    } catch (...) {
      if (first_error.empty()) first_error = "(something thrown that is no std::exception)";
    }
  }
  if (size() == 0) return {};
  throw std::runtime_error("none of the first " + std::to_string(tries) +
                           " items of the dataset can be made; the first says: " + first_error);
}

MemoryDataset::MemoryDataset(std::vector<Sample> samples) {
  for (Sample& s : samples) s.freeze();
  if (!samples.empty()) {
    spec_ = samples.front().spec();
    for (const Sample& s : samples) spec_ = common(spec_, s.spec());
  }
  samples_ = std::make_shared<const std::vector<Sample>>(std::move(samples));
}

}  // namespace headrace
