// The table that began it all: cutting the patches of one item in a loop, or on threads, per item, in seconds. In the
// original, an image, its label and two index arrays were copied anew for every patch, which was the whole cost; the
// third column copies like that, the fourth is the same with threads.
//   bench_loop_and_threads [--quick]
#include <oneapi/tbb.h>

#include <cstdlib>

#include "support/measure.hpp"
#include "volumes.hpp"

namespace {

using namespace bench;

// One patch, made contiguous: what a batch needs.
void cut(const hr::Sample& item, const hr::Pipeline& crop, std::uint32_t epoch, unsigned k, bool deep_copy,
         std::vector<hr::Sample>& out) {
  hr::Sample s = item;
  std::vector<std::int64_t> foreground, background;
  if (deep_copy)
    for (const char* key : {"label_fg_indices", "label_bg_indices"}) {
      const hr::VoxelSet& set = item.voxels(key);
      auto& copy = key[6] == 'f' ? foreground : background;
      copy.resize(set.size());
      std::int64_t n = 0;
      for (std::int64_t& v : copy) v = n++;
    }
  crop.run_part(s, {.seed = 5, .epoch = epoch, .item = 0}, k);
  for (const char* key : {"image", "label"}) s.set(key, s.get(key).contiguous());
  out[k] = std::move(s);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick_run = quick(argc, argv);
  const std::int64_t patch = quick_run ? 24 : 96;
  const int calls = quick_run ? 2 : 12;
  const unsigned patches = 4;
  const std::vector<hr::Sample> volumes = make_volumes(1, quick_run ? 40 : 192);
  const hr::Pipeline crop =
      hr::compose(hr::RandCropByPosNegLabel({.label_key = "label", .spatial_size = patch, .num_samples = patches}));
  std::vector<hr::Sample> a(patches), b(patches);
  tbb::task_arena arena(2);
  const auto loop = [&](std::uint32_t e, bool deep) {
    const double start = now();
    for (unsigned k = 0; k < patches; ++k) cut(volumes[0], crop, e, k, deep, a);
    return now() - start;
  };
  const auto threads = [&](std::uint32_t e, bool deep) {
    const double start = now();
    arena.execute([&] { tbb::parallel_for(0u, patches, [&](unsigned k) { cut(volumes[0], crop, e, k, deep, b); }); });
    return now() - start;
  };
  std::printf("%u patches of %lld^3 (f32 + u8) of one volume, seconds per call\n", patches,
              static_cast<long long>(patch));
  print_machine();
  std::printf("  loop       2 threads  loop, index arrays copied  2 threads, index arrays copied\n");
  for (int c = 0; c < calls; ++c) {
    const auto e = static_cast<std::uint32_t>(c);
    const double t[4] = {loop(e, false), threads(e, false), loop(e, true), threads(e, true)};
    std::printf("  %.6f   %.6f   %.6f                   %.6f\n", t[0], t[1], t[2], t[3]);
    for (unsigned k = 0; k < patches; ++k)
      for (const char* key : {"image", "label"})
        if (!a[k].get(key).equal(b[k].get(key))) return std::printf("loop and threads DIFFER\n"), EXIT_FAILURE;
  }
  std::printf("the patches of loop and threads agree\n");
}
