#include <algorithm>
#include <cmath>
#include <headrace/transform/options.hpp>
#include <headrace/transform/orientation.hpp>
#include <span>
#include <stdexcept>

namespace headrace {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;  // [row][column]

double dot(const Matrix& m, std::size_t p, std::size_t q, std::size_t rank) {
  double sum = 0;
  for (std::size_t r = 0; r < rank; ++r) sum += m[r][p] * m[r][q];
  return sum;
}

// Columns p and q of m turned by the rotation (c, s).
void turn(Matrix& m, std::size_t p, std::size_t q, double c, double s, std::size_t rank) {
  for (std::size_t r = 0; r < rank; ++r) {
    const double a = m[r][p];
    const double b = m[r][q];
    m[r][p] = c * a - s * b;
    m[r][q] = s * a + c * b;
  }
}

// The orthogonal factor P V of m = P diag(s) V, without the parts whose singular value is 0 to rounding. One-sided
// Jacobi rotations (Hestenes 1958): exact for diagonal and permuted matrices, and small singular values keep their
// accuracy.
Matrix polar_factor(Matrix m, std::size_t rank) {
  constexpr double epsilon = 0x1p-52;
  Matrix v{};
  for (std::size_t d = 0; d < rank; ++d) v[d][d] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (std::size_t p = 0; p + 1 < rank; ++p) {
      for (std::size_t q = p + 1; q < rank; ++q) {
        const double pp = dot(m, p, p, rank);
        const double qq = dot(m, q, q, rank);
        const double pq = dot(m, p, q, rank);
        if (!(std::fabs(pq) > epsilon * std::sqrt(pp * qq))) continue;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = (zeta < 0 ? -1.0 : 1.0) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t);
        turn(m, p, q, c, c * t, rank);
        turn(v, p, q, c, c * t, rank);
        turned = true;
      }
    }
    if (!turned) break;
  }
  std::array<double, 3> singular{};
  double largest = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    singular[d] = std::sqrt(dot(m, d, d, rank));
    largest = std::max(largest, singular[d]);
  }
  Matrix polar{};
  for (std::size_t d = 0; d < rank; ++d) {
    if (!(singular[d] > largest * static_cast<double>(rank) * epsilon)) continue;
    for (std::size_t r = 0; r < rank; ++r)
      for (std::size_t c = 0; c < rank; ++c) polar[r][c] += m[r][d] / singular[d] * v[c][d];
  }
  return polar;
}

struct Letter {
  char code;
  int world_axis;
  bool positive;
};
constexpr std::array<Letter, 6> letters{
    {{'L', 0, false}, {'R', 0, true}, {'P', 1, false}, {'A', 1, true}, {'I', 2, false}, {'S', 2, true}}};
constexpr std::array<std::string_view, 3> pair_names{"L/R", "P/A", "I/S"};

}  // namespace

namespace detail {

std::array<AxisDirection, 3> axis_directions(const Affine& affine, int rank) {
  const auto size = static_cast<std::size_t>(rank);
  Matrix unit{};
  for (int c = 0; c < rank; ++c) {
    double norm = 0;
    for (int r = 0; r < rank; ++r) norm += affine(r, c) * affine(r, c);
    norm = norm > 0 ? std::sqrt(norm) : 1;
    for (int r = 0; r < rank; ++r) unit[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = affine(r, c) / norm;
  }
  Matrix directions = polar_factor(unit, size);
  std::array<AxisDirection, 3> result;
  for (std::size_t c = 0; c < size; ++c) {
    std::size_t best = 0;
    for (std::size_t r = 1; r < size; ++r)
      if (std::fabs(directions[r][c]) > std::fabs(directions[best][c])) best = r;
    if (!(std::fabs(directions[best][c]) > 1e-8)) continue;
    result[c] = {static_cast<int>(best), directions[best][c] > 0};
    directions[best].fill(0);
  }
  return result;
}

}  // namespace detail

Orientation::Orientation(OrientationOptions options) : options_(std::move(options)) {
  const std::string& codes = options_.axcodes;
  const std::string shown = detail::option_text(codes);
  constexpr std::string_view expected = "one letter each of L or R, P or A, I or S, such as \"RAS\"";
  if (codes.empty() || codes.size() > 3) detail::throw_option(name, "axcodes", shown, expected);
  std::array<bool, 3> used{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto letter =
        std::find_if(letters.begin(), letters.end(), [&](const Letter& l) { return l.code == codes[i]; });
    if (letter == letters.end())
      detail::throw_option(name, "axcodes", shown + " with the unknown letter '" + codes[i] + "'", expected);
    const auto axis = static_cast<std::size_t>(letter->world_axis);
    if (used[axis])
      detail::throw_option(name, "axcodes", shown + " with the axis " + std::string(pair_names[axis]) + " twice",
                           expected);
    used[axis] = true;
    world_axis_[i] = letter->world_axis;
    positive_[i] = letter->positive;
  }
}

void Orientation::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor in = sample.get(field);
    const Affine affine = sample.affine(field);
    const int rank = detail::spatial_shape(in.shape(), name, field).rank();
    const auto size = static_cast<std::size_t>(rank);
    const auto refuse = [&](const std::string& what) {
      throw std::invalid_argument("Orientation: field " + detail::option_text(field) + " " + what);
    };
    if (options_.axcodes.size() < size)
      refuse("has " + detail::option_text(rank) +
             " spatial axes, but axcodes = " + detail::option_text(options_.axcodes) + " names fewer");
    if (!affine.finite()) refuse("has an affine that is not finite: " + affine.str());
    const auto directions = detail::axis_directions(affine, rank);

    std::array<int, 3> flips{};
    std::size_t flip_count = 0;
    std::array<int, 4> order{};  // order[output axis] = input axis, channel first
    Affine map;                  // output voxel -> input voxel
    for (std::size_t d = 0; d < size; ++d) {
      const auto input = static_cast<int>(d);
      if (directions[d].world_axis < 0)
        refuse("has an affine that gives axis " + detail::option_text(input) + " no direction: " + affine.str());
      std::size_t output = 0;
      while (output < size && world_axis_[output] != directions[d].world_axis) ++output;
      if (output == size)
        refuse("has an axis along " + std::string(pair_names[static_cast<std::size_t>(directions[d].world_axis)]) +
               ", which the first " + detail::option_text(rank) +
               " letters of axcodes = " + detail::option_text(options_.axcodes) + " do not name");
      order[output + 1] = input + 1;
      const bool flip = positive_[output] != directions[d].positive;
      for (int e = 0; e < rank; ++e) map(input, e) = 0;
      map(input, static_cast<int>(output)) = flip ? -1 : 1;
      if (flip) {
        map(input, 3) = static_cast<double>(in.size(input + 1) - 1);
        flips[flip_count++] = input + 1;
      }
    }
    try {
      static_cast<void>(affine.inverse());
    } catch (const std::domain_error&) {
      refuse("has a singular affine: " + affine.str());
    }
    sample.set(
        field,
        in.flip(std::span<const int>(flips.data(), flip_count)).permute(std::span<const int>(order.data(), size + 1)),
        affine * map);
  });
}

SampleSpec Orientation::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) {
    const Shape spatial = detail::spatial_shape(field.shape, name, field.name);
    bool equal = true;
    for (int d = 1; d < spatial.rank(); ++d) equal = equal && spatial[d] == spatial[0];
    for (int d = 0; d < spatial.rank() && !equal; ++d) field.shape[d + 1] = unknown;
  });
  return spec;
}

std::string Orientation::describe() const {
  return detail::OptionList().add("keys", options_.keys).add("axcodes", options_.axcodes).str();
}

}  // namespace headrace
