#include <array>
#include <headrace/transform/rand_flip.hpp>
#include <span>

namespace headrace {
namespace {

// The tensor axes (channel first) to flip, without a repetition; throws for an axis outside the image.
struct FlipAxes {
  std::array<int, 3> axes{};
  std::size_t count = 0;
  std::span<const int> span() const { return {axes.data(), count}; }
};

FlipAxes flip_axes(const OneOrMany<int>& wanted, int rank) {
  FlipAxes result;
  if (wanted.empty()) {
    for (int d = 0; d < rank; ++d) result.axes[result.count++] = d + 1;
    return result;
  }
  for (const int axis : wanted.values()) {
    if (axis < -rank || axis >= rank)
      detail::throw_option(RandFlip::name, "spatial_axis", detail::option_text(wanted),
                           "axes from " + detail::option_text(-rank) + " to " + detail::option_text(rank - 1) +
                               " for an image of " + detail::option_text(rank) + " spatial axes");
    const int tensor_axis = 1 + (axis < 0 ? axis + rank : axis);
    for (std::size_t i = 0; i < result.count; ++i)
      if (result.axes[i] == tensor_axis)
        detail::throw_option(RandFlip::name, "spatial_axis", detail::option_text(wanted), "each axis once");
    result.axes[result.count++] = tensor_axis;
  }
  return result;
}

}  // namespace

RandFlip::RandFlip(RandFlipOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  const auto& axes = options_.spatial_axis.values();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -3 || axes[i] > 2)
      detail::throw_option(name, "spatial_axis", detail::option_text(options_.spatial_axis), "axes from -3 to 2");
    for (std::size_t j = 0; j < i; ++j)
      if (axes[i] == axes[j])
        detail::throw_option(name, "spatial_axis", detail::option_text(options_.spatial_axis), "each axis once");
  }
}

RandFlip::Plan RandFlip::plan(const Sample&, Rng& rng) const { return {rng.bernoulli(options_.prob)}; }

void RandFlip::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor in = sample.get(field);
    const FlipAxes axes = flip_axes(options_.spatial_axis, detail::spatial_shape(in.shape(), name, field).rank());
    if (!plan.flip) return;
    Affine affine = sample.affine(field);
    for (const int axis : axes.span()) affine = affine * Affine::flip(axis - 1, static_cast<double>(in.size(axis)));
    sample.set(field, in.flip(axes.span()), affine);
  });
}

SampleSpec RandFlip::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](const FieldSpec& field) {
    flip_axes(options_.spatial_axis, detail::spatial_shape(field.shape, name, field.name).rank());
  });
  return spec;
}

std::string RandFlip::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("spatial_axis", options_.spatial_axis)
      .str();
}

}  // namespace headrace
