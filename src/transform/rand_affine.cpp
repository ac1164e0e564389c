#include <array>
#include <cmath>
#include <headrace/random/math.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/resample.hpp>
#include <stdexcept>

#include "transform/resample_limits.hpp"

namespace headrace {
namespace {

// Parameters that an image of 0..3 spatial axes has.
constexpr std::array<std::size_t, 4> rotations{0, 0, 1, 3};
constexpr std::array<std::size_t, 4> shears{0, 0, 2, 6};
constexpr std::array<std::size_t, 4> lengths{0, 1, 2, 3};

void check_count(std::size_t given, std::size_t most, std::string_view option, int rank) {
  if (given <= most) return;
  throw std::invalid_argument("RandAffine: " + std::string(option) + " has " +
                              detail::option_text(static_cast<std::int64_t>(given)) +
                              " entries, but expected at most " + detail::option_text(static_cast<std::int64_t>(most)) +
                              " for an image of " + detail::option_text(rank) + " spatial axes");
}

void check_ranges(const std::vector<Range>& ranges, std::string_view option) {
  for (const Range& r : ranges) detail::check_range(r, RandAffine::name, option);
}

// The plane that rotation i of a 3-D image turns: entries [p][p] = c, [p][q] = -s, [q][p] = s, [q][q] = c.
constexpr std::array<std::array<int, 2>, 3> rotation_plane{{{1, 2}, {2, 0}, {0, 1}}};
constexpr std::array<std::array<int, 2>, 2> shear_entry_2d{{{0, 1}, {1, 0}}};
constexpr std::array<std::array<int, 2>, 6> shear_entry_3d{{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}};

Affine rotation(int p, int q, double angle) {
  const math::SinCos sc = math::sincos(angle);
  Affine r;
  r(p, p) = sc.cos;
  r(p, q) = -sc.sin;
  r(q, p) = sc.sin;
  r(q, q) = sc.cos;
  return r;
}

// What was drawn for one list of ranges; in place, as plans are made in the steady state, where nothing is allocated.
struct Drawn {
  std::array<double, 6> values{};
  std::size_t count = 0;
  operator std::span<const double>() const { return {values.data(), count}; }
};

Drawn draw(const std::vector<Range>& ranges, Rng& rng, double offset = 0) {
  Drawn drawn;
  for (const Range& r : ranges) drawn.values[drawn.count++] = offset + rng.uniform(r.low, r.high);
  return drawn;
}

std::array<double, 3> centre(const Shape& spatial, double sign) {
  std::array<double, 3> c{};
  for (int d = 0; d < spatial.rank(); ++d)
    c[static_cast<std::size_t>(d)] = sign * (static_cast<double>(spatial[d] - 1) / 2);
  return c;
}

}  // namespace

Affine affine_matrix(int rank, std::span<const double> rotate, std::span<const double> shear,
                     std::span<const double> translate, std::span<const double> scale) {
  if (rank < 1 || rank > 3) throw std::invalid_argument("affine_matrix: expected 1 to 3 spatial axes");
  const auto r = static_cast<std::size_t>(rank);
  check_count(rotate.size(), rotations[r], "rotate_range", rank);
  check_count(shear.size(), shears[r], "shear_range", rank);
  check_count(translate.size(), lengths[r], "translate_range", rank);
  check_count(scale.size(), lengths[r], "scale_range", rank);
  Affine m;
  for (std::size_t i = 0; i < rotate.size(); ++i)
    m = m * (rank == 2 ? rotation(0, 1, rotate[i]) : rotation(rotation_plane[i][0], rotation_plane[i][1], rotate[i]));
  Affine s;
  for (std::size_t i = 0; i < shear.size(); ++i) {
    Affine e;
    const auto& entry = rank == 2 ? shear_entry_2d[i % 2] : shear_entry_3d[i];
    e(entry[0], entry[1]) = shear[i];
    s = e * s;  // the first one is applied first
  }
  Affine t;
  for (std::size_t i = 0; i < translate.size(); ++i) t(static_cast<int>(i), 3) = translate[i];
  Affine z;
  for (std::size_t i = 0; i < scale.size(); ++i) z(static_cast<int>(i), static_cast<int>(i)) = scale[i];
  return m * s * t * z;
}

RandAffine::RandAffine(RandAffineOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  check_ranges(options_.rotate_range, "rotate_range");
  check_ranges(options_.shear_range, "shear_range");
  check_ranges(options_.translate_range, "translate_range");
  check_ranges(options_.scale_range, "scale_range");
  check_count(options_.rotate_range.size(), rotations[3], "rotate_range", 3);
  check_count(options_.shear_range.size(), shears[3], "shear_range", 3);
  check_count(options_.translate_range.size(), lengths[3], "translate_range", 3);
  check_count(options_.scale_range.size(), lengths[3], "scale_range", 3);
  detail::check_per_key(options_.mode, options_.keys, name, "mode");
  detail::check_per_key(options_.padding_mode, options_.keys, name, "padding_mode");
}

RandAffine::Plan RandAffine::plan(const Sample& sample, Rng& rng) const {
  Plan plan;
  plan.apply = rng.bernoulli(options_.prob);
  const Drawn rotate = draw(options_.rotate_range, rng);
  const Drawn shear = draw(options_.shear_range, rng);
  const Drawn translate = draw(options_.translate_range, rng);
  const Drawn scale = draw(options_.scale_range, rng, 1);
  int rank = 0;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const int r = detail::spatial_shape(sample.get(field).shape(), name, field).rank();
    if (rank != 0 && r != rank)
      throw std::invalid_argument("RandAffine: field " + detail::option_text(field) + " has " + detail::option_text(r) +
                                  " spatial axes, but expected " + detail::option_text(rank) +
                                  ", as the keys before it");
    rank = r;
  });
  if (rank == 0) return plan;
  const Affine matrix = affine_matrix(rank, rotate, shear, translate, scale);
  if (plan.apply) plan.matrix = matrix;
  return plan;
}

void RandAffine::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor in = sample.get(field);
    const Shape from = detail::spatial_shape(in.shape(), name, field);
    const Shape to = detail::fall_back(options_.spatial_size, from, name, "spatial_size");
    if (!plan.apply && to == from) return;
    detail::check_resampled_size(to, name, field);
    const Affine map = Affine::translation(centre(from, 1)) * plan.matrix * Affine::translation(centre(to, -1));
    Shape shape{in.size(0)};
    for (const std::int64_t n : to) shape.push_back(n);
    Tensor out = sample.output(field, in.dtype(), shape);
    resample(in, out, map,
             {.mode = detail::for_key(options_.mode, options_.keys, field),
              .padding_mode = detail::for_key(options_.padding_mode, options_.keys, field)});
    sample.set(field, std::move(out), sample.affine(field) * map);
  });
}

SampleSpec RandAffine::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape from = detail::spatial_shape(field.shape, name, field.name);
    const auto rank = static_cast<std::size_t>(from.rank());
    check_count(options_.rotate_range.size(), rotations[rank], "rotate_range", from.rank());
    check_count(options_.shear_range.size(), shears[rank], "shear_range", from.rank());
    check_count(options_.translate_range.size(), lengths[rank], "translate_range", from.rank());
    check_count(options_.scale_range.size(), lengths[rank], "scale_range", from.rank());
    const Shape to = detail::fall_back(options_.spatial_size, from, name, "spatial_size");
    for (int d = 0; d < to.rank(); ++d) field.shape[d + 1] = to[d];
  });
  return spec;
}

std::string RandAffine::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add_text("rotate_range", detail::option_text(options_.rotate_range))
      .add_text("shear_range", detail::option_text(options_.shear_range))
      .add_text("translate_range", detail::option_text(options_.translate_range))
      .add_text("scale_range", detail::option_text(options_.scale_range))
      .add("spatial_size", options_.spatial_size)
      .add("mode", options_.mode)
      .add("padding_mode", options_.padding_mode)
      .str();
}

}  // namespace headrace
