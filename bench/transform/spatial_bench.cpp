// The affine sampler and the ops built on it, on one thread. Each benchmark checks its result against a plain sampler
// at a sample of voxels; a wrong one is an error. The floor is writing the output (fill) and, for whole images, copying
// as many bytes as are read and written.
//
// Median and range: --benchmark_repetitions=7 --benchmark_report_aggregates_only=true.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <headrace/random/math.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/resample.hpp>
#include <string>
#include <vector>

namespace {

using namespace headrace;

// Smooth enough for any value to be told from its neighbours, in the range of the type.
Tensor picture(DType dtype, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n * n * n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 2654435761u >> 7) % 200);
  return Tensor::from(std::span<const double>(values), {1, n, n, n}).to(dtype);
}

// Input value at an input position: trilinear or nearest, clamped to the border.
double plain(const Tensor& in, std::array<double, 3> x, bool nearest) {
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<std::int64_t, 3> index{};
    for (std::size_t d = 0; d < 3; ++d) {
      const auto last = static_cast<double>(in.size(static_cast<int>(d) + 1) - 1);
      const double inside = std::fmin(std::fmax(x[d], 0), last);
      const double low = nearest ? std::nearbyint(inside) : std::floor(inside);
      const bool upper = (corner >> d & 1) != 0;
      const double t = nearest ? 0 : inside - low;
      weight *= upper ? t : 1 - t;
      index[d] = static_cast<std::int64_t>(std::fmin(low + (upper ? 1 : 0), last));
    }
    if (weight != 0) sum += weight * in.at({0, index[0], index[1], index[2]});
  }
  return sum;
}

bool right(const Tensor& in, const Tensor& out, const Affine& map, bool nearest) {
  const double within = nearest || is_floating(in.dtype()) ? 1e-4 : 0.5 + 1e-9;  // linear on integers is rounded
  const std::int64_t n = out.size(1);
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t a = i * 37 % n, b = i * 53 % n, c = i * 71 % n;
    const auto x = map.apply({static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)});
    if (std::fabs(out.at({0, a, b, c}) - plain(in, x, nearest)) > within) return false;
  }
  return true;
}

Affine centred(const Affine& m, std::int64_t from, std::int64_t to) {
  const double a = static_cast<double>(from - 1) / 2, b = -static_cast<double>(to - 1) / 2;
  return Affine::translation({a, a, a}) * m * Affine::translation({b, b, b});
}

enum class Map { scale, rotate };

void sampler(benchmark::State& state, DType dtype, Interpolation mode, Map kind) {
  constexpr std::int64_t from = 160, to = 128;
  const Tensor in = picture(dtype, from);
  Tensor out = Tensor::zeros(dtype, {1, to, to, to});
  const std::array<double, 3> angles{0.2, -0.13, 0.15};
  const Affine map =
      kind == Map::scale ? Affine::scaling({1.25, 1.25, 1.25}) : centred(affine_matrix(3, angles), from, to);
  for (auto _ : state) {
    resample(in, out, map, {.mode = mode});
    benchmark::DoNotOptimize(out.raw());
  }
  if (!right(in, out, map, mode == Interpolation::nearest)) state.SkipWithError("wrong voxels");
  state.SetItemsProcessed(state.iterations() * out.numel());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.bytes()));
}

// A 96^3 patch, image f32 and label u8, through RandAffine with a typical plan.
void rand_affine(benchmark::State& state, Padding padding) {
  constexpr std::int64_t n = 96;
  Sample patch;
  patch.set("image", picture(DType::f32, n));
  patch.set("label", picture(DType::u8, n));
  patch.freeze();
  const RandAffine op(
      {.prob = 1, .rotate_range = {0.26, 0.26, 0.26}, .scale_range = {0.1, 0.1, 0.1}, .padding_mode = padding});
  // the destination is given, as in a loader, so that fresh memory is not what is measured
  struct Slot final : OutputPlace {
    Tensor image = Tensor::zeros(DType::f32, {1, n, n, n});
    Tensor label = Tensor::zeros(DType::u8, {1, n, n, n});
    Tensor output(std::string_view field, DType, const Shape&) override { return field == "image" ? image : label; }
    Tensor scratch(DType dtype, const Shape& shape) override { return Tensor::zeros(dtype, shape); }
  } slot;
  const std::array<double, 3> angles{0.2, -0.13, 0.15}, scale{1.05, 0.95, 1};
  const RandAffine::Plan plan{.apply = true, .matrix = affine_matrix(3, angles, {}, {}, scale)};
  for (auto _ : state) {
    Sample s = patch;
    s.set_output_place(&slot);
    op.apply(s, plan);
    benchmark::DoNotOptimize(slot.image.raw());
  }
  const Affine map = centred(plan.matrix, n, n);
  if (padding == Padding::border &&
      (!right(patch.get("image"), slot.image, map, false) || !right(patch.get("label"), slot.label, map, true)))
    state.SkipWithError("wrong voxels");
  state.SetItemsProcessed(state.iterations() * n * n * n);
}

void plan_only(benchmark::State& state) {
  Sample s;
  s.set("image", Tensor::zeros(DType::f32, {1, 4, 4, 4}));
  const RandAffine op({.prob = 0.5, .rotate_range = {0.26, 0.26, 0.26}, .scale_range = {0.1, 0.1, 0.1}});
  std::uint64_t item = 0;
  for (auto _ : state) {
    Rng rng(StreamAddress{.seed = 1, .item = item++ % 1000000, .patch = 0, .op = 1});
    benchmark::DoNotOptimize(op.plan(s, rng));
  }
}

// The floor: as many bytes written, and as many read and written.
void fill(benchmark::State& state) {
  std::vector<char> out(128 * 128 * 128 * 4);
  for (auto _ : state) {
    std::memset(out.data(), static_cast<int>(state.iterations() & 1), out.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}
void copy(benchmark::State& state) {
  std::vector<char> in(160 * 160 * 160 * 4, 1), out(in.size());
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), in.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}

BENCHMARK(fill)->Name("floor/fill_128^3_f32")->Unit(benchmark::kMillisecond);
BENCHMARK(copy)->Name("floor/copy_160^3_f32")->Unit(benchmark::kMillisecond);

#define HEADRACE_SAMPLER(dtype, mode, map)                                                        \
  BENCHMARK_CAPTURE(sampler, dtype##_##mode##_##map, DType::dtype, Interpolation::mode, Map::map) \
      ->Name("resample_160^3_to_128^3/" #dtype "_" #mode "_" #map)                                \
      ->Unit(benchmark::kMillisecond)
HEADRACE_SAMPLER(f32, linear, scale);
HEADRACE_SAMPLER(f32, linear, rotate);
HEADRACE_SAMPLER(f32, nearest, rotate);
HEADRACE_SAMPLER(i16, nearest, scale);
HEADRACE_SAMPLER(i16, nearest, rotate);
HEADRACE_SAMPLER(u8, nearest, scale);
HEADRACE_SAMPLER(u8, nearest, rotate);
HEADRACE_SAMPLER(i16, linear, rotate);

BENCHMARK_CAPTURE(rand_affine, zeros, Padding::zeros)
    ->Name("RandAffine_96^3_f32+u8/zeros")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rand_affine, border, Padding::border)
    ->Name("RandAffine_96^3_f32+u8/border")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rand_affine, reflection, Padding::reflection)
    ->Name("RandAffine_96^3_f32+u8/reflection")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_only)->Name("RandAffine/plan");

}  // namespace

BENCHMARK_MAIN();
