#include <atomic>
#include <headrace/transform/leased.hpp>
#include <headrace/transform/pipeline.hpp>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

// As bad as third-party augmenters get: a member generator, member scratch, neither copyable nor movable.
class Augmenter {
 public:
  explicit Augmenter(std::atomic<int>* made = nullptr) {
    if (made) made->fetch_add(1, std::memory_order_relaxed);  // relaxed: a count, read after join
  }
  Augmenter(const Augmenter&) = delete;
  Augmenter& operator=(const Augmenter&) = delete;

  void reseed(Rng& rng) { generator_.seed(rng()); }
  void operator()(Sample& sample) {
    Tensor& t = sample.tensor("image");
    scratch_.assign(static_cast<std::size_t>(t.numel()), 0);
    for (float& v : scratch_) v = static_cast<float>(generator_() >> 8);
    std::this_thread::yield();  // gives another thread the chance to spoil the members
    float* data = t.mutable_data<float>();
    for (std::size_t i = 0; i < scratch_.size(); ++i) data[i] += scratch_[i];
  }

 private:
  std::mt19937 generator_;
  std::vector<float> scratch_;
  std::mutex not_movable_;
};

void run_op(const Transform& op, Sample& sample, Rng& rng) { op->apply(sample, PlanBox(), rng); }

std::vector<Tensor> augmented(const Transform& op, int items, int threads) {
  std::vector<Tensor> results(static_cast<std::size_t>(items));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (;;) {
      const int i = next.fetch_add(1, std::memory_order_relaxed);  // relaxed: a ticket
      if (i >= items) return;
      Sample s;
      s.set("image", counting<float>({1, 500}));
      Rng rng = stream(static_cast<std::uint64_t>(i));
      run_op(op, s, rng);
      results[static_cast<std::size_t>(i)] = s.get("image");
    }
  };
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) team.emplace_back(work);
  for (std::thread& t : team) t.join();
  return results;
}

void expect_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(a[i].equal(b[i])) << "item " << i;
}

TEST(Leased, A_stateful_augmenter_gives_the_same_on_1_and_8_threads) {
  const auto make = [] { return Augmenter(); };
  const auto reference = augmented(leased(make), 200, 1);
  ASSERT_FALSE(reference[0].equal(reference[1]));
  for (int repeat = 0; repeat < 5; ++repeat) expect_equal(augmented(leased(make), 200, 8), reference);
  // more callers than places, and no places to speak of
  expect_equal(augmented(leased(make, {.places = 2}), 200, 8), reference);
  expect_equal(augmented(leased(make, {.fresh = true}), 200, 8), reference);
}

TEST(Leased, Instances_are_made_when_needed_and_kept) {
  std::atomic<int> made{0};
  const auto make = [&made] { return Augmenter(&made); };
  const Transform op = leased(make);
  EXPECT_EQ(made.load(), 0);
  (void)augmented(op, 50, 1);
  EXPECT_EQ(made.load(), 1);
  (void)augmented(op, 50, 4);
  EXPECT_LE(made.load(), 4);
  const Transform fresh = leased(make, {.fresh = true});
  made = 0;
  (void)augmented(fresh, 50, 4);
  EXPECT_EQ(made.load(), 50);
}

struct Failing {
  explicit Failing(std::atomic<int>& made) { made.fetch_add(1); }
  void reseed(Rng&) {}
  void operator()(Sample& s, Rng&) {
    if (s.has("bad")) throw std::runtime_error("cannot augment");
  }
};

TEST(Leased, An_exception_gives_the_instance_back) {
  std::atomic<int> made{0};
  const Transform op = leased([&made] { return Failing(made); }, {.places = 1});
  Sample bad, good;
  bad.set("bad", 1.0);
  for (int i = 0; i < 5; ++i) {
    Rng rng = stream(1);
    EXPECT_THROW(run_op(op, bad, rng), std::runtime_error);
    EXPECT_NO_THROW(run_op(op, good, rng));
  }
  EXPECT_EQ(made.load(), 1);
}

TEST(Leased, A_factory_that_throws_keeps_no_place) {
  std::atomic<int> calls{0}, made{0};
  const Transform op = leased(
      [&] {
        if (calls.fetch_add(1) < 3) throw std::runtime_error("no licence");
        return Failing(made);
      },
      {.places = 1});
  Sample s;
  Rng rng = stream(1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(run_op(op, s, rng), std::runtime_error);
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(run_op(op, s, rng));
  EXPECT_EQ(calls.load(), 4);  // the place was free again, and its instance was kept
}

// Calls its own op once more: the place it holds is taken, so the inner call must not wait for it.
struct Nested {
  const Transform* op;
  std::atomic<int>* made;
  Nested(const Transform* o, std::atomic<int>* m) : op(o), made(m) { made->fetch_add(1); }
  void reseed(Rng&) {}
  void operator()(Sample& s, Rng& rng) {
    const auto depth = s.integer("depth");
    if (depth == 0) return;
    s.set("depth", depth - 1);
    run_op(*op, s, rng);
  }
};

TEST(Leased, More_callers_than_places_get_temporary_instances_and_do_not_wait) {
  std::atomic<int> made{0};
  std::optional<Transform> op;
  const Transform* self = nullptr;
  op.emplace(leased([&] { return Nested(self, &made); }, {.places = 2}));
  self = &*op;
  Sample s;
  s.set("depth", std::int64_t{4});
  Rng rng = stream(1);
  run_op(*op, s, rng);
  EXPECT_EQ(s.integer("depth"), 0);
  EXPECT_EQ(made.load(), 5);
  s.set("depth", std::int64_t{4});
  run_op(*op, s, rng);
  EXPECT_EQ(made.load(), 8);  // two are kept
}

// A reseed that forgets its call counter: the contract is broken, and only fresh instances hide it.
struct Forgetful {
  int calls = 0;
  void reseed(Rng&) {}
  void operator()(Sample& s) { s.set("calls", std::int64_t{++calls}); }
};

TEST(Leased, Fresh_instances_serve_an_augmenter_that_cannot_be_reset) {
  const Transform kept = leased([] { return Forgetful(); }),
                  fresh = leased([] { return Forgetful(); }, {.fresh = true});
  Sample a, b;
  for (int i = 0; i < 3; ++i) {
    Rng rng = stream(1);
    run_op(kept, a, rng);
    run_op(fresh, b, rng);
  }
  EXPECT_EQ(a.integer("calls"), 3);
  EXPECT_EQ(b.integer("calls"), 1);
}

TEST(Leased, Names_protect_the_fingerprint) {
  const auto make = [] { return Forgetful(); };
  EXPECT_TRUE(leased(make)->random());
  EXPECT_FALSE(leased(make)->fingerprinted());
  EXPECT_TRUE(says(leased(make)->name(), {"leased", "Forgetful"}));
  const Transform named = leased(make, {.name = "theirs", .version = 3, .op = 8});
  EXPECT_TRUE(named->fingerprinted());
  EXPECT_EQ(named->name(), "theirs");
  EXPECT_EQ(named->describe(), "version 3");
  EXPECT_EQ(named->op_number(), 8);
  EXPECT_TRUE(says(message_of([&] { (void)leased(make, {.places = 0}); }), {"leased", "places", "0"}));
  EXPECT_TRUE(says(message_of([&] { (void)leased(make, {.places = 5000}); }), {"places", "5000"}));
}

}  // namespace
}  // namespace headrace
