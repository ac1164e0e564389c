// A good neighbour: inside a host that uses oneTBB, signals, locales, its own streams and several loaders.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <cstring>
#include <fstream>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

extern char** environ;

namespace headrace::test {
namespace {

constexpr unsigned most_threads = 8;  // asked for in this file; the last test asks for more

Pipeline pipeline() {
  return compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = 6, .num_samples = 3}),
                 RandFlip({.prob = 0.5}));
}
Dataset items() {
  static const MemoryDataset* const data = new MemoryDataset(coded_samples(9));
  return *data;
}
LoaderOptions options(unsigned threads) { return {.batch_size = 2, .shuffle = true, .seed = 3, .threads = threads}; }
const std::vector<std::string>& reference() {
  static const auto* const d = new std::vector<std::string>(digests(items(), pipeline(), options(0), 2));
  return *d;
}

int threads_now() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "Threads:") {
      int n = 0;
      status >> n;
      return n;
    }
  return -1;
}

TEST(Host, TheHostsOwnParallelismStaysWhatItWas) {
  const Deadline deadline;
  const int width = oneapi::tbb::this_task_arena::max_concurrency();
  const int fresh = oneapi::tbb::task_arena().max_concurrency();
  {
    Loader loader(items(), pipeline(), options(2));
    EXPECT_EQ(digests(loader, 2), reference());
    EXPECT_EQ(oneapi::tbb::this_task_arena::max_concurrency(), width);
    // A control of the host's own is obeyed and put back.
    const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 3);
    EXPECT_EQ(oneapi::tbb::global_control::active_value(oneapi::tbb::global_control::max_allowed_parallelism), 3u);
  }
  EXPECT_EQ(oneapi::tbb::this_task_arena::max_concurrency(), width);
  oneapi::tbb::task_arena arena;
  arena.initialize();
  EXPECT_EQ(arena.max_concurrency(), fresh);
  std::atomic<int> sum{0};
  oneapi::tbb::parallel_for(0, 1000, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 499500);
}

TEST(Host, NeverMoreThreadsThanAskedFor) {
  const Deadline deadline;
  const int before = threads_now();
  int most = 0;
  for (const unsigned threads : {1u, 8u, 3u, 8u}) {
    Loader a(items(), pipeline(), options(threads)), b(items(), pipeline(), options(threads));
    for (std::uint32_t e = 0; e < 3; ++e) {
      (void)a.epoch(e);
      (void)b.epoch(e);
      while (a.next() && b.next()) most = std::max(most, threads_now());
    }
  }
  EXPECT_LE(most, before + static_cast<int>(most_threads));
}

TEST(Host, ALimitOfOneStillDelivers) {
  const Deadline deadline;
  const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  for (const bool help : {true, false}) {
    LoaderOptions o = options(4);
    o.help = help;
    EXPECT_EQ(digests(items(), pipeline(), o, 2), reference());
  }
}

TEST(Host, ALimitThatComesLaterStillDelivers) {
  const Deadline deadline;
  LoaderOptions o = options(4);
  Loader loader(items(), pipeline(), o);
  const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(digests(loader, 2), reference());
}

TEST(Host, InsideItsTasks) {
  const Deadline deadline;
  std::atomic<int> right{0};
  const auto work = [&] {
    Loader loader(items(), pipeline(), options(2));
    right += digests(loader, 2) == reference();
    for (Batch& b : loader.epoch(7))
      if (b.step() == 1) break;  // destroyed inside the task, with items in flight
  };
  (void)reference();
  oneapi::tbb::parallel_for(0, 8, [&](int) { work(); });
  EXPECT_EQ(right, 8);
  // The host's only worker, and a host whose arena has one place.
  for (const int width : {1, 2}) {
    oneapi::tbb::task_arena arena(width);
    arena.execute(work);
    std::atomic<bool> done = false;
    arena.enqueue([&] {
      work();
      done = true;
    });
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(right, 12);
  const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  oneapi::tbb::task_group group;
  for (int i = 0; i < 3; ++i) group.run(work);
  group.wait();
  EXPECT_EQ(right, 15);
}

// A loader in use inside another loader's op.
TEST(Host, InsideAnotherLoadersOp) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u}) {
    Sample one;
    one.set("n", std::int64_t{0});
    Loader outer(MemoryDataset(std::vector<Sample>(4, one)), compose([&](Sample& s) {
                   s.set("n",
                         static_cast<std::int64_t>(digests(items(), pipeline(), options(threads), 2) == reference()));
                 }),
                 {.threads = threads, .epochs = 1});
    (void)reference();
    int right = 0;
    for (Batch& b : outer.epoch(0)) right += static_cast<int>(b.sample(0).integer("n"));
    EXPECT_EQ(right, 4);
  }
}

TEST(Host, SeveralLoadersAtOnceOnSeveralThreads) {
  const Deadline deadline;
  (void)reference();
  for (int round = 0; round < scaled(10); ++round) {
    std::vector<std::thread> trainers;
    std::atomic<int> right{0};
    for (unsigned t = 0; t < 4; ++t)
      trainers.emplace_back([&, t] {
        LoaderOptions o = options(t + 1);
        o.help = t % 2 == 0;
        right += digests(items(), pipeline(), o, 2) == reference();
      });
    for (std::thread& t : trainers) t.join();
    EXPECT_EQ(right, 4);
  }
}

// The standard error stream of the process goes to a file as long as this lives.
class CaughtStderr {
 public:
  CaughtStderr() : saved_(::dup(2)), file_(std::tmpfile()) { ::dup2(::fileno(file_), 2); }
  ~CaughtStderr() { put_back(); }
  std::string text() {
    put_back();
    std::rewind(file_);
    std::string all(4096, '\0');
    all.resize(std::fread(all.data(), 1, all.size(), file_));
    std::fclose(file_);
    return all;
  }

 private:
  void put_back() {
    if (saved_ < 0) return;
    ::dup2(saved_, 2);
    ::close(saved_);
    saved_ = -1;
  }
  int saved_;
  std::FILE* file_;
};

struct Surroundings {
  std::vector<struct sigaction> signals{64};
  sigset_t mask{};
  std::vector<std::string> environment;
  std::string locale = std::setlocale(LC_ALL, nullptr);

  Surroundings() {
    for (int s = 1; s < 64; ++s) ::sigaction(s, nullptr, &signals[static_cast<std::size_t>(s)]);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (char** e = environ; *e; ++e) environment.push_back(*e);
  }
  void expect_unchanged() const {
    const Surroundings now;
    for (std::size_t s = 1; s < 64; ++s) {
      EXPECT_EQ(now.signals[s].sa_handler, signals[s].sa_handler) << "signal " << s;
      EXPECT_EQ(now.signals[s].sa_flags, signals[s].sa_flags) << "signal " << s;
    }
    for (int s = 1; s < 64; ++s) EXPECT_EQ(::sigismember(&now.mask, s), ::sigismember(&mask, s)) << "signal " << s;
    EXPECT_EQ(now.environment, environment);
    EXPECT_EQ(now.locale, locale);
  }
};

std::atomic<int> interrupts{0};
void on_signal(int) { ++interrupts; }

TEST(Host, SignalsEnvironmentLocaleAndStderrAreLeftAlone) {
  const Deadline deadline;
  struct sigaction mine = {}, before = {};
  mine.sa_handler = &on_signal;
  ASSERT_EQ(::sigaction(SIGINT, &mine, &before), 0);
  const Surroundings surroundings;
  std::string said;
  {
    CaughtStderr caught;
    {
      Loader loader(items(), pipeline(), options(most_threads));
      EXPECT_EQ(digests(loader, 2), reference());
      const oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism, 2);
      Loader limited(items(), pipeline(), options(most_threads));
      EXPECT_EQ(digests(limited, 2), reference());
      Loader failing(items(), compose([](Sample&) { throw std::runtime_error("no"); }, pipeline()), options(2));
      EXPECT_THROW((void)failing.next(), ItemError);
    }
    said = caught.text();
  }
  EXPECT_EQ(said, "");
  surroundings.expect_unchanged();
  ::sigaction(SIGINT, &before, nullptr);
}

// Interrupted all the time, as by a profiler's timer or by Ctrl-C with a handler of the host's own.
TEST(Host, SignalsDoNotDisturbAWaitingConsumer) {
  const Deadline deadline;
  struct sigaction mine = {}, before = {};
  mine.sa_handler = &on_signal;  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGALRM, &mine, &before), 0);
  interrupts = 0;
  const itimerval often{{0, 500}, {0, 500}}, off{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const Pipeline slow = compose([](Sample&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, pipeline());
  for (const bool help : {false, true}) {
    LoaderOptions o = options(2);
    o.help = help;
    Loader loader(items(), slow, o);
    EXPECT_EQ(digests(loader, 2), reference());
    for (std::uint64_t step = 0; step < 3;)
      step += loader.next_for(std::chrono::milliseconds(1)).status != NextStatus::pending;
  }
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_GT(interrupts, 0);
}

TEST(Host, ADecimalCommaChangesNothing) {
  const Deadline deadline;
  const std::string text = pipeline().describe();
  const std::string before = std::setlocale(LC_ALL, nullptr);
  bool found = false;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8"})
    if (std::setlocale(LC_ALL, name)) {
      found = true;
      break;
    }
  if (!found) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const auto d = digests(items(), pipeline(), options(2), 2);
  const std::string again = pipeline().describe();
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(d, reference());
  EXPECT_EQ(again, text);
}

// Last: asks for more threads than the limit counts.
TEST(Host, ThreeHundredThreadsSayNothingOnStderr) {
  const Deadline deadline;
  CaughtStderr caught;
  std::vector<std::string> d;
  unsigned effective = 0;
  {
    Loader loader(items(), pipeline(), options(300));
    d = digests(loader, 2);
    effective = loader.stats().threads;
  }
  EXPECT_EQ(caught.text(), "");
  EXPECT_EQ(d, reference());
  EXPECT_GE(effective, 1u);
  EXPECT_LE(effective, 255u);
}

}  // namespace
}  // namespace headrace::test
