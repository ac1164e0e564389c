#include <cmath>
#include <headrace/transform/scale_intensity_range.hpp>
#include <limits>
#include <stdexcept>

#include "describe.hpp"
#include "intensity.hpp"

namespace headrace {
namespace {

std::optional<double> one_of(const char* option, const std::optional<double>& pair,
                             const std::optional<double>& single) {
  if (pair && single)
    throw std::invalid_argument(std::string("ScaleIntensityRange: ") + option +
                                " is given twice, as a pair's side and by itself");
  return pair ? pair : single;
}

double needed(const char* option, const std::optional<double>& v) {
  if (!v)
    throw std::invalid_argument(std::string("ScaleIntensityRange: ") + option +
                                " is not given; expected a finite number");
  if (!(std::fabs(*v) <= static_cast<double>(std::numeric_limits<float>::max()) / 2))
    throw std::invalid_argument(std::string("ScaleIntensityRange: ") + option + " = " + detail::option_text(*v) +
                                "; expected a finite float32 number");
  return *v;
}

bool is_point(const detail::Rescale& map) noexcept { return map.a_min == map.a_max; }

}  // namespace

ScaleIntensityRange::ScaleIntensityRange(Options o)
    : keys_(std::move(o.keys)),
      map_{.a_min = needed("a.min", one_of("a.min", o.a.min, o.a_min)),
           .a_max = needed("a.max", one_of("a.max", o.a.max, o.a_max)),
           .b_min = one_of("b.min", o.b.min, o.b_min),
           .b_max = one_of("b.max", o.b.max, o.b_max),
           .clip = o.clip},
      dtype_(o.dtype) {
  detail::check_target(name, map_.b_min, map_.b_max, map_.clip);
  if (!is_point(map_) && detail::degenerate(map_.a_min, map_.a_max, DType::f32))
    throw std::invalid_argument("ScaleIntensityRange: a.max - a.min = " + detail::option_text(map_.a_max - map_.a_min) +
                                " is too small a width for float32");
}

void ScaleIntensityRange::apply(Sample& sample) const {
  keys_.for_each(sample, [&](std::string_view key) {
    const DType own = sample.get(key).dtype();
    const DType dtype = is_point(map_) ? own : dtype_.value_or(own);
    const Tensor to = detail::intensity_target(sample, key, dtype, effect(key) == Effect::rewrite);
    detail::rescale(sample.get(key), to, map_);
    sample.set(key, to);
  });
}

SampleSpec ScaleIntensityRange::infer(SampleSpec spec) const {
  keys_.for_each(spec, [&](FieldSpec& field) {
    if (!is_point(map_)) field.dtype = dtype_.value_or(field.dtype);
  });
  return spec;
}

Effect ScaleIntensityRange::effect(std::string_view field) const {
  if (!keys_.contains(field)) return Effect::none;
  return dtype_ && !is_point(map_) ? Effect::rewrite : Effect::in_place;
}

std::string ScaleIntensityRange::describe() const {
  return detail::OptionList()
      .add("keys", keys_)
      .add("a_min", map_.a_min)
      .add("a_max", map_.a_max)
      .add_text("b_min", detail::optional_text(map_.b_min))
      .add_text("b_max", detail::optional_text(map_.b_max))
      .add("clip", map_.clip)
      .add_text("dtype", detail::optional_text(dtype_))
      .str();
}

}  // namespace headrace
