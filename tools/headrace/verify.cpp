// `headrace verify`: headrace::verify() on a dataset folder and the job that `headrace run` runs.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "job.hpp"
#include "verbs.hpp"

namespace headrace::tool {
namespace {

struct Verify {
  JobOptions job;
  std::string threads = "0,1,2,8";
  std::string windows = "1,3";
  std::string delays = "0";
  std::uint32_t epochs = 2;
};

int verify_job(const Verify& o, bool json) {
  const Job job = make_job(o.job);
  VerifyOptions options{.loader = {.batch_size = o.job.batch_size, .shuffle = !o.job.no_shuffle, .seed = o.job.seed}};
  options.threads = parse_counts(o.threads, "--threads");
  options.windows = parse_counts(o.windows, "--windows");
  options.delays.clear();
  for (unsigned us : parse_counts(o.delays, "--delays")) options.delays.emplace_back(us);
  options.epochs = o.epochs;
  options.checkpoint = [] {
    if (interrupted()) throw Interrupted();
  };
  const VerifyReport report = o.job.no_cache
                                  ? headrace::verify(job.files, compose(job.deterministic, job.random), options)
                                  : headrace::verify(CacheDataset(job.files, job.deterministic), job.random, options);
  if (json) {
    nlohmann::json j{
        {"equal", report.equal}, {"runs", report.runs}, {"samples", report.samples}, {"failures", report.failures}};
    if (report.failures > 0) j["first_failure"] = report.first_failure;
    if (report.first_difference) {
      const VerifyDifference& d = *report.first_difference;
      j["first_difference"] = {{"how", d.how},     {"epoch", d.epoch}, {"item", d.position}, {"index", d.index},
                               {"patch", d.patch}, {"op", d.op},       {"field", d.field}};
    }
    std::printf("%s\n", j.dump(2).c_str());
  } else {
    std::printf("%s\n", report.message().c_str());
  }
  return report.equal && report.failures == 0 ? 0 : 1;
}

}  // namespace

Verb add_verify(CLI::App& app) {
  auto o = std::make_shared<Verify>();
  CLI::App* verb =
      app.add_subcommand("verify", "Check that every number of threads, window and delay gives the same bits");
  o->job.add_to(*verb);
  verb->add_option("--threads", o->threads, "Thread counts")->capture_default_str();
  verb->add_option("--windows", o->windows, "Steps in flight")->capture_default_str();
  verb->add_option("--delays", o->delays, "Random delays per item and patch, at most so many microseconds")
      ->capture_default_str();
  add_count(*verb, "--epochs", o->epochs, 1, 1000, "Epochs per run");
  return {verb, [o](bool json) { return verify_job(*o, json); }};
}

}  // namespace headrace::tool
