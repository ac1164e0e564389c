#include "nifti_affine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text.hpp"

namespace headrace::detail {
namespace {

using Spacing = std::array<double, 3>;

Affine sform_of(const NiftiHeader& h) {
  Affine a;
  std::copy(h.srow.begin(), h.srow.end(), a.m.begin());
  return a;
}

Affine qform_of(const NiftiHeader& h, const std::string& path) {
  const double b = h.quatern[0], c = h.quatern[1], d = h.quatern[2];
  const double rest = 1 - (b * b + c * c + d * d);
  // Three float steps below 0 is the rounding of a valid quaternion stored in floats; more is a damaged one. The
  // negation catches NaN as well.
  if (!(rest >= -3.0 * static_cast<double>(std::numeric_limits<float>::epsilon())))
    throw IoError(path, "the quaternion (" + number(b) + ", " + number(c) + ", " + number(d) +
                            ") is longer than 1; expected b^2 + c^2 + d^2 <= 1");
  const double a = std::sqrt(std::max(0.0, rest));
  const double rows[9] = {a * a + b * b - c * c - d * d, 2 * (b * c - a * d),           2 * (b * d + a * c),
                          2 * (b * c + a * d),           a * a + c * c - b * b - d * d, 2 * (c * d - a * b),
                          2 * (b * d - a * c),           2 * (c * d + a * b),           a * a + d * d - b * b - c * c};
  const double scale[3] = {h.pixdim[1], h.pixdim[2], h.pixdim[0] * h.pixdim[3]};
  Affine out;
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) out(r, k) = rows[3 * r + k] * scale[k];
    out(r, 3) = h.qoffset[static_cast<std::size_t>(r)];
  }
  return out;
}

// No form: x points left, and the centre of the image is the origin.
Affine fallback_of(const NiftiHeader& h) {
  Affine a;
  for (int d = 0; d < 3; ++d) {
    const bool present = d < h.dim[0];
    const double p = present ? h.pixdim[static_cast<std::size_t>(d + 1)] : 1;
    const double n = present ? h.dim[static_cast<std::size_t>(d + 1)] : 1;
    a(d, d) = d == 0 ? -p : p;
    a(d, 3) = 0 - (n - 1) / 2 * a(d, d);
  }
  return a;
}

void repair(NiftiHeader& h) {
  if (h.pixdim[0] != 1 && h.pixdim[0] != -1) {
    h.notes.push_back("pixdim[0] (qfac) is " + number(h.pixdim[0]) + ": read as 1");
    h.pixdim[0] = 1;
  }
  for (std::size_t d = 1; d <= 3; ++d) {
    double& p = h.pixdim[d];
    if (p == 0 || p < 0) {
      const double repaired = p == 0 ? 1 : -p;
      h.notes.push_back("pixdim[" + std::to_string(d) + "] is " + number(p) + ": read as " + number(repaired));
      p = repaired;
    }
  }
  const auto code = [&](std::int16_t& c, const char* name) {
    if (c >= 0 && c <= 5) return;
    h.notes.push_back(std::string(name) + " is " + std::to_string(c) +
                      ", which the standard does not define: read as 0");
    c = 0;
  };
  code(h.qform_code, "qform_code");
  code(h.sform_code, "sform_code");
}

// Column norms of the top-left rank x rank block; a zero norm counts as 1.
Spacing norms(const Affine& a, int rank) {
  Spacing out{1, 1, 1};
  for (int c = 0; c < rank; ++c) {
    double sum = 0;
    for (int r = 0; r < rank; ++r) sum += a(r, c) * a(r, c);
    out[static_cast<std::size_t>(c)] = sum == 0 ? 1 : std::sqrt(sum);
  }
  return out;
}

std::string text(const Spacing& s, int rank) {
  std::string out = "(";
  for (int d = 0; d < rank; ++d) out += (d ? ", " : "") + number(s[static_cast<std::size_t>(d)]);
  return out + ")";
}

// pixdim and the affine say the same thing twice. Where they disagree, the form that agrees with pixdim is believed,
// and the affine where neither does.
void reconcile(NiftiHeader& h, const std::string& path) {
  if (h.dim[0] >= 5) return;
  const int rank = std::min<int>(h.dim[0], 3);
  const auto close = [&](const Spacing& x) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      const double p = h.pixdim[d + 1];
      if (!(std::abs(x[d] - p) <= 1e-8 + 1e-5 * std::abs(p))) return false;
    }
    return true;
  };
  const Spacing chosen = norms(h.affine, rank);
  if (close(chosen)) return;

  const Spacing pixdim{h.pixdim[1], h.pixdim[2], h.pixdim[3]};
  if (h.sform_code != 0 && close(norms(qform_of(h, path), rank))) {
    h.notes.push_back("the sform's spacing " + text(chosen, rank) + " disagrees with pixdim " + text(pixdim, rank) +
                      ", the qform's agrees (qform_code " + std::to_string(h.qform_code) + "): the qform is used");
    // Through floats, as a header that was rewritten with this form would hold it.
    h.affine = qform_of(h, path);
    for (double& v : h.affine.m) v = static_cast<double>(static_cast<float>(v));
    h.form = NiftiForm::qform;
    return;
  }
  if (h.sform_code == 0 && h.qform_code != 0 && close(norms(sform_of(h), rank))) {
    h.notes.push_back("the qform's spacing " + text(chosen, rank) + " disagrees with pixdim " + text(pixdim, rank) +
                      ", the sform's agrees: the sform is used");
    h.affine = sform_of(h);
    h.form = NiftiForm::sform;
    return;
  }
  h.notes.push_back("pixdim " + text(pixdim, rank) + " disagrees with the affine's spacing " + text(chosen, rank) +
                    ": the affine is used");
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) h.pixdim[d + 1] = chosen[d];
}

void check_finite(const NiftiHeader& h, const std::string& path) {
  if (h.affine.finite()) return;
  throw IoError(path, std::string("the affine (from the ") +
                          (h.form == NiftiForm::sform   ? "sform"
                           : h.form == NiftiForm::qform ? "qform"
                                                        : "pixdim") +
                          ") is not finite: " + h.affine.str() + "; expected finite numbers");
}

}  // namespace

void choose_affine(NiftiHeader& h, const std::string& path) {
  repair(h);
  if (h.sform_code != 0) {
    h.affine = sform_of(h);
    h.form = NiftiForm::sform;
  } else if (h.qform_code != 0) {
    h.affine = qform_of(h, path);
    h.form = NiftiForm::qform;
  } else {
    h.affine = fallback_of(h);
    h.notes.push_back("neither sform nor qform is set: x points left and the image's centre is the origin");
  }
  // Before and after: a form with a NaN is damage, and must not be taken for one that merely disagrees with pixdim.
  check_finite(h, path);
  reconcile(h, path);
  check_finite(h, path);
  if (h.affine.determinant() == 0)
    h.notes.push_back("the affine is singular: operations that need its inverse will refuse it");
}

std::array<double, 3> quaternion_of(const std::array<double, 9>& r) {
  // The largest of the four components is computed from the diagonal, the others from it: no cancellation.
  const double trace = r[0] + r[4] + r[8];
  const double squares[4] = {1 + trace, 1 + r[0] - r[4] - r[8], 1 - r[0] + r[4] - r[8], 1 - r[0] - r[4] + r[8]};
  const auto largest = std::max_element(squares, squares + 4) - squares;
  const double q = std::sqrt(std::max(0.0, squares[largest])) / 2;
  double a = 0;
  std::array<double, 3> v{};
  if (largest == 0) {
    a = q;
    v = {(r[7] - r[5]) / (4 * q), (r[2] - r[6]) / (4 * q), (r[3] - r[1]) / (4 * q)};
  } else if (largest == 1) {
    a = (r[7] - r[5]) / (4 * q);
    v = {q, (r[1] + r[3]) / (4 * q), (r[2] + r[6]) / (4 * q)};
  } else if (largest == 2) {
    a = (r[2] - r[6]) / (4 * q);
    v = {(r[1] + r[3]) / (4 * q), q, (r[5] + r[7]) / (4 * q)};
  } else {
    a = (r[3] - r[1]) / (4 * q);
    v = {(r[2] + r[6]) / (4 * q), (r[5] + r[7]) / (4 * q), q};
  }
  // q and -q are the same rotation; the header stores the one with a >= 0.
  if (a < 0)
    for (double& x : v) x = -x;
  return v;
}

}  // namespace headrace::detail
