// The loader's half of verify(): whole epochs under a matrix of settings. Hidden state is in hidden_state.cpp.
#include <algorithm>
#include <headrace/loader/digest.hpp>
#include <headrace/loader/verify.hpp>
#include <headrace/transform/random_delay.hpp>

#include "hidden_state.hpp"

namespace headrace {
namespace {

// What one delivered sample was: enough to name the first field that differs.
struct Seen {
  Origin origin;
  std::vector<std::pair<std::string, Digest>> fields;
  std::string failure;  // of an item that could not be made
};

struct Setting {
  unsigned threads, window;
  std::uint32_t span;
  std::chrono::microseconds delay;
  std::string str() const {
    return "threads " + std::to_string(threads) + ", window " + std::to_string(window) +
           (span == 0 ? "" : ", completion order within " + std::to_string(span)) + ", delay " +
           std::to_string(delay.count()) + " us";
  }
};

std::vector<Seen> run(const Dataset& dataset, const Pipeline& pipeline, const VerifyOptions& options,
                      const Setting& setting) {
  LoaderOptions loader_options = options.loader;
  loader_options.threads = setting.threads;
  loader_options.window = setting.window;
  loader_options.order = Completion{setting.span};
  loader_options.epochs = options.epochs;
  // Two deterministic ops more change no random number.
  Loader loader(dataset, compose(RandomDelay{setting.delay}, pipeline, RandomDelay{setting.delay}), loader_options);
  std::vector<Seen> seen;
  for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    Loader::Epoch range = loader.epoch(epoch);
    for (std::uint64_t step = 0; step < loader.steps_per_epoch(); ++step) {
      if (options.checkpoint) options.checkpoint();
      try {
        const std::optional<Batch> batch = loader.next();
        if (!batch)
          throw std::logic_error("epoch " + std::to_string(epoch) + " ended before step " + std::to_string(step));
        for (std::size_t i = 0; i < batch->size(); ++i) {
          const Sample sample = batch->sample(i);
          Seen& s = seen.emplace_back(Seen{.origin = sample.origin(), .fields = {}, .failure = {}});
          for (const Field& f : sample.fields()) s.fields.emplace_back(f.name.str(), digest_of(f));
        }
      } catch (const ItemError& e) {
        const ItemFailure& f = e.failure();
        Sample text;
        text.set("error", std::string(f.op_name + ": " + f.cause));
        seen.push_back({.origin = {.epoch = f.epoch, .position = f.position, .index = f.index, .patch = f.patch},
                        .fields = {{"(error)", digest_of(text.field("error"))}},
                        .failure = e.what()});
      }
    }
  }
  if (setting.span != 0) {
    // As in sequence; a step that failed is one entry, so steps are what is sorted.
    const auto step = [&](const Seen& s) {
      return std::pair(s.origin.epoch, s.origin.position / loader_options.batch_size);
    };
    std::stable_sort(seen.begin(), seen.end(), [&](const Seen& a, const Seen& b) { return step(a) < step(b); });
  }
  return seen;
}

std::optional<VerifyDifference> compare(const std::vector<Seen>& a, const std::vector<Seen>& b,
                                        const std::string& how) {
  const auto same_origin = [](const Origin& x, const Origin& y) {
    return x.epoch == y.epoch && x.position == y.position && x.index == y.index && x.patch == y.patch;
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const Origin& o = i < a.size() ? a[i].origin : b[i].origin;
    VerifyDifference d{.how = how, .epoch = o.epoch, .position = o.position, .index = o.index, .patch = o.patch};
    if (i >= a.size() || i >= b.size() || !same_origin(a[i].origin, b[i].origin) ||
        a[i].fields.size() != b[i].fields.size())
      return d;
    for (std::size_t f = 0; f < a[i].fields.size(); ++f) {
      if (a[i].fields[f] == b[i].fields[f]) continue;
      d.field = a[i].fields[f].first;
      return d;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string VerifyReport::message() const {
  if (!first_difference)
    return "equal: " + std::to_string(samples) + " samples compared in " + std::to_string(runs) +
           " runs of the loader" +
           (failures == 0 ? ""
                          : "; " + std::to_string(failures) +
                                " steps failed, each in the same way every time; "
                                "the first: " +
                                first_failure);
  const VerifyDifference& d = *first_difference;
  return "not equal (" + d.how + "): epoch " + std::to_string(d.epoch) + ", item " + std::to_string(d.position) +
         " (dataset index " + std::to_string(d.index) + "), patch " + std::to_string(d.patch) +
         (d.op.empty() ? "" : ", after op " + d.op) + (d.field.empty() ? "" : ", field '" + d.field + "'");
}

VerifyReport verify(const Dataset& dataset, const Pipeline& pipeline, const VerifyOptions& options) {
  VerifyReport report;
  report.first_difference = detail::find_hidden_state(dataset, pipeline, options, report.samples);
  std::vector<Seen> reference;
  std::string reference_name;
  for (const unsigned threads : options.threads)
    for (const unsigned window : options.windows)
      for (const std::uint32_t span : options.spans)
        for (const std::chrono::microseconds delay : options.delays) {
          if (report.first_difference) break;
          // Where nothing can overtake, completion order is no other run.
          if (span != 0 && (threads == 0 || window == 1) && options.spans.size() > 1) continue;
          const Setting setting{threads, window, span, delay};
          std::vector<Seen> seen = run(dataset, pipeline, options, setting);
          ++report.runs;
          for (const Seen& s : seen) report.samples += s.failure.empty();
          if (report.runs == 1) {
            for (const Seen& s : seen)
              if (!s.failure.empty() && report.failures++ == 0) report.first_failure = s.failure;
            reference = std::move(seen);
            reference_name = setting.str();
          } else {
            report.first_difference = compare(reference, seen, setting.str() + " against " + reference_name);
          }
        }
  report.equal = !report.first_difference;
  return report;
}

}  // namespace headrace
