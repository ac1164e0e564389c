// `headrace run`: the main job on a dataset folder, epoch by epoch, with digests and throughput.
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "contact_sheet.hpp"
#include "job.hpp"
#include "progress.hpp"
#include "verbs.hpp"

namespace headrace::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::size_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

struct Run {
  JobOptions job;
  std::string threads = std::to_string(default_threads());
  std::string window = "0";
  std::uint32_t epochs = 3;
  unsigned delay_us = 0;
  std::string order = "sequence";
  bool no_help = false;
  bool help_ahead = false;
  bool no_digest = false;
  std::string contact_sheet;
};

struct EpochResult {
  std::uint32_t epoch = 0;
  DigestChain digest{};
  std::uint64_t patches = 0;
  double seconds = 0;
};

void write_sheet(const std::string& path, const Batch& batch) {
  std::vector<SheetEntry> entries;
  for (std::size_t i = 0; i < std::min<std::size_t>(batch.size(), 8); ++i) {
    const Sample s = batch.sample(i);
    const Origin& o = s.origin();
    entries.push_back({.image = s.get("image"),
                       .label = s.get("label"),
                       .caption = "item " + std::to_string(o.index) + " patch " + std::to_string(o.patch)});
  }
  write_contact_sheet(path, entries);
}

Order parse_order(const std::string& text) {
  constexpr std::string_view completion = "completion:";
  if (text == "sequence") return Sequence{};
  std::uint32_t span = 0;
  const char* const begin = text.data() + std::min(text.size(), completion.size());
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, span);
  if (!text.starts_with(completion) || error != std::errc() || stop != end || span > 256)
    throw std::invalid_argument("--order '" + text +
                                "': expected sequence, or completion:N with N a whole number from 0 to 256");
  return Completion{span};
}

// One pass over an epoch; `take` gets each batch.
template <class Take>
void pass(Loader& loader, std::uint32_t epoch, const std::string& what, Progress& progress, Take&& take) {
  std::uint64_t taken = 0;
  for (Batch& batch : loader.epoch(epoch)) {
    take(batch);
    progress.show(what + std::to_string(epoch), ++taken, loader.steps_per_epoch());
    if (interrupted()) throw Interrupted();
  }
}

int run(const Run& o, bool json) {
  const unsigned threads = parse_counts(o.threads, "--threads").front(),
                 window = parse_counts(o.window, "--window").front();
  const Order order = parse_order(o.order);
  const Job job = make_job(o.job);
  Progress progress(!json);

  Dataset dataset = job.files;
  Pipeline pipeline = compose(job.deterministic, job.random);
  double fill_seconds = 0;
  if (!o.job.no_cache) {
    const CacheDataset cache(job.files, job.deterministic);
    const Clock::time_point start = Clock::now();
    const std::vector<FillError> errors =
        cache.fill(std::max(1u, threads), [&](std::uint64_t done, std::uint64_t size) {
          progress.show("preparing", done, size);
          if (interrupted()) throw Interrupted();
        });
    fill_seconds = seconds_since(start);
    if (!errors.empty())
      throw std::runtime_error(
          "item " + std::to_string(errors.front().index) + ": " + errors.front().message +
          (errors.size() > 1 ? " (and " + std::to_string(errors.size() - 1) + " more items failed)" : ""));
    dataset = cache;
    pipeline = job.random;
  }
  if (o.delay_us > 0)
    pipeline = compose(RandomDelay{std::chrono::microseconds(o.delay_us)}, pipeline,
                       RandomDelay{std::chrono::microseconds(o.delay_us)});

  Loader loader(dataset, pipeline,
                {.batch_size = o.job.batch_size,
                 .shuffle = !o.job.no_shuffle,
                 .seed = o.job.seed,
                 .threads = threads,
                 .window = window,
                 .help = !o.no_help,
                 .help_ahead = o.help_ahead,
                 .order = order,
                 .epochs = o.epochs});
  // Digests are taken in a pass of their own: workers go on while a digest is computed, so a pass that does both would
  // show a throughput that nobody gets.
  std::vector<EpochResult> results;
  for (std::uint32_t epoch = 0; epoch < o.epochs; ++epoch) {
    EpochResult& r = results.emplace_back(EpochResult{.epoch = epoch});
    const Clock::time_point start = Clock::now();
    pass(loader, epoch, "epoch ", progress, [&](const Batch& batch) { r.patches += batch.size(); });
    r.seconds = seconds_since(start);
  }
  const bool sheet = !o.contact_sheet.empty();
  for (std::uint32_t epoch = 0; epoch < (o.no_digest ? (sheet ? 1 : 0) : o.epochs); ++epoch)
    pass(loader, epoch, "digest of epoch ", progress, [&](const Batch& batch) {
      if (!o.no_digest) results[epoch].digest.add(batch);
      if (sheet && epoch == 0 && batch.step() == 0) write_sheet(o.contact_sheet, batch);
    });
  progress.clear();

  const LoaderStats stats = loader.stats();
  const std::uint64_t made = std::max<std::uint64_t>(stats.patches, 1);
  if (json) {
    nlohmann::json j;
    j["epochs"] = nlohmann::json::array();
    for (const EpochResult& r : results) {
      nlohmann::json e{{"epoch", r.epoch},
                       {"patches", r.patches},
                       {"seconds", r.seconds},
                       {"patches_per_second", static_cast<double>(r.patches) / r.seconds}};
      e["digest"] = o.no_digest ? nlohmann::json() : nlohmann::json(r.digest.ordered().hex());
      e["set_digest"] = o.no_digest ? nlohmann::json() : nlohmann::json(r.digest.set().hex());
      j["epochs"].push_back(std::move(e));
    }
    j["threads"] = stats.threads;
    j["window"] = stats.window;
    j["prepare_seconds"] = fill_seconds;
    j["peak_rss_bytes"] = peak_rss_bytes();
    j["bytes_copied_per_patch"] = stats.bytes_to_slots / made;
    j["scratch_bytes_per_patch"] = stats.bytes_to_scratch / made;
    j["patches_stolen"] = stats.engine.parts_stolen;
    std::printf("%s\n", j.dump(2).c_str());
    return 0;
  }
  std::printf("%llu volumes prepared in %.2f s; batches of %u volumes x %u patches; %u threads, %u steps in flight\n",
              static_cast<unsigned long long>(dataset.size()), fill_seconds, o.job.batch_size, loader.parts(),
              stats.threads, stats.window);
  std::printf("epoch  patches  seconds  patches/s  digest\n");
  for (const EpochResult& r : results)
    std::printf("%5u  %7llu  %7.3f  %9.1f  %s\n", r.epoch, static_cast<unsigned long long>(r.patches), r.seconds,
                static_cast<double>(r.patches) / r.seconds, o.no_digest ? "-" : r.digest.ordered().hex().c_str());
  std::printf(
      "%.2f MB written per patch, %.2f MB scratch; %llu patches run by another thread than their item's; peak memory "
      "%.0f MB\n",
      static_cast<double>(stats.bytes_to_slots / made) / 1e6, static_cast<double>(stats.bytes_to_scratch / made) / 1e6,
      static_cast<unsigned long long>(stats.engine.parts_stolen), static_cast<double>(peak_rss_bytes()) / 1e6);
  if (!o.contact_sheet.empty()) std::printf("contact sheet: %s\n", o.contact_sheet.c_str());
  return 0;
}

}  // namespace

Verb add_run(CLI::App& app) {
  auto o = std::make_shared<Run>();
  CLI::App* verb = app.add_subcommand("run", "Prepare a dataset, then load, augment and batch it for some epochs");
  o->job.add_to(*verb);
  add_count(*verb, "--epochs", o->epochs, 1, 1u << 20, "Epochs to run");
  verb->add_option("--threads", o->threads, "Worker threads; 0 does everything in the consumer")->capture_default_str();
  verb->add_option("--window", o->window, "Steps in flight; 0 chooses")->capture_default_str();
  verb->add_option("--order", o->order,
                   "sequence, or completion:N: the first batch that is done among the oldest and the N after it "
                   "(N up to 256); the same batches, so the same set_digest")
      ->capture_default_str();
  add_count(*verb, "--delay-us", o->delay_us, 0, 10'000'000,
            "Hold each item and patch up for a random time of at most this many microseconds");
  verb->add_flag("--no-help", o->no_help, "The waiting consumer does not work itself");
  verb->add_flag("--help-ahead", o->help_ahead, "The waiting consumer works on later batches, too");
  verb->add_flag("--no-digest", o->no_digest, "Do not compute digests (they take a second pass over the epochs)");
  verb->add_option("--contact-sheet", o->contact_sheet, "Write a PNG of the first batch");
  return {verb, [o](bool json) { return run(*o, json); }};
}

}  // namespace headrace::tool
