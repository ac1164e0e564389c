// A failing item reaches the consumer in its place, named; what comes before and after it arrives.
#include <gtest/gtest.h>

#include <headrace/io/error.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <new>
#include <set>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

enum class Fault {
  none,
  read,
  file,
  item_op,
  random_op,
  out_of_memory,
  not_an_exception,
  wrong_shape,
  wrong_kind,
  extra_field,
  missing_field
};
constexpr Fault all_faults[] = {Fault::read,         Fault::file,          Fault::item_op,
                                Fault::random_op,    Fault::out_of_memory, Fault::not_an_exception,
                                Fault::wrong_shape,  Fault::wrong_kind,    Fault::extra_field,
                                Fault::missing_field};

// Items that know their number; some cannot be read.
struct Items {
  std::vector<Sample> samples = coded_samples(7);
  Fault fault = Fault::none;
  std::set<std::uint64_t> failing{};
  bool path_fails = false;

  std::uint64_t size() const { return samples.size(); }
  SampleSpec spec() const {
    SampleSpec spec = samples[0].spec();
    for (FieldSpec& f : spec.fields)
      for (int d = 1; d < 4; ++d) f.shape[d] = unknown;
    spec.set({.name = "id", .kind = FieldKind::integer});
    return spec;
  }
  Sample operator()(std::uint64_t i) const {
    if (failing.contains(i) && fault == Fault::read) throw std::runtime_error("the disk said no");
    if (failing.contains(i) && fault == Fault::file) throw IoError("/data/bad.nii", "the file ends early");
    Sample s = samples[i];
    s.set("id", static_cast<std::int64_t>(i));
    return s;
  }
  std::string path_of(std::uint64_t i) const {
    if (path_fails) throw std::runtime_error("no path either");
    return "/data/" + std::to_string(i) + ".nii";
  }
};

struct ItemOp {
  static constexpr const char* name = "ItemOp";
  Fault fault;
  std::set<std::uint64_t> failing;
  void apply(Sample& s) const {
    if (fault == Fault::item_op && failing.contains(static_cast<std::uint64_t>(s.integer("id"))))
      throw std::domain_error("no such organ");
  }
};
struct PatchOp {
  static constexpr const char* name = "PatchOp";
  Fault fault;
  std::set<std::uint64_t> failing;
  std::uint32_t from_patch = 1;  // the first patch that fails
  void operator()(Sample& s, Rng&) const {
    if (!failing.contains(static_cast<std::uint64_t>(s.integer("id"))) || s.origin().patch < from_patch) return;
    if (fault == Fault::random_op) throw std::range_error("bad luck");
    if (fault == Fault::out_of_memory) throw std::bad_alloc();
    if (fault == Fault::not_an_exception) throw 42;
    if (fault == Fault::wrong_shape) s.set("image", s.get("image").narrow(1, 0, 3));
    if (fault == Fault::wrong_kind) s.set("image", 1.5);
    if (fault == Fault::extra_field) s.set("surprise", 1.5);
    if (fault == Fault::missing_field) s.erase("label");
  }
};

Pipeline pipeline(Fault fault, const std::set<std::uint64_t>& failing) {
  return compose(
      ItemOp{fault, failing},
      RandCropByPosNegLabel({.keys = {"image", "label"}, .label_key = "label", .spatial_size = 5, .num_samples = 3}),
      PatchOp{fault, failing});
}

std::string_view expected_cause(Fault fault) {
  switch (fault) {
    case Fault::read:
      return "the disk said no";
    case Fault::file:
      return "the file ends early";
    case Fault::item_op:
      return "no such organ";
    case Fault::random_op:
      return "bad luck";
    case Fault::out_of_memory:
      return "bad_alloc";
    case Fault::not_an_exception:
      return "not a std::exception";
    case Fault::wrong_shape:
      return "[1, 3, 5, 5]";
    case Fault::wrong_kind:
      return "number";
    case Fault::extra_field:
      return "surprise";
    case Fault::missing_field:
      return "label";
    case Fault::none:
      break;
  }
  return "?";
}

void check(const ItemError& e, Fault fault, std::uint64_t epoch, std::uint64_t item) {
  const ItemFailure& f = e.failure();
  const std::string what = e.what();
  EXPECT_EQ(f.epoch, epoch);
  EXPECT_EQ(f.position, item);
  EXPECT_EQ(f.index, item);
  EXPECT_NE(f.cause.find(expected_cause(fault)), std::string::npos) << f.cause;
  EXPECT_NE(what.find(f.cause), std::string::npos) << what;
  EXPECT_NE(what.find("item " + std::to_string(item)), std::string::npos) << what;
  EXPECT_EQ(f.path, fault == Fault::file ? "/data/bad.nii" : "/data/" + std::to_string(item) + ".nii");
  EXPECT_NE(what.find(f.path), std::string::npos) << what;
  switch (fault) {
    case Fault::read:
    case Fault::file:
      EXPECT_EQ(f.stage, Stage::read);
      EXPECT_EQ(f.patch, item_patch);
      break;
    case Fault::item_op:
      EXPECT_EQ(f.stage, Stage::transform);
      EXPECT_EQ(f.op, 0u);
      EXPECT_EQ(f.op_name, "ItemOp");
      EXPECT_EQ(f.patch, item_patch);
      break;
    case Fault::random_op:
    case Fault::out_of_memory:
    case Fault::not_an_exception:
      EXPECT_EQ(f.stage, Stage::transform);
      EXPECT_EQ(f.op, 2u);
      EXPECT_EQ(f.op_name, "PatchOp");
      EXPECT_EQ(f.patch, 1u);
      EXPECT_NE(what.find("op 2 (PatchOp)"), std::string::npos) << what;
      break;
    default:
      EXPECT_EQ(f.stage, Stage::write);
      EXPECT_EQ(f.patch, 1u);
  }
}

TEST(Errors, AnyFaultAtAnyItemArrivesInOrderAndTheRestToo) {
  const Deadline deadline;
  for (const Fault fault : all_faults)
    for (const std::uint64_t item : {0u, 3u, 6u})
      for (const unsigned threads : {0u, 1u, 8u}) {
        SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + ", item " + std::to_string(item) +
                     ", threads " + std::to_string(threads));
        Loader loader(Items{.fault = fault, .failing = {item}}, pipeline(fault, {item}),
                      {.batch_size = 2, .threads = threads});
        for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
          const Loader::Epoch range = loader.epoch(epoch);
          for (std::uint64_t step = 0; step < 4; ++step) {
            try {
              const auto batch = loader.next();
              ASSERT_TRUE(batch);
              EXPECT_EQ(batch->step(), step);
              EXPECT_EQ(batch->epoch(), epoch);
              EXPECT_NE(step, item / 2) << "an error was expected";
              for (std::size_t i = 0; i < batch->size(); ++i) EXPECT_EQ(batch->origin(i).index, 2 * step + i / 3);
            } catch (const ItemError& e) {
              EXPECT_EQ(step, item / 2) << e.what();
              check(e, fault, epoch, item);
            }
          }
          EXPECT_FALSE(loader.next());
          EXPECT_FALSE(loader.next());
        }
      }
}

TEST(Errors, TheLowestItemAndPatchIsReportedNotTheFirstInTime) {
  const Deadline deadline;
  struct Slow {
    void operator()(Sample& s, Rng&) const {
      const auto rank = static_cast<std::int64_t>(s.origin().position) * 4 + s.origin().patch;
      if (rank < 6) return;  // item 1, patch 2 is the lowest that fails, and the slowest
      std::this_thread::sleep_for(std::chrono::milliseconds(20 - 2 * (rank - 6)));
      throw std::runtime_error("rank " + std::to_string(rank));
    }
  };
  for (const unsigned threads : {0u, 2u, 8u}) {
    Loader loader(Items{},
                  compose(RandCropByPosNegLabel(
                              {.keys = {"image", "label"}, .label_key = "label", .spatial_size = 5, .num_samples = 4}),
                          Slow{}),
                  {.batch_size = 3, .threads = threads});
    try {
      (void)loader.next();
      ADD_FAILURE() << "no error";
    } catch (const ItemError& e) {
      EXPECT_EQ(e.failure().position, 1u);
      EXPECT_EQ(e.failure().patch, 2u);
      EXPECT_EQ(e.failure().cause, "rank 6");
    }
  }
}

TEST(Errors, APathThatCannotBeHadEndsNothing) {
  const Deadline deadline;
  for (const Fault fault : {Fault::read, Fault::random_op}) {
    Loader loader(Items{.fault = fault, .failing = {0}, .path_fails = true}, pipeline(fault, {0}),
                  {.batch_size = 2, .threads = 2});
    EXPECT_THROW((void)loader.next(), ItemError);
    EXPECT_TRUE(loader.next());
  }
}

TEST(Errors, AnErrorLeavesALoopAndTheNextEpochIsWhole) {
  const Deadline deadline;
  Loader loader(Items{.fault = Fault::read, .failing = {3}}, pipeline(Fault::read, {3}),
                {.batch_size = 1, .threads = 2});
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t seen = 0;
    EXPECT_THROW(
        for (Batch& batch
             : loader.epoch(epoch)) {
          EXPECT_EQ(batch.step(), seen);
          ++seen;
        },
        ItemError);
    EXPECT_EQ(seen, 3u);
    EXPECT_FALSE(loader.next()) << "the epoch was left";
  }
  // By hand one goes on behind it.
  Loader::Epoch range = loader.epoch(7);
  std::uint64_t batches = 0, errors = 0;
  while (batches + errors < 7) {
    try {
      if (loader.next()) ++batches;
    } catch (const ItemError&) {
      ++errors;
    }
  }
  EXPECT_EQ(batches, 6u);
  EXPECT_EQ(errors, 1u);
}

TEST(Errors, AllItemsMayFail) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 8u}) {
    const std::set<std::uint64_t> all{0, 1, 2, 3, 4, 5, 6};
    Loader loader(Items{.fault = Fault::read, .failing = all}, pipeline(Fault::read, all),
                  {.batch_size = 2, .threads = threads});
    for (int step = 0; step < 4; ++step) EXPECT_THROW((void)loader.next(), ItemError);
    EXPECT_FALSE(loader.next());
  }
}

TEST(Errors, ASamplersFaultsAreItemsErrors) {
  const Deadline deadline;
  const auto order = [](std::uint32_t) -> EpochOrder {
    return [](std::uint64_t position) -> SampledItem {
      if (position == 1) return {7, 7};  // there are 0 to 6
      if (position == 2) throw std::runtime_error("no idea");
      return {position, position};
    };
  };
  Loader loader(Items{}, pipeline(Fault::none, {}), {.threads = 2, .sampler = Sampler(4, order, "odd")});
  EXPECT_TRUE(loader.next());
  EXPECT_THROW((void)loader.next(), ItemError);
  EXPECT_THROW((void)loader.next(), ItemError);
  EXPECT_TRUE(loader.next());
  EXPECT_FALSE(loader.next());
  // A stream item beyond the address: an error, never a wrap.
  Loader far(
      Items{}, pipeline(Fault::none, {}),
      {.threads = 0,
       .sampler = Sampler(
           1, [](std::uint32_t) -> EpochOrder { return [](std::uint64_t) {
                                                  return SampledItem{0, 1ull << 44};
                                                }; },
           "far")});
  EXPECT_THROW((void)far.next(), ItemError);
}

// An op that keeps what it was given: found, and its handle stays valid after everything has gone.
TEST(Errors, AnOpThatKeepsATensorOfTheSlotIsFoundAndHarmsNobody) {
  const Deadline deadline;
  for (const unsigned threads : {0u, 2u}) {
    std::vector<Tensor> kept;
    {
      std::mutex mutex;
      Loader loader(Items{},
                    compose(pipeline(Fault::none, {}),
                            [&](Sample& s) {
                              const std::lock_guard lock(mutex);
                              s.tensor("image").fill_(3);
                              if (s.origin().index == 1) kept.push_back(s.get("image"));
                            }),
                    {.threads = threads, .window = 2, .epochs = 1});
      EXPECT_TRUE(loader.next());
      try {
        (void)loader.next();
        ADD_FAILURE() << "not found";
      } catch (const ItemError& e) {
        EXPECT_NE(e.failure().cause.find("kept a tensor of field 'image'"), std::string::npos) << e.what();
      }
      for (int step = 2; step < 7; ++step) EXPECT_TRUE(loader.next()) << "the others are not troubled";
    }
    ASSERT_EQ(kept.size(), 3u);
    for (Tensor& t : kept) EXPECT_EQ(t.add_(1).at({0, 4, 4, 4}), 4.0);
  }
}

}  // namespace
}  // namespace headrace::test
