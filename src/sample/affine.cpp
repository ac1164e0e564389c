#include <charconv>
#include <cmath>
#include <headrace/sample/affine.hpp>
#include <stdexcept>

namespace headrace {

Affine Affine::translation(const std::array<double, 3>& t) noexcept {
  Affine a;
  for (int r = 0; r < 3; ++r) a(r, 3) = t[static_cast<std::size_t>(r)];
  return a;
}

Affine Affine::scaling(const std::array<double, 3>& s) noexcept {
  Affine a;
  for (int r = 0; r < 3; ++r) a(r, r) = s[static_cast<std::size_t>(r)];
  return a;
}

Affine Affine::flip(int axis, double n) noexcept {
  Affine a;
  a(axis, axis) = -1;
  a(axis, 3) = n - 1;
  return a;
}

Affine Affine::operator*(const Affine& o) const noexcept {
  Affine r;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += (*this)(i, k) * o(k, j);
      r(i, j) = sum;
    }
  return r;
}

std::array<double, 3> Affine::apply(const std::array<double, 3>& p) const noexcept {
  std::array<double, 3> r{};
  for (int i = 0; i < 3; ++i)
    r[static_cast<std::size_t>(i)] =
        (((*this)(i, 0) * p[0] + (*this)(i, 1) * p[1]) + (*this)(i, 2) * p[2]) + (*this)(i, 3);
  return r;
}

double Affine::determinant() const noexcept {
  const Affine& a = *this;
  return a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) - a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0)) +
         a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0));
}

Affine Affine::inverse() const {
  const Affine& a = *this;
  const double det = determinant();
  // Relative to the columns' lengths, so that micrometre and metre grids are judged alike.
  double scale = 1;
  for (int c = 0; c < 3; ++c) scale *= std::sqrt(a(0, c) * a(0, c) + a(1, c) * a(1, c) + a(2, c) * a(2, c));
  if (!finite() || !(std::fabs(det) > scale * 1e-12))
    throw std::domain_error("the affine " + str() + " is singular or not finite");
  Affine r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (j + 1) % 3, i2 = (j + 2) % 3, j1 = (i + 1) % 3, j2 = (i + 2) % 3;
      r(i, j) = (a(i1, j1) * a(i2, j2) - a(i1, j2) * a(i2, j1)) / det;
    }
  for (int i = 0; i < 3; ++i) r(i, 3) = -((r(i, 0) * a(0, 3) + r(i, 1) * a(1, 3)) + r(i, 2) * a(2, 3));
  return r;
}

std::array<double, 3> Affine::spacing() const noexcept {
  std::array<double, 3> s{};
  for (int c = 0; c < 3; ++c) {
    const double norm =
        std::sqrt((*this)(0, c) * (*this)(0, c) + (*this)(1, c) * (*this)(1, c) + (*this)(2, c) * (*this)(2, c));
    s[static_cast<std::size_t>(c)] = norm == 0 ? 1 : norm;
  }
  return s;
}

std::string Affine::axis_codes() const {
  static constexpr char positive[] = "RAS", negative[] = "LPI";
  const std::array<double, 3> s = spacing();
  std::string codes(3, '?');
  bool used[3] = {false, false, false};
  // Largest direction cosines first, so that an oblique axis does not take the world axis of a straighter one.
  for (int n = 0; n < 3; ++n) {
    int best_r = -1, best_c = -1;
    double best = 0;
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) {
        const double v = std::fabs((*this)(r, c) / s[static_cast<std::size_t>(c)]);
        if (codes[static_cast<std::size_t>(c)] == '?' && !used[r] && v > best) best = v, best_r = r, best_c = c;
      }
    if (best_r < 0) throw std::domain_error("the affine " + str() + " gives an axis no direction");
    used[best_r] = true;
    codes[static_cast<std::size_t>(best_c)] = (*this)(best_r, best_c) > 0 ? positive[best_r] : negative[best_r];
  }
  return codes;
}

bool Affine::close_to(const Affine& o, double absolute, double relative) const noexcept {
  for (std::size_t i = 0; i < 16; ++i)
    if (!(std::fabs(m[i] - o.m[i]) <= absolute + relative * std::fabs(o.m[i]))) return false;
  return true;
}

bool Affine::finite() const noexcept {
  for (double v : m)
    if (!std::isfinite(v)) return false;
  return true;
}

std::string Affine::str() const {
  std::string s = "[";
  for (int r = 0; r < 3; ++r) {
    s += r ? "; " : "";
    for (int c = 0; c < 4; ++c) {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, (*this)(r, c)).ptr;
      s += c ? " " : "";
      s.append(text, end);
    }
  }
  return s + "]";
}

}  // namespace headrace
