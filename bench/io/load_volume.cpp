// Time to load a .nii.gz, against its floors in the same run: inflating alone, and inflating with the conversion to
// float but without the turn from first-axis-fastest to last-axis-fastest. Sums of all voxels are compared.
//   bench_load_volume [--quick] [FILE.nii.gz ...]
// Without files: ch2.nii.gz from mricron-data where it is installed, and a volume of our own (int16, scaled by no
// factor).
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <headrace/headrace.hpp>
#include <memory>

#include "support/measure.hpp"

namespace {

using namespace headrace;

std::vector<std::uint8_t> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(in), {});
}

// Inflates through a 256 KB buffer, giving each piece to f.
template <class F>
void inflate(std::vector<std::uint8_t>& gz, F&& f) {
  static std::vector<std::uint8_t> buffer(std::size_t{256} << 10);
  auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  state->next_in = gz.data();
  state->avail_in = static_cast<std::uint32_t>(gz.size());
  while (state->block_state != ISAL_BLOCK_FINISH) {
    state->next_out = buffer.data();
    state->avail_out = static_cast<std::uint32_t>(buffer.size());
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) std::abort();
    f(buffer.data(), buffer.size() - state->avail_out);
  }
}

double sum_of(const float* v, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(v[i]);
  return sum;
}

void check(double sum, double expected) {
  // Sums of whole numbers below 2^53 are exact in any order.
  if (sum == expected) return;
  std::printf("wrong sum: %.17g, expected %.17g\n", sum, expected);
  std::exit(1);
}

template <class T>
void measure(const std::string& path, int rounds) {
  const NiftiHeader h = read_nifti_header(path);
  std::vector<std::uint8_t> gz = file_bytes(path);
  const auto voxels = static_cast<std::size_t>(h.shape.numel());
  const Tensor reference = read_nifti(path).tensor;
  const double expected = sum_of(reference.data<float>(), voxels);
  // As fresh as the tensor of the real reader: page faults are part of a load.
  const auto destination = [&] { return Tensor::empty(DType::f32, h.shape); };

  const auto timed = [](auto f) {
    return [f] {
      const double start = bench::now();
      f();
      return (bench::now() - start) * 1e3;
    };
  };
  std::vector<bench::Candidate> candidates;
  candidates.push_back({"inflate alone, from memory", timed([&] {
                          std::size_t n = 0;
                          inflate(gz, [&](const std::uint8_t*, std::size_t bytes) { n += bytes; });
                          if (n < h.data_bytes) std::exit(1);
                        })});
  double sum = 0;
  candidates.push_back({"inflate + conversion to f32, file order", [&] {
                          const double start = bench::now();
                          Tensor t = destination();
                          float* out = t.mutable_data<float>();
                          std::size_t skip = static_cast<std::size_t>(h.data_offset), done = 0;
                          inflate(gz, [&](const std::uint8_t* data, std::size_t bytes) {
                            const std::size_t first = std::min(skip, bytes);
                            skip -= first;
                            // Offset and pieces are multiples of the element size.
                            const std::size_t n = std::min((bytes - first) / sizeof(T), voxels - done);
                            const T* v = reinterpret_cast<const T*>(data + first);
                            for (std::size_t i = 0; i < n; ++i) out[done + i] = static_cast<float>(v[i]);
                            done += n;
                          });
                          const double ms = (bench::now() - start) * 1e3;
                          sum = sum_of(t.data<float>(), voxels);
                          check(sum, expected);
                          return ms;
                        }});
  candidates.push_back({"read_nifti to f32", [&] {
                          const double start = bench::now();
                          const NiftiImage image = read_nifti(path);
                          const double ms = (bench::now() - start) * 1e3;
                          check(sum_of(image.tensor.data<float>(), voxels), expected);
                          return ms;
                        }});
  candidates.push_back({"read_nifti to the stored type", [&] {
                          const double start = bench::now();
                          const NiftiImage image = read_nifti(path, {.dtype = h.stored});
                          const double ms = (bench::now() - start) * 1e3;
                          check(sum_of(image.tensor.to(DType::f32).data<float>(), voxels), expected);
                          return ms;
                        }});
  bench::interleave(candidates, rounds);
  std::printf("%s: %s %s, %.2f MB packed, %.2f MB of voxels; ms per load, ratio to inflate + conversion\n",
              path.c_str(), h.shape.str().c_str(), std::string(name_of(h.stored)).c_str(),
              static_cast<double>(gz.size()) / 1e6, static_cast<double>(h.data_bytes) / 1e6);
  bench::print(candidates, "ms", 1);
}

std::string make_volume(bool quick) {
  const std::int64_t n = quick ? 64 : 256;
  Tensor t = Tensor::empty(DType::i16, Shape{1, n, n, n});
  std::int16_t* v = t.mutable_data<std::int16_t>();
  // Blocks of anatomy-like plateaus with a little noise: deflates about five-fold.
  Rng rng(StreamAddress{.seed = 1});
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const std::int64_t x = i / (n * n), y = i / n % n, z = i % n;
    const bool inside = (x - n / 2) * (x - n / 2) + (y - n / 2) * (y - n / 2) + (z - n / 2) * (z - n / 2) < n * n / 6;
    v[i] = static_cast<std::int16_t>(inside ? 40 + static_cast<int>(rng() & 15) : -1000);
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("headrace-bench-" + std::to_string(::getpid()) + ".nii.gz")).string();
  write_nifti(path, t, Affine::identity(), {.level = 3});
  return path;
}

void measure_file(const std::string& path, int rounds) {
  const NiftiHeader h = read_nifti_header(path);
  if (h.scaled || h.big_endian || h.data_offset % 8 != 0 || (h.stored != DType::u8 && h.stored != DType::i16)) {
    std::printf("%s: left out; expected unscaled little-endian u8 or i16\n", path.c_str());
    return;
  }
  h.stored == DType::u8 ? measure<std::uint8_t>(path, rounds) : measure<std::int16_t>(path, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = bench::quick(argc, argv);
  const int rounds = quick ? 2 : 15;
  bench::print_machine();
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') paths.emplace_back(argv[i]);
  if (paths.empty()) {
    if (const std::string ch2 = "/usr/share/mricron/templates/ch2.nii.gz"; std::filesystem::exists(ch2))
      paths.push_back(ch2);
    const std::string own = make_volume(quick);
    measure_file(own, rounds);
    std::filesystem::remove(own);
  }
  for (const std::string& path : paths) measure_file(path, rounds);
  return 0;
}
