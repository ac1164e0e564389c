// Work stealing inside an item. Batch 1, window 1, an item of 8 patches of 96^3 (affine, so that a patch is work): how
// much faster are two threads than one, when only one item is in flight? Beside it, the usual way: one task per item
// and a nested tbb::parallel_for over its patches.
//   bench_stealing [--quick]
#include <oneapi/tbb.h>

#include <cstdlib>
#include <headrace/loader/digest.hpp>

#include "support/measure.hpp"
#include "volumes.hpp"

namespace {

using namespace bench;

struct Setting {
  std::string name;
  unsigned threads;
  bool help;
  std::uint32_t batch;
  unsigned window;
};

struct Outcome {
  double patches_per_second = 0;
  std::uint64_t stolen = 0;
  hr::Digest digest;
};

Outcome run_loader(const hr::Dataset& dataset, const hr::Pipeline& pipeline, const Setting& s, int epochs,
                   bool digest) {
  hr::Loader loader(
      dataset, pipeline,
      {.batch_size = s.batch, .seed = 3, .threads = s.threads, .window = s.window, .hold = 1, .help = s.help});
  Outcome o;
  hr::DigestChain chain;
  std::size_t patches = 0;
  const double start = now();
  for (int e = 0; e < epochs; ++e)
    for (hr::Batch& batch : loader.epoch(static_cast<std::uint32_t>(e))) {
      patches += batch.size();
      if (digest) chain.add(batch);
    }
  o.patches_per_second = static_cast<double>(patches) / (now() - start);
  o.stolen = loader.stats().engine.parts_stolen;
  o.digest = chain.ordered();
  return o;
}

// Item after item (one in flight), its patches by a nested parallel_for; `threads` threads with the caller.
double run_nested(const hr::Dataset& dataset, const hr::Pipeline& pipeline, int threads, int epochs) {
  tbb::task_arena arena(threads);
  std::size_t patches = 0;
  const double start = now();
  std::vector<hr::Sample> outputs(pipeline.parts());
  for (int e = 0; e < epochs; ++e)
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      const hr::Pipeline::Address address{.seed = 3, .epoch = static_cast<std::uint32_t>(e), .item = i};
      hr::Sample item = dataset(i);
      arena.execute([&] {
        tbb::this_task_arena::isolate([&] {
          tbb::parallel_for(0u, pipeline.parts(), [&](unsigned k) {
            outputs[k] = item;
            pipeline.run_part(outputs[k], address, k);
            for (const char* key : {"image", "label"}) outputs[k].set(key, outputs[k].get(key).contiguous());
          });
        });
      });
      patches += pipeline.parts();
    }
  return static_cast<double>(patches) / (now() - start);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick_run = quick(argc, argv);
  const int rounds = quick_run ? 1 : 9, epochs = quick_run ? 1 : 2;
  const std::int64_t patch = quick_run ? 24 : 96;
  const hr::Dataset dataset = hr::MemoryDataset(make_volumes(quick_run ? 2 : 4, quick_run ? 40 : 160));
  const auto pipeline =
      hr::compose(hr::RandCropByPosNegLabel({.label_key = "label", .spatial_size = patch, .num_samples = 8}),
                  hr::RandAffine({.prob = 1.0, .rotate_range = {0.26, 0.26, 0.26}}));
  const std::vector<Setting> settings{{"1 thread: one worker", 1, false, 1, 1},
                                      {"2 threads: two workers", 2, false, 1, 1},
                                      {"2 threads: one worker and a helping consumer", 1, true, 1, 1},
                                      {"1 thread, batch 2: one worker", 1, false, 2, 1},
                                      {"2 threads, batch 2: two workers", 2, false, 2, 1}};
  hr::Digest reference[3];
  for (const Setting& s : settings) {
    const hr::Digest d = run_loader(dataset, pipeline, s, 1, true).digest;
    hr::Digest& r = reference[s.batch];
    if (r == hr::Digest{}) r = d;
    if (!(r == d)) return std::printf("digests DIFFER\n"), EXIT_FAILURE;
  }
  std::printf("digests agree\nitems of 8 patches of %lld^3, crop and affine; median [range] of %d rounds\n",
              static_cast<long long>(patch), rounds);
  print_machine();
  std::vector<std::uint64_t> stolen(settings.size(), 0);
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < settings.size(); ++i)
    candidates.push_back({settings[i].name, [&, i] {
                            const Outcome o = run_loader(dataset, pipeline, settings[i], epochs, false);
                            stolen[i] += o.stolen;
                            return o.patches_per_second;
                          }});
  candidates.push_back(
      {"nested tbb::parallel_for, 1 thread", [&] { return run_nested(dataset, pipeline, 1, epochs); }});
  candidates.push_back(
      {"nested tbb::parallel_for, 2 threads", [&] { return run_nested(dataset, pipeline, 2, epochs); }});
  interleave(candidates, rounds);
  print(candidates, "patches/s");
  for (std::size_t i = 0; i < settings.size(); ++i)
    std::printf("  patches run by another thread than their item's, %s: %llu\n", settings[i].name.c_str(),
                static_cast<unsigned long long>(stolen[i]));
}
