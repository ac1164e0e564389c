// RandShiftIntensity: with probability `prob`, adds o, uniform in `offsets`.
//
//   RandShiftIntensity({.keys = "image", .offsets = 0.1, .prob = 0.5})
//
// Draws 2 words for the coin, then 2 for o (with channel_wise 2 for each channel of the first key), also when the coin
// says no; one decision and one o for all keys. The element type stays unless `dtype` says otherwise; integers truncate
// toward zero and saturate. Arithmetic in float32 (float64 input: float64).
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1; offsets that are not finite or not in
// order). With channel_wise, keys with more channels than the first one are an error. Thread-safety: immutable;
// channel_wise allocates. Source: MONAI 1.6.1 RandShiftIntensityd (safe = true), with one draw.
#pragma once

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

struct RandShiftIntensityOptions {
  Keys keys{};
  Range offsets{};  // needed: f stands for [-f, f)
  double prob = 0.1;
  bool channel_wise = false;
  std::optional<DType> dtype{};       // nothing: the image's own
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandShiftIntensity {
 public:
  static constexpr const char* name = "RandShiftIntensity";
  struct Plan {
    bool apply = false;
    double offset = 0;
    std::vector<double> offsets{};  // per channel, with channel_wise
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandShiftIntensity(RandShiftIntensityOptions options);

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandShiftIntensityOptions options_;
};

}  // namespace headrace
