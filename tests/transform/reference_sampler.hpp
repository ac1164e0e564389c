// The sampler written down as plainly as possible, as a yardstick: one voxel at a time, all in double, neighbours
// summed with product weights, mirrors unfolded one at a time. Shares no code with the library's.
#pragma once

#include <cmath>
#include <cstdint>
#include <headrace/sample/affine.hpp>
#include <headrace/tensor/tensor.hpp>
#include <headrace/transform/options.hpp>
#include <random>
#include <vector>

namespace headrace::test {

struct ReferenceVoxel {
  double value = 0;
  // The distance of the nearest coordinate from a point where `nearest` changes its mind.
  double to_tie = 1;
};

inline double mirrored(double x, double low, double high) {
  if (high <= low) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

// One output voxel. `at(index)` reads the input at integer indices inside it.
template <class At>
ReferenceVoxel reference_voxel(const std::vector<double>& x_in, const std::vector<std::int64_t>& size, bool nearest,
                               Padding padding, bool align_corners, const At& at) {
  const std::size_t rank = size.size();
  std::vector<double> x = x_in;
  ReferenceVoxel result;
  for (std::size_t d = 0; d < rank; ++d) {
    const double last = static_cast<double>(size[d]) - 1;
    if (padding == Padding::reflection && (x[d] < 0 || x[d] > last))
      x[d] = align_corners ? mirrored(x[d], 0, last) : mirrored(x[d], -0.5, last + 0.5);
    if (padding != Padding::zeros) x[d] = std::fmin(std::fmax(x[d], 0), last);
    result.to_tie = std::fmin(result.to_tie, std::fabs(x[d] - std::floor(x[d]) - 0.5));
  }
  const std::size_t corners = nearest ? 1 : std::size_t{1} << rank;
  for (std::size_t corner = 0; corner < corners; ++corner) {
    double weight = 1;
    bool inside = true;
    std::vector<std::int64_t> index(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const double low = nearest ? std::floor(x[d] + 0.5) : std::floor(x[d]);
      const bool upper = (corner >> d & 1) != 0;
      const double i = upper ? low + 1 : low;
      if (!nearest) weight *= upper ? x[d] - low : 1 - (x[d] - low);
      inside = inside && i >= 0 && i < static_cast<double>(size[d]);
      index[d] = inside ? static_cast<std::int64_t>(i) : 0;
    }
    if (inside) result.value += weight * at(index);
  }
  return result;
}

// All of out = in sampled at map * o. `in` and `out` channel first, any type that Tensor::at converts.
inline std::vector<ReferenceVoxel> reference_resample(const Tensor& in, const Shape& out, const Affine& map,
                                                      bool nearest, Padding padding, bool align_corners) {
  const Tensor values = in.to(DType::f64).contiguous();
  const double* v = values.data<double>();
  const auto rank = static_cast<std::size_t>(in.rank() - 1);
  std::vector<std::int64_t> size(rank);
  for (std::size_t d = 0; d < rank; ++d) size[d] = in.size(static_cast<int>(d) + 1);
  std::vector<ReferenceVoxel> result;
  for (std::int64_t c = 0; c < out[0]; ++c) {
    std::vector<std::int64_t> o(rank, 0);
    std::int64_t voxels = 1;
    for (std::size_t d = 0; d < rank; ++d) voxels *= out[static_cast<int>(d) + 1];
    for (std::int64_t n = 0; n < voxels; ++n) {
      std::int64_t rest = n;
      for (std::size_t d = rank; d-- > 0;) {
        o[d] = rest % out[static_cast<int>(d) + 1];
        rest /= out[static_cast<int>(d) + 1];
      }
      std::vector<double> x(rank);
      for (std::size_t d = 0; d < rank; ++d) {
        x[d] = map(static_cast<int>(d), 3);
        for (std::size_t e = 0; e < rank; ++e)
          x[d] += map(static_cast<int>(d), static_cast<int>(e)) * static_cast<double>(o[e]);
      }
      result.push_back(
          reference_voxel(x, size, nearest, padding, align_corners, [&](const std::vector<std::int64_t>& i) {
            std::int64_t linear = c;
            for (std::size_t d = 0; d < rank; ++d) linear = linear * size[d] + i[d];
            return v[linear];
          }));
    }
  }
  return result;
}

// Random things for tests. std::mt19937_64's words are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  double real(double low, double high) { return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53); }
  bool coin() { return (engine_() & 1) != 0; }

  // A map near a random rotation and scaling, so that a good part of the output lies in the input and a part outside.
  Affine map(int rank, const Shape& in, const Shape& out) {
    Affine m;
    for (int r = 0; r < rank; ++r)
      for (int c = 0; c < rank; ++c) m(r, c) = (r == c ? real(0.5, 1.6) * (coin() ? 1 : -1) : real(-0.7, 0.7));
    for (int r = 0; r < rank; ++r) {
      double middle = 0;
      for (int c = 0; c < rank; ++c) middle += m(r, c) * static_cast<double>(out[c + 1] - 1) / 2;
      m(r, 3) = static_cast<double>(in[r + 1] - 1) / 2 - middle + real(-2, 2);
    }
    return m;
  }

 private:
  std::mt19937_64 engine_;
};

// Random values of a type: about unit size for floats, the whole range (or +-2^50) for integers.
inline Tensor random_tensor(Dice& dice, DType dtype, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  double low = -2, high = 2;
  switch (dtype) {
    case DType::u8:
      low = 0, high = 255.9;
      break;
    case DType::i8:
      low = -128, high = 127.9;
      break;
    case DType::u16:
      low = 0, high = 65535.9;
      break;
    case DType::i16:
      low = -32768, high = 32767.9;
      break;
    case DType::u32:
      low = 0, high = 4294967295.9;
      break;
    case DType::i32:
      low = -2147483648.0, high = 2147483647.9;
      break;
    case DType::u64:
      low = 0, high = 0x1p50;
      break;
    case DType::i64:
      low = -0x1p50, high = 0x1p50;
      break;
    default:
      break;
  }
  for (double& v : values) v = dice.real(low, high);
  return Tensor::from(std::span<const double>(values), shape).to(dtype);
}

}  // namespace headrace::test
