// Streams against the standard library's generator doing the same work: the same count of floats into the same buffer.
// Each benchmark checks what it made (mean and spread, and for fills the bits of single draws); a wrong result is an
// error. The physical floor of a fill is writing the buffer, measured beside it.
//
// Median and range: --benchmark_repetitions=7 --benchmark_report_aggregates_only=true.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <headrace/random/math.hpp>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>
#include <numeric>
#include <random>
#include <vector>

#if HEADRACE_BENCH_RANDOM123
#include <Random123/philox.h>
#endif

namespace {

using namespace headrace;

constexpr std::size_t count = 1 << 16;  // 256 KB: stays in the second-level cache
constexpr StreamAddress address{.seed = 1, .epoch = 2, .item = 3, .patch = 4, .op = 5};

bool moments_are(const std::vector<float>& values, double mean, double sd) {
  double sum = 0, square = 0;
  for (const float x : values) {
    sum += x;
    square += double{x} * x;
  }
  const auto n = static_cast<double>(values.size());
  const double m = sum / n, s = std::sqrt(square / n - m * m);
  return std::abs(m - mean) < 0.02 && std::abs(s - sd) < 0.02;
}

void per_number(benchmark::State& state, std::size_t numbers) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(numbers));
  state.counters["ns_each"] =
      benchmark::Counter(1e-9 * static_cast<double>(state.iterations()) * static_cast<double>(numbers),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void floor_memset(benchmark::State& state) {
  std::vector<float> values(count);
  for (auto _ : state) {
    std::memset(values.data(), 0x3E, count * sizeof(float));
    benchmark::DoNotOptimize(values.data());
    benchmark::ClobberMemory();
  }
  if (values[count / 2] == 0) state.SkipWithError("the buffer was not written");
  per_number(state, count);
}

void fill_uniform(benchmark::State& state) {
  std::vector<float> values(count);
  for (auto _ : state) {
    Rng rng(address);
    rng.fill_uniform(values);
    benchmark::ClobberMemory();
  }
  Rng single(address);
  for (const float x : values) {
    if (x != single.uniform<float>()) state.SkipWithError("a filled number differs from the single draw");
  }
  if (!moments_are(values, 0.5, std::sqrt(1 / 12.0))) state.SkipWithError("not uniform");
  per_number(state, count);
}

void peer_uniform_mt19937(benchmark::State& state) {
  std::vector<float> values(count);
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform;
  for (auto _ : state) {
    for (float& x : values) x = uniform(generator);
    benchmark::ClobberMemory();
  }
  if (!moments_are(values, 0.5, std::sqrt(1 / 12.0))) state.SkipWithError("not uniform");
  per_number(state, count);
}

// The peer at its best: no distribution object, the same 24 bits.
void peer_uniform_mt19937_by_hand(benchmark::State& state) {
  std::vector<float> values(count);
  std::mt19937 generator(1);
  for (auto _ : state) {
    for (float& x : values) x = static_cast<float>(generator() >> 8) * 0x1p-24f;
    benchmark::ClobberMemory();
  }
  if (!moments_are(values, 0.5, std::sqrt(1 / 12.0))) state.SkipWithError("not uniform");
  per_number(state, count);
}

// One block, its counter from the one before: 16 bytes.
void one_philox_block(benchmark::State& state) {
  PhiloxBlock counter{{1, 2, 3, 4}};
  const PhiloxKey key{{5, 6}};
  std::uint32_t sum = 0;
  for (auto _ : state) {
    ++counter.word[0];
    const PhiloxBlock words = philox_block(counter, key);
    benchmark::DoNotOptimize(sum += words.word[0] ^ words.word[1] ^ words.word[2] ^ words.word[3]);
  }
}

#if HEADRACE_BENCH_RANDOM123
r123::Philox4x32::ctr_type random123_block(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                                           PhiloxKey key) {
  return r123::Philox4x32()({{c0, c1, c2, c3}}, {{key.word[0], key.word[1]}});
}
void peer_random123_block(benchmark::State& state) {
  std::uint32_t c0 = 1, sum = 0;
  const PhiloxKey key{{5, 6}};
  for (auto _ : state) {
    const auto words = random123_block(++c0, 2, 3, 4, key);
    benchmark::DoNotOptimize(sum += words.v[0] ^ words.v[1] ^ words.v[2] ^ words.v[3]);
  }
  const auto ours = philox_block({{c0, 2, 3, 4}}, key);
  const auto theirs = random123_block(c0, 2, 3, 4, key);
  if (!std::equal(ours.word, ours.word + 4, theirs.v)) state.SkipWithError("another block than ours");
}
// The same floats as fill_uniform, one block after the other.
void peer_uniform_random123(benchmark::State& state) {
  std::vector<float> values(count);
  const PhiloxBlock at = stream_counter(address);
  const PhiloxKey key = stream_key(address.seed);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; i += 4) {
      const auto words = random123_block(static_cast<std::uint32_t>(i / 4), at.word[1], at.word[2], at.word[3], key);
      for (std::size_t k = 0; k < 4; ++k) values[i + k] = static_cast<float>(words.v[k] >> 8) * 0x1p-24f;
    }
    benchmark::ClobberMemory();
  }
  Rng single(address);
  for (const float x : values) {
    if (x != single.uniform<float>()) state.SkipWithError("other floats than ours");
  }
  per_number(state, count);
}
#endif

void fill_normal(benchmark::State& state) {
  std::vector<float> values(count);
  for (auto _ : state) {
    Rng rng(address);
    rng.fill_normal(values, 0, 1);
    benchmark::ClobberMemory();
  }
  Rng single(address);
  for (const float x : values) {
    if (x != single.normal<float>(0, 1)) state.SkipWithError("a filled number differs from the single draw");
  }
  if (!moments_are(values, 0, 1)) state.SkipWithError("not normal");
  per_number(state, count);
}

void peer_normal_distribution(benchmark::State& state) {
  std::vector<float> values(count);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (auto _ : state) {
    for (float& x : values) x = normal(generator);
    benchmark::ClobberMemory();
  }
  if (!moments_are(values, 0, 1)) state.SkipWithError("not normal");
  per_number(state, count);
}

void seed_a_stream(benchmark::State& state) {
  StreamAddress next = address;
  for (auto _ : state) {
    ++next.item;
    Rng rng(next);
    benchmark::DoNotOptimize(rng);
  }
  if (Rng(next).address() != next) state.SkipWithError("not the stream asked for");
}

void seed_and_draw(benchmark::State& state) {
  StreamAddress next = address;
  std::uint32_t word = 0;
  for (auto _ : state) {
    ++next.item;
    Rng rng(next);
    benchmark::DoNotOptimize(word = rng());
  }
  if (word != philox_block(stream_counter(next), stream_key(next.seed)).word[0]) state.SkipWithError("a wrong word");
}

void peer_reseed_mt19937(benchmark::State& state) {
  std::mt19937 generator;
  std::uint32_t seed = 0;
  for (auto _ : state) {
    generator.seed(++seed);
    benchmark::DoNotOptimize(generator());
  }
}

void permutation(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  const Permutation p(n, 1, 2);
  std::uint64_t i = 0, v = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(v = p(i));
    i = i + 1 == n ? 0 : i + 1;
  }
  if (p.inverse(v) != (i == 0 ? n - 1 : i - 1)) state.SkipWithError("the inverse is not one");
}

template <double (*F)(double)>
void math_function(benchmark::State& state) {
  std::vector<double> x(1024), y(1024);
  Rng rng(address);
  for (double& value : x) value = rng.uniform(0.01, 5);
  for (auto _ : state) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = F(x[i]);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  for (const double value : y) {
    if (!std::isfinite(value)) state.SkipWithError("not finite");
  }
  per_number(state, x.size());
}

double gamma_of(double x) { return math::pow(x, 1.7); }

BENCHMARK(floor_memset);
BENCHMARK(fill_uniform);
BENCHMARK(peer_uniform_mt19937);
BENCHMARK(peer_uniform_mt19937_by_hand);
BENCHMARK(one_philox_block)->Name("philox_block");
#if HEADRACE_BENCH_RANDOM123
BENCHMARK(peer_random123_block);
BENCHMARK(peer_uniform_random123);
#endif
BENCHMARK(fill_normal);
BENCHMARK(peer_normal_distribution);
BENCHMARK(seed_a_stream);
BENCHMARK(seed_and_draw);
BENCHMARK(peer_reseed_mt19937);
BENCHMARK(permutation)->Arg(1000)->Arg(1000000)->Arg(std::int64_t{1} << 44);
BENCHMARK(math_function<math::sin>)->Name("math_sin");
BENCHMARK(math_function<math::cos>)->Name("math_cos");
BENCHMARK(math_function<math::exp>)->Name("math_exp");
BENCHMARK(math_function<math::log>)->Name("math_log");
BENCHMARK(math_function<gamma_of>)->Name("math_pow");
BENCHMARK(math_function<math::erf>)->Name("math_erf");

}  // namespace

BENCHMARK_MAIN();
