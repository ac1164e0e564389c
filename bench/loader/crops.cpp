// Cached 3-D crops (image f32 + label u8): the loader against a plain loop that copies the same rows of the same crops
// into the same number and size of slots. The loop is the physical floor; no loader can be faster.
//   bench_crops [--quick]
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/measure.hpp"
#include "volumes.hpp"

namespace {

using namespace bench;

struct Crop {
  std::size_t volume;
  hr::Shape start;
};

struct Work {
  std::int64_t patch;
  unsigned per_item;
  std::uint32_t batch;
  std::vector<hr::Sample> volumes;
  hr::Pipeline pipeline;
  std::vector<std::vector<Crop>> steps;  // of one epoch, as the loader makes them
};

hr::LoaderOptions options_for(const Work& w, unsigned threads, bool help) {
  return {.batch_size = w.batch, .shuffle = true, .seed = 1, .threads = threads, .window = 3, .hold = 1, .help = help};
}

// The bytes of a step, added up in words: cheap, and different for any crop in a wrong place.
std::uint64_t checksum(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0, word = 0;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::memcpy(&word, data + i, 8);
    sum += word * (i / 8 + 1);
  }
  return sum;
}

template <class T>
void copy_rows(const hr::Tensor& volume, const hr::Shape& start, std::int64_t n, T* to) {
  const T* from = reinterpret_cast<const T*>(volume.raw());
  const std::int64_t s1 = volume.strides()[1], s2 = volume.strides()[2];
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j, to += n)
      std::memcpy(to, from + (start[0] + i) * s1 + (start[1] + j) * s2 + start[2],
                  static_cast<std::size_t>(n) * sizeof(T));
}

// The floor: as many slots as the loader has, filled in turn; with two threads, patches alternate between them.
class Floor {
 public:
  Floor(const Work& w, unsigned threads) : w_(w), threads_(threads) {
    const std::size_t voxels = static_cast<std::size_t>(w.patch * w.patch * w.patch), samples = w.batch * w.per_item;
    image_bytes_ = voxels * 4 * samples;
    label_bytes_ = voxels * samples;
    for (int s = 0; s < 4; ++s) {
      slots_.push_back(hr::Storage::allocate(image_bytes_ + label_bytes_));
      std::memset(slots_.back().data(), 0, slots_.back().bytes());
    }
  }
  double crops_per_second(int epochs) {
    const double start = now();
    std::vector<std::thread> helpers;
    for (unsigned t = 1; t < threads_; ++t) helpers.emplace_back([&, t] { run(t, epochs); });
    run(0, epochs);
    for (std::thread& h : helpers) h.join();
    std::size_t crops = 0;
    for (const auto& step : w_.steps) crops += step.size();
    return static_cast<double>(crops * static_cast<std::size_t>(epochs)) / (now() - start);
  }
  std::uint64_t checksum_of_step(std::size_t step) {
    for (std::size_t i = 0; i < w_.steps[step].size(); ++i) copy(step, i, 0);
    const std::size_t samples = w_.steps[step].size(),
                      voxels = static_cast<std::size_t>(w_.patch * w_.patch * w_.patch);
    return checksum(slots_[0].data(), voxels * 4 * samples) ^
           checksum(slots_[0].data() + image_bytes_, voxels * samples);
  }

 private:
  void copy(std::size_t step, std::size_t i, std::size_t slot) {
    const Crop& crop = w_.steps[step][i];
    const std::size_t voxels = static_cast<std::size_t>(w_.patch * w_.patch * w_.patch);
    copy_rows(w_.volumes[crop.volume].get("image"), crop.start, w_.patch,
              reinterpret_cast<float*>(slots_[slot].data()) + i * voxels);
    copy_rows(w_.volumes[crop.volume].get("label"), crop.start, w_.patch,
              reinterpret_cast<std::uint8_t*>(slots_[slot].data() + image_bytes_) + i * voxels);
  }
  void run(unsigned t, int epochs) {
    for (int e = 0; e < epochs; ++e)
      for (std::size_t step = 0; step < w_.steps.size(); ++step)
        for (std::size_t i = t; i < w_.steps[step].size(); i += threads_) copy(step, i, step % slots_.size());
  }

  const Work& w_;
  unsigned threads_;
  std::size_t image_bytes_ = 0, label_bytes_ = 0;
  std::vector<hr::Storage> slots_;
};

double loader_crops_per_second(hr::Loader& loader, int epochs, std::uint32_t& epoch) {
  std::size_t crops = 0;
  const double start = now();
  for (int e = 0; e < epochs; ++e)
    for (hr::Batch& batch : loader.epoch(epoch++)) crops += batch.size();
  return static_cast<double>(crops) / (now() - start);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick_run = quick(argc, argv);
  Work w{.patch = quick_run ? 24 : 96, .per_item = 4, .batch = 2, .volumes = {}, .pipeline = {}, .steps = {}};
  const int volumes = quick_run ? 3 : 8, epochs = quick_run ? 2 : 30, rounds = quick_run ? 1 : 9;
  w.volumes = make_volumes(volumes, quick_run ? 40 : 192);
  w.pipeline = hr::compose(
      hr::RandCropByPosNegLabel({.label_key = "label", .spatial_size = w.patch, .num_samples = w.per_item}));
  const hr::MemoryDataset dataset(w.volumes);

  // The crop list of epoch 0 and its checksums, from the loader's own plans.
  bool wrong = false;
  {
    hr::LoaderOptions options = options_for(w, 0, true);
    options.keep_plans = true;
    hr::Loader loader(dataset, w.pipeline, options);
    std::vector<std::uint64_t> sums;
    for (hr::Batch& batch : loader.epoch(0)) {
      auto& step = w.steps.emplace_back();
      for (std::size_t i = 0; i < batch.size(); ++i)
        step.push_back({batch.origin(i).index, batch.plan(i, 0).get<hr::RandCropByPosNegLabel::Plan>().start});
      sums.push_back(checksum(batch["image"].raw(), batch["image"].bytes()) ^
                     checksum(batch["label"].raw(), batch["label"].bytes()));
    }
    Floor floor(w, 1);
    for (std::size_t s = 0; s < w.steps.size(); ++s) wrong = wrong || floor.checksum_of_step(s) != sums[s];
    for (unsigned threads : {1u, 2u}) {
      hr::Loader other(dataset, w.pipeline, options_for(w, threads, false));
      std::size_t s = 0;
      for (hr::Batch& batch : other.epoch(0))
        wrong = wrong || (checksum(batch["image"].raw(), batch["image"].bytes()) ^
                          checksum(batch["label"].raw(), batch["label"].bytes())) != sums[s++];
    }
  }
  std::printf("checksums of loop and loader %s\n", wrong ? "DIFFER" : "agree");
  if (wrong) return EXIT_FAILURE;

  std::printf(
      "cached crops of %lld^3, image f32 + label u8, %d volumes, batches of %u x %u; median [range] of %d rounds\n",
      static_cast<long long>(w.patch), volumes, w.batch, w.per_item, rounds);
  print_machine();
  for (unsigned threads : {1u, 2u}) {
    Floor floor(w, threads);
    hr::Loader reference(dataset, w.pipeline, options_for(w, 0, true));
    hr::Loader workers(dataset, w.pipeline, options_for(w, threads, false));
    std::uint32_t e0 = 0, e1 = 0;
    std::vector<Candidate> candidates{
        {"plain loop, " + std::to_string(threads) + " threads", [&] { return floor.crops_per_second(epochs); }}};
    if (threads == 1)
      candidates.push_back({"loader, threads = 0 (everything in the consumer)",
                            [&] { return loader_crops_per_second(reference, epochs, e0); }});
    candidates.push_back({"loader, " + std::to_string(threads) + " workers, consumer idle",
                          [&] { return loader_crops_per_second(workers, epochs, e1); }});
    interleave(candidates, rounds);
    std::printf("%u computing threads\n", threads);
    print(candidates, "crops/s");
  }
}
