// RandBiasField: with probability `prob`, multiplies by a smooth field, as the coils of a scanner do.
//
//   RandBiasField({.keys = "image", .degree = 3, .coeff_range = {0, 0.1}, .prob = 0.3})
//
//   y = x * exp(sum of c_ijk P_i(x0) P_j(x1) P_k(x2)),   i + j + k <= degree
//
// P are Legendre polynomials, x_d goes from -1 to 1 along axis d (-1 where it has one voxel), and the coefficients c are
// uniform in coeff_range, in the order i, j, k with k fastest. The same field for all channels and keys. Arithmetic in
// float32 (float64 input: float64), the field in double. The result has `dtype`, whatever the coin says.
//
// Draws, also when the coin says no: 2 words for the coin, then 2 for each of the C(degree + 3, 3) coefficients of a 3-D
// image, whatever the rank; images of lower rank use those with k = 0 (and j = 0).
//
// Errors: std::invalid_argument from the constructor (a degree outside 1..8, a range that is not finite or in order, a
// prob outside 0..1). Thread-safety: immutable. Source: MONAI 1.6.1 RandBiasFieldd; in 2-D all terms up to the total
// degree, where MONAI leaves some out and takes others twice as high.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct RandBiasFieldOptions {
  Keys keys{};
  int degree = 3;  // 1 to 8
  Range coeff_range{0.0, 0.1};
  double prob = 0.1;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
  std::optional<std::uint16_t> op{};        // pins the op's number in random addresses
};

class RandBiasField {
 public:
  static constexpr const char* name = "RandBiasField";
  static constexpr int most_degree = 8;
  struct Plan {
    bool apply = false;
    std::array<double, 165> coefficients{};  // C(8 + 3, 3); the first C(degree + 3, 3) count
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandBiasField(RandBiasFieldOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandBiasFieldOptions options_;
};

}  // namespace headrace
