#include <algorithm>
#include <array>
#include <cmath>
#include <headrace/transform/resample.hpp>
#include <headrace/transform/spacing.hpp>
#include <span>
#include <stdexcept>

#include "transform/resample_grid.hpp"
#include "transform/resample_limits.hpp"

namespace headrace {
namespace {

constexpr double tolerance =
    1e-3;  // of an affine that counts as unchanged, and of a spacing that counts as within bounds

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;  // [row][column]

// The value for axis d of a list that repeats its last one.
double for_axis(const OneOrMany<double>& list, std::size_t d) {
  return list.values()[std::min(d, list.values().size() - 1)];
}

// Steps 1 to 3: the spacing to make, given the current one.
Vector wanted_spacing(const SpacingOptions& o, const Vector& current, std::size_t rank) {
  Vector p{1, 1, 1};
  for (std::size_t d = 0; d < rank; ++d) {
    p[d] = for_axis(o.pixdim, d);
    const double low = o.min_pixdim.empty() ? p[d] : std::min(for_axis(o.min_pixdim, d), p[d]);
    const double high = o.max_pixdim.empty() ? p[d] : std::max(for_axis(o.max_pixdim, d), p[d]);
    if (p[d] <= 0 || (current[d] >= low - tolerance && current[d] <= high + tolerance)) p[d] = current[d];
  }
  return p;
}

// The upper triangular factor of m = Q Z with positive diagonal, by Gram-Schmidt; false where m is singular.
bool triangular_factor(const Matrix& m, std::size_t rank, Matrix& z) {
  Matrix q = m;
  z = {};
  for (std::size_t c = 0; c < rank; ++c) {
    double length = 0;
    for (std::size_t r = 0; r < rank; ++r) length += m[r][c] * m[r][c];
    for (std::size_t k = 0; k < c; ++k) {
      for (std::size_t r = 0; r < rank; ++r) z[k][c] += q[r][k] * q[r][c];
      for (std::size_t r = 0; r < rank; ++r) q[r][c] -= z[k][c] * q[r][k];
    }
    double rest = 0;
    for (std::size_t r = 0; r < rank; ++r) rest += q[r][c] * q[r][c];
    z[c][c] = std::sqrt(rest);
    if (!(z[c][c] > 1e-9 * std::sqrt(length))) return false;
    for (std::size_t r = 0; r < rank; ++r) q[r][c] /= z[c][c];
  }
  return true;
}

struct NewGrid {
  Affine map;  // output voxel -> input voxel
  Vector size{1, 1, 1};
};

// The new grid is given by y = diag(1/p) B x (input index to output index, but for the shift), B being the triangular
// factor of the affine, or the affine itself where the new axes are those of the world. So x = B^-1 diag(p) y, and for
// an affine without shear both are exact scalings by p / current spacing.
NewGrid new_grid(const Affine& affine, const Vector& p, const Shape& spatial, const SpacingOptions& o) {
  const auto rank = static_cast<std::size_t>(spatial.rank());
  Matrix linear{};
  for (int r = 0; r < spatial.rank(); ++r)
    for (int c = 0; c < spatial.rank(); ++c)
      linear[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = affine(r, c);
  Matrix z{};
  if (!triangular_factor(linear, rank, z)) throw std::domain_error("singular");
  const Matrix& b = o.diagonal ? linear : z;

  NewGrid grid;
  if (o.diagonal) {
    Affine scaled;
    for (int r = 0; r < spatial.rank(); ++r)
      for (int c = 0; c < spatial.rank(); ++c) scaled(r, c) = affine(r, c);
    grid.map = scaled.inverse() * Affine::scaling(p);
  } else {
    for (std::size_t c = 0; c < rank; ++c) {  // solve Z x = p_c e_c from below
      Vector x{};
      x[c] = p[c] / z[c][c];
      for (std::size_t r = c; r-- > 0;) {
        double sum = 0;
        for (std::size_t k = r + 1; k <= c; ++k) sum += z[r][k] * x[k];
        x[r] = (0 - sum) / z[r][r];
      }
      for (std::size_t r = 0; r < rank; ++r) grid.map(static_cast<int>(r), static_cast<int>(c)) = x[r];
    }
  }

  // the corners of the input, and where they come to lie
  const double edge = o.scale_extent ? 0.5 : 0;
  const std::size_t corners = std::size_t{1} << rank;
  std::array<Vector, 8> from{};
  std::array<Vector, 8> to{};
  Vector least{};
  Vector most{};
  for (std::size_t i = 0; i < corners; ++i) {
    for (std::size_t d = 0; d < rank; ++d) {
      const bool far = (i >> (rank - 1 - d) & 1) != 0;  // axis 0 changes slowest
      from[i][d] = far ? static_cast<double>(spatial[static_cast<int>(d)] - 1) + edge : 0 - edge;
    }
    for (std::size_t d = 0; d < rank; ++d) {
      double y = 0;
      for (std::size_t e = 0; e < rank; ++e) y += b[d][e] * from[i][e];
      to[i][d] = y / p[d];
      least[d] = i == 0 ? to[i][d] : std::min(least[d], to[i][d]);
      most[d] = i == 0 ? to[i][d] : std::max(most[d], to[i][d]);
    }
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const double exact = o.scale_extent ? most[d] - least[d] : (most[d] - least[d]) + 1;
    grid.size[d] = std::max(1.0, exact < 0x1p50 ? detail::round_even(exact) : exact);
  }

  // the shift: the new grid's first voxel (or outer edge) lies on a corner if one is first on all axes; else the
  // middles agree
  Vector input{};
  Vector output{};
  std::size_t first = 0;
  const auto leads = [&](std::size_t i) {
    for (std::size_t d = 0; d < rank; ++d)
      if (!(to[i][d] - least[d] <= 1e-8)) return false;
    return true;
  };
  while (first < corners && !leads(first)) ++first;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto n = static_cast<double>(spatial[static_cast<int>(d)]);
    // without scale_extent the middles are n/2 and m/2, as in MONAI
    input[d] = first < corners ? from[first][d] : (o.scale_extent ? (n - 1) / 2 : n / 2);
    output[d] = first < corners ? 0 - edge : (o.scale_extent ? (grid.size[d] - 1) / 2 : grid.size[d] / 2);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    double moved = 0;
    for (std::size_t e = 0; e < rank; ++e) moved += grid.map(static_cast<int>(d), static_cast<int>(e)) * output[e];
    grid.map(static_cast<int>(d), 3) = input[d] - moved;
  }
  return grid;
}

Vector spacing_of(const Affine& affine, std::size_t rank) {
  Vector s{1, 1, 1};
  for (std::size_t c = 0; c < rank; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < rank; ++r) {
      const double v = affine(static_cast<int>(r), static_cast<int>(c));
      sum += v * v;
    }
    s[c] = sum > 0 ? std::sqrt(sum) : 1;
  }
  return s;
}

}  // namespace

Spacing::Spacing(SpacingOptions options) : options_(std::move(options)) {
  const auto check = [](const OneOrMany<double>& list, std::string_view option, double least,
                        std::string_view expected) {
    bool good = list.values().size() <= 3;
    for (const double v : list.values()) good = good && std::isfinite(v) && v >= least;
    if (!good) detail::throw_option(name, option, detail::option_text(list), expected);
  };
  if (options_.pixdim.empty())
    throw std::invalid_argument("Spacing: pixdim is missing; expected millimetres per axis, such as {1.5, 1.5, 2.0}");
  check(options_.pixdim, "pixdim", -HUGE_VAL, "one to three finite numbers (millimetres; 0 keeps the axis)");
  check(options_.min_pixdim, "min_pixdim", 0, "at most three finite numbers, not negative");
  check(options_.max_pixdim, "max_pixdim", 0, "at most three finite numbers, not negative");
  if (!options_.min_pixdim.empty() && !options_.max_pixdim.empty())
    for (std::size_t d = 0; d < 3; ++d)
      if (for_axis(options_.min_pixdim, d) > for_axis(options_.max_pixdim, d))
        detail::throw_option(name, "min_pixdim", detail::option_text(options_.min_pixdim),
                             "nothing above max_pixdim = " + detail::option_text(options_.max_pixdim));
  detail::check_per_key(options_.mode, options_.keys, name, "mode");
  detail::check_per_key(options_.padding_mode, options_.keys, name, "padding_mode");
}

void Spacing::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor in = sample.get(field);
    const Affine affine = sample.affine(field);
    const Shape spatial = detail::spatial_shape(in.shape(), name, field);
    const auto rank = static_cast<std::size_t>(spatial.rank());
    const auto refuse = [&](const std::string& what) {
      throw std::invalid_argument("Spacing: field " + detail::option_text(field) + " " + what);
    };
    if (!affine.finite()) refuse("has an affine that is not finite: " + affine.str());
    if (in.numel() == 0) refuse("has shape " + in.shape().str() + ": there is no voxel to resample");

    NewGrid grid;
    try {
      grid = new_grid(affine, wanted_spacing(options_, spacing_of(affine, rank), rank), spatial, options_);
    } catch (const std::domain_error&) {
      refuse("has a singular affine: " + affine.str());
    }
    const std::span<const double> size(grid.size.data(), rank);
    detail::check_resampled_size(size, name, field);
    if (!grid.map.finite()) refuse("needs a map that is not finite: " + grid.map.str());
    Shape shape{in.size(0)};
    bool same_size = true;
    for (std::size_t d = 0; d < rank; ++d) {
      shape.push_back(static_cast<std::int64_t>(size[d]));
      same_size = same_size && shape[static_cast<int>(d) + 1] == spatial[static_cast<int>(d)];
    }
    const Affine result = affine * grid.map;
    if (same_size && (affine.close_to(result, tolerance) || grid.map.close_to(Affine::identity(), tolerance))) return;

    Tensor out = sample.output(field, in.dtype(), shape);
    resample(in, out, grid.map,
             {.mode = detail::for_key(options_.mode, options_.keys, field),
              .padding_mode = detail::for_key(options_.padding_mode, options_.keys, field),
              .align_corners = options_.align_corners});
    sample.set(field, std::move(out), result);
  });
}

SampleSpec Spacing::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const int rank = detail::spatial_shape(field.shape, name, field.name).rank();
    for (int d = 0; d < rank; ++d) field.shape[d + 1] = unknown;
  });
  return spec;
}

std::string Spacing::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("pixdim", options_.pixdim)
      .add("diagonal", options_.diagonal)
      .add("mode", options_.mode)
      .add("padding_mode", options_.padding_mode)
      .add("align_corners", options_.align_corners)
      .add("scale_extent", options_.scale_extent)
      .add("min_pixdim", options_.min_pixdim)
      .add("max_pixdim", options_.max_pixdim)
      .str();
}

}  // namespace headrace
