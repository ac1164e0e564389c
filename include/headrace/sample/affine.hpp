// Affine geometry: voxel index -> world millimetres, RAS+ (x to the right, y to the front, z up), 4x4, double.
//
// Array axis d of a channel-first tensor [C, n0, n1, n2] is voxel axis d of the file (NIfTI's i, j, k). An operation
// that maps an output voxel o to the input voxel X*o changes the affine to A*X. Two-dimensional images use axes 0 and 1
// only. All arithmetic is in double, in a fixed order: the same bits everywhere.
#pragma once

#include <array>
#include <string>

namespace headrace {

struct Affine {
  // Row-major; the last row is 0 0 0 1.
  std::array<double, 16> m{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

  double operator()(int r, int c) const noexcept { return m[static_cast<std::size_t>(r * 4 + c)]; }
  double& operator()(int r, int c) noexcept { return m[static_cast<std::size_t>(r * 4 + c)]; }

  static Affine identity() noexcept { return {}; }
  static Affine translation(const std::array<double, 3>& t) noexcept;
  static Affine scaling(const std::array<double, 3>& s) noexcept;
  // Output voxel o -> input voxel n-1-o on one axis of size n.
  static Affine flip(int axis, double n) noexcept;

  // this * o
  Affine operator*(const Affine& o) const noexcept;
  std::array<double, 3> apply(const std::array<double, 3>& p) const noexcept;
  // Throws std::domain_error for a singular matrix, quoting it.
  Affine inverse() const;
  double determinant() const noexcept;  // of the 3x3 block
  // Column norms of the 3x3 block; a zero norm is reported as 1.
  std::array<double, 3> spacing() const noexcept;
  // One of R/L, A/P, S/I per axis, the closest to each voxel axis; throws std::domain_error if an axis has none.
  std::string axis_codes() const;
  bool close_to(const Affine& o, double absolute = 1e-3, double relative = 1e-5) const noexcept;
  bool finite() const noexcept;
  std::string str() const;

  friend bool operator==(const Affine&, const Affine&) = default;
};

}  // namespace headrace
