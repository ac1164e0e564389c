#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/rotate90.hpp>
#include <span>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {
namespace {

std::string axes_text(const std::array<int, 2>& axes) {
  return "[" + detail::option_text(axes[0]) + ", " + detail::option_text(axes[1]) + "]";
}

void check_axes(const std::array<int, 2>& axes, const char* op) {
  for (const int a : axes)
    if (a < -3 || a > 2) detail::throw_option(op, "spatial_axes", axes_text(axes), "axes from -3 to 2");
  if (axes[0] == axes[1]) detail::throw_option(op, "spatial_axes", axes_text(axes), "two different axes");
}

// The axes of an image of this rank, 0 and up.
std::array<int, 2> real_axes(const std::array<int, 2>& axes, int rank, const char* op) {
  std::array<int, 2> real{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (axes[i] < -rank || axes[i] >= rank)
      detail::throw_option(op, "spatial_axes", axes_text(axes),
                           "axes of an image of " + std::to_string(rank) + " spatial axes");
    real[i] = axes[i] < 0 ? axes[i] + rank : axes[i];
  }
  if (real[0] == real[1]) detail::throw_option(op, "spatial_axes", axes_text(axes), "two different axes");
  return real;
}

int quarter_turns(int k) { return ((k % 4) + 4) % 4; }

// k quarter turns of one field, k from 0 to 3; one turn: out[i_a, i_b] = in[i_b, n_b - 1 - i_a].
void turn(Sample& sample, std::string_view field, int k, const std::array<int, 2>& spatial_axes, const char* op) {
  const Shape image = spatial_shape(sample, field);
  const auto [a, b] = real_axes(spatial_axes, image.rank(), op);
  if (k == 0) return;
  Tensor t = sample.get(field);
  Affine affine = sample.affine(field);
  const auto flip = [&](int axis) {
    affine = affine * Affine::flip(axis, static_cast<double>(t.size(axis + 1)));
    t = t.flip({axis + 1});
  };
  if (k == 2) {
    flip(a);
    flip(b);
  } else {
    // One turn: mirrored along b, then the axes exchanged; three turns: along a.
    flip(k == 1 ? b : a);
    std::array<int, 4> order{0, 1, 2, 3};
    std::swap(order[static_cast<std::size_t>(a + 1)], order[static_cast<std::size_t>(b + 1)]);
    t = t.permute(std::span<const int>(order).first(static_cast<std::size_t>(t.rank())));
    for (int r = 0; r < 3; ++r) {
      const double x = affine(r, a);
      affine(r, a) = affine(r, b);
      affine(r, b) = x;
    }
  }
  sample.set(field, t, affine);
}

}  // namespace

Rotate90::Rotate90(Rotate90Options options) : options_(std::move(options)) { check_axes(options_.spatial_axes, name); }

void Rotate90::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    turn(sample, field, quarter_turns(options_.k), options_.spatial_axes, name);
  });
}

SampleSpec Rotate90::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const int rank = detail::spatial_shape(field.shape, name, field.name).rank();
    const auto [a, b] = real_axes(options_.spatial_axes, rank, name);
    if (quarter_turns(options_.k) % 2 == 1) std::swap(field.shape[a + 1], field.shape[b + 1]);
  });
  return spec;
}

std::string Rotate90::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("k", options_.k)
      .add_text("spatial_axes", axes_text(options_.spatial_axes))
      .str();
}

RandRotate90::RandRotate90(RandRotate90Options options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  check_axes(options_.spatial_axes, name);
  if (options_.max_k == 0) detail::throw_option(name, "max_k", "0", "at least 1");
}

RandRotate90::Plan RandRotate90::plan(const Sample&, Rng& rng) const {
  const bool apply = rng.bernoulli(options_.prob);
  const auto turns = static_cast<int>((rng.below(options_.max_k) + 1) % 4);
  return {apply ? turns : 0};
}

void RandRotate90::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(
      sample, [&](std::string_view field) { turn(sample, field, quarter_turns(plan.k), options_.spatial_axes, name); });
}

SampleSpec RandRotate90::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const int rank = detail::spatial_shape(field.shape, name, field.name).rank();
    const auto [a, b] = real_axes(options_.spatial_axes, rank, name);
    if (field.shape[a + 1] != field.shape[b + 1]) field.shape[a + 1] = field.shape[b + 1] = unknown;
  });
  return spec;
}

std::string RandRotate90::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("max_k", std::int64_t{options_.max_k})
      .add_text("spatial_axes", axes_text(options_.spatial_axes))
      .str();
}

namespace {

// The spatial axes to mirror for an image of this rank, each once.
Shape mirror_axes(const OneOrMany<int>& wanted, int rank) {
  Shape axes;
  for (int d = 0; wanted.empty() && d < rank; ++d) axes.push_back(d);
  for (const int axis : wanted.values()) {
    const int real = axis < 0 ? axis + rank : axis;
    bool good = real >= 0 && real < rank;
    for (int i = 0; i < axes.rank(); ++i) good = good && axes[i] != real;
    if (!good)
      detail::throw_option(Flip::name, "spatial_axis", detail::option_text(wanted),
                           "axes of an image of " + std::to_string(rank) + " spatial axes, each once");
    axes.push_back(real);
  }
  return axes;
}

void mirror(Sample& sample, std::string_view field, int axis) {
  const Tensor t = sample.get(field);
  const Affine affine = sample.affine(field) * Affine::flip(axis, static_cast<double>(t.size(axis + 1)));
  sample.set(field, t.flip({axis + 1}), affine);
}

}  // namespace

Flip::Flip(FlipOptions options) : options_(std::move(options)) {
  for (const int a : options_.spatial_axis.values())
    if (a < -3 || a > 2)
      detail::throw_option(name, "spatial_axis", detail::option_text(options_.spatial_axis), "axes from -3 to 2");
}

void Flip::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    for (const std::int64_t axis : mirror_axes(options_.spatial_axis, spatial_shape(sample, field).rank()))
      mirror(sample, field, static_cast<int>(axis));
  });
}

SampleSpec Flip::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    (void)mirror_axes(options_.spatial_axis, detail::spatial_shape(field.shape, name, field.name).rank());
  });
  return spec;
}

std::string Flip::describe() const {
  return detail::OptionList().add("keys", options_.keys).add("spatial_axis", options_.spatial_axis).str();
}

RandAxisFlip::RandAxisFlip(RandAxisFlipOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
}

RandAxisFlip::Plan RandAxisFlip::plan(const Sample& sample, Rng& rng) const {
  const bool apply = rng.bernoulli(options_.prob);
  int rank = 0;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const int own = spatial_shape(sample, field).rank();
    if (rank != 0 && own != rank)
      throw std::invalid_argument("RandAxisFlip: " + field_text(sample, field) + " has " + std::to_string(own) +
                                  " spatial axes, but the first key has " + std::to_string(rank));
    rank = own;
  });
  const auto axis = static_cast<int>(rng.below(static_cast<std::uint64_t>(rank == 0 ? 1 : rank)));
  return {apply ? axis : -1};
}

void RandAxisFlip::apply(Sample& sample, const Plan& plan) const {
  if (plan.axis < 0) return;
  options_.keys.for_each(sample, [&](std::string_view field) {
    if (plan.axis >= spatial_shape(sample, field).rank())
      throw std::invalid_argument("RandAxisFlip: " + field_text(sample, field) + " has no spatial axis " +
                                  std::to_string(plan.axis));
    mirror(sample, field, plan.axis);
  });
}

std::string RandAxisFlip::describe() const {
  return detail::OptionList().add("keys", options_.keys).add("prob", options_.prob).str();
}

}  // namespace headrace
