#include "phantom.hpp"

#include <algorithm>
#include <cmath>
#include <headrace/random/rng.hpp>
#include <vector>

namespace headrace::tool {
namespace {

// An ellipsoid in body coordinates: x to the right, y to the front, z up, the volume being [-1, 1]^3.
struct Ellipsoid {
  std::array<double, 3> centre;
  std::array<double, 3> radius;
  std::int16_t value;
  bool spleen = false;
};

std::vector<Ellipsoid> organs(Rng& rng) {
  const auto around = [&](double v, double by) { return v + rng.uniform(-by, by); };
  std::vector<Ellipsoid> list{
      {{0, 0, 0}, {around(0.85, 0.05), around(0.65, 0.05), 1.6}, -90},         // fat
      {{0, 0, 0}, {around(0.78, 0.03), around(0.58, 0.03), 1.5}, 45},          // muscle and gut
      {{0, around(-0.42, 0.02), 0}, {0.12, 0.11, 2}, 320},                     // spine
      {{around(0.35, 0.03), 0.08, around(0.25, 0.1)}, {0.38, 0.36, 0.6}, 95},  // liver
      {{around(-0.15, 0.05), 0.2, around(0.1, 0.1)}, {0.22, 0.2, 0.3}, -20},   // stomach
      {{around(0.33, 0.02), -0.32, -0.35}, {0.12, 0.11, 0.35}, 150},           // kidneys
      {{around(-0.33, 0.02), -0.32, -0.3}, {0.12, 0.11, 0.35}, 150},
      {{0.05, -0.26, 0}, {0.05, 0.05, 2}, 180},  // aorta
  };
  // The spleen: on the left, behind, high; three overlapping pieces, so that it is not convex.
  const std::array<double, 3> c{around(-0.5, 0.04), around(-0.16, 0.05), around(0.3, 0.1)};
  for (int piece = 0; piece < 3; ++piece) {
    const std::array<double, 3> centre{around(c[0], 0.05), around(c[1] + 0.1 * (piece - 1), 0.04),
                                       around(c[2] + 0.12 * (piece - 1), 0.05)};
    list.push_back({centre, {around(0.13, 0.03), around(0.17, 0.04), around(0.2, 0.05)}, 120, true});
  }
  return list;
}

// Writes `value` where the ellipsoid is, one run of the last axis at a time.
template <class T>
void fill(T* voxels, const std::array<std::int64_t, 3>& n, const std::array<double, 3>& sign, const Ellipsoid& e,
          T value) {
  // Body coordinate of voxel v on axis d: sign * (2 v + 1 - n) / n.
  const auto body = [&](int d, std::int64_t v) {
    const auto i = static_cast<std::size_t>(d);
    return sign[i] * static_cast<double>(2 * v + 1 - n[i]) / static_cast<double>(n[i]);
  };
  for (std::int64_t x = 0; x < n[0]; ++x) {
    const double dx = (body(0, x) - e.centre[0]) / e.radius[0];
    for (std::int64_t y = 0; y < n[1]; ++y) {
      const double dy = (body(1, y) - e.centre[1]) / e.radius[1];
      const double rest = 1 - dx * dx - dy * dy;
      if (rest <= 0) continue;
      const double half = std::sqrt(rest) * e.radius[2], size = static_cast<double>(n[2]);
      const double middle = ((sign[2] * e.centre[2] + 1) * size - 1) / 2, reach = half * size / 2;
      const auto first = static_cast<std::int64_t>(std::max(0.0, std::ceil(middle - reach)));
      const auto last = static_cast<std::int64_t>(std::min(size - 1, std::floor(middle + reach)));
      T* row = voxels + (x * n[1] + y) * n[2];
      for (std::int64_t z = first; z <= last; ++z) row[z] = value;
    }
  }
}

void add_noise(std::int16_t* voxels, std::int64_t count, double sd, Rng& rng) {
  std::vector<float> noise(4096);
  for (std::int64_t done = 0; done < count;) {
    const auto n =
        static_cast<std::size_t>(std::min<std::int64_t>(count - done, static_cast<std::int64_t>(noise.size())));
    rng.fill_normal(std::span(noise).first(n), 0, sd);
    for (std::size_t i = 0; i < n; ++i, ++done)
      voxels[done] =
          static_cast<std::int16_t>(std::clamp(static_cast<float>(voxels[done]) + noise[i], -1024.0f, 3071.0f));
  }
}

// Axis directions as scanners write them, a small tilt in some, spacing fine in plane and coarse across.
Affine geometry(const std::array<std::int64_t, 3>& n, const std::array<double, 3>& sign, Rng& rng) {
  const double in_plane = static_cast<double>(60 + rng.below(36)) / 100,
               across = static_cast<double>(6 + rng.below(15)) / 4;
  const std::array<double, 3> spacing{in_plane, in_plane, across};
  // A rotation about x by an angle whose cosine and sine are exact enough: (1 - t^2, 2t) / (1 + t^2).
  const double t = rng.bernoulli(0.25) ? rng.uniform(-0.04, 0.04) : 0;
  const double c = (1 - t * t) / (1 + t * t), s = 2 * t / (1 + t * t);
  const double rows[9] = {1, 0, 0, 0, c, -s, 0, s, c};
  Affine a;
  for (int r = 0; r < 3; ++r)
    for (int k = 0; k < 3; ++k)
      a(r, k) = rows[3 * r + k] * sign[static_cast<std::size_t>(k)] * spacing[static_cast<std::size_t>(k)];
  // The middle of the volume near the origin.
  for (int r = 0; r < 3; ++r) {
    double middle = 0;
    for (int k = 0; k < 3; ++k) middle += a(r, k) * static_cast<double>(n[static_cast<std::size_t>(k)] - 1) / 2;
    a(r, 3) = rng.uniform(-20, 20) - middle;
  }
  // As a header will hold it, so that what is returned is what is read back; and without minus zeros.
  for (double& v : a.m) v = static_cast<double>(static_cast<float>(v)) + 0.0;
  return a;
}

}  // namespace

Phantom make_phantom(const PhantomOptions& o, std::uint64_t seed, std::uint64_t item) {
  Rng plan(StreamAddress{.seed = seed, .item = item, .op = 0});
  Rng noise(StreamAddress{.seed = seed, .item = item, .op = 1});
  std::array<std::int64_t, 3> n = o.shape;
  for (std::int64_t& size : n) size += static_cast<std::int64_t>(plan.uniform() * o.vary * static_cast<double>(size));
  std::array<double, 3> sign{1, 1, 1};
  for (std::size_t d = 0; d < 2; ++d) sign[d] = plan.bernoulli(0.5) ? -1 : 1;

  Phantom out;
  out.affine = geometry(n, sign, plan);
  const Shape shape{1, n[0], n[1], n[2]};
  out.image = Tensor::empty(DType::i16, shape);
  out.label = Tensor::zeros(DType::u8, shape);
  std::int16_t* image = out.image.mutable_data<std::int16_t>();
  std::uint8_t* label = out.label.mutable_data<std::uint8_t>();
  std::fill_n(image, shape.numel(), std::int16_t{-1000});
  for (const Ellipsoid& e : organs(plan)) {
    fill(image, n, sign, e, e.value);
    if (e.spleen) fill(label, n, sign, e, std::uint8_t{1});
  }
  add_noise(image, shape.numel(), o.noise, noise);
  return out;
}

}  // namespace headrace::tool
