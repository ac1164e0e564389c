// leased(factory): runs something stateful and not thread-safe (a third-party augmenter with its own generator and
// scratch memory) on many threads, without a lock and without a copy per item.
//
//   auto augment = leased([] { return TheirAugmenter(); }, {.name = "theirs", .version = 2});
//
// Each call leases an instance from a pool, calls its reseed(rng), runs it as (Sample&, Rng&) or (Sample&), and gives
// it back, also when it throws. Instances are made by the factory when first needed. The contract: reseed() makes an
// instance as good as a new one, so that the result does not depend on who ran before; headrace::verify finds one that
// keeps a counter or a running mean. Where reseed() cannot do that, {.fresh = true} builds an instance for every call.
//
// When not to use it: for an op whose state is only a result handed from one function to the next: return it as a plan.
//
// The instance need be neither copyable nor movable: the factory's result is constructed in place. The factory is const
// and may be called from several threads at once.
// Errors: std::invalid_argument at construction; whatever factory, reseed and call throw passes through.
// Progress: leasing and giving back are lock-free and never wait: with more callers at once than places, a caller works
// on a temporary instance. What the instance does is its own promise.
#pragma once

#include <cstdint>
#include <headrace/lockfree/slab_pool.hpp>
#include <headrace/transform/transform.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace headrace {

struct LeaseOptions {
  std::string name{};  // with a name, name and version enter the fingerprint in place of the code
  int version = 1;
  bool fresh = false;                 // a new instance for every call
  std::uint32_t places = 128;         // instances kept, 1 to 4096: as many as threads run the pipeline at once
  std::optional<std::uint16_t> op{};  // pins the number in the random address
};

namespace detail {

template <class Factory, bool Named>
class Leased {
 public:
  using Instance = std::remove_cvref_t<std::invoke_result_t<const Factory&>>;
  static constexpr bool takes_rng = std::is_invocable_v<Instance&, Sample&, Rng&>;
  static_assert(
      requires(Instance & i, Rng& rng) { i.reseed(rng); },
      "a leased instance needs reseed(Rng&), which makes it as good as new");
  static_assert(takes_rng || std::is_invocable_v<Instance&, Sample&>,
                "a leased instance needs a call operator (Sample&) or (Sample&, Rng&)");

  Leased(Factory factory, LeaseOptions options)
      : pool_(std::make_shared<Pool>(std::move(factory), options.fresh ? 1 : options.places)),
        options_(std::move(options)) {}

  std::string name() const { return Named ? options_.name : "leased " + type_name(typeid(Instance)); }
  std::string describe() const requires Named {
    return "version " + std::to_string(options_.version) + (options_.fresh ? ", fresh" : "");
  }
  std::optional<std::uint16_t> op_number() const { return options_.op; }

  void operator()(Sample& sample, Rng& rng) const {
    const std::optional<std::uint32_t> place = options_.fresh ? std::nullopt : pool_->places.acquire();
    if (!place) {
      Instance instance = std::as_const(pool_->factory)();
      run(instance, sample, rng);
      return;
    }
    const Lease lease{*pool_, *place};
    std::unique_ptr<Instance>& instance = pool_->instances[*place];
    if (!instance) instance.reset(new Instance(std::as_const(pool_->factory)()));
    run(*instance, sample, rng);
  }

 private:
  // Instance i belongs to the holder of place i, who alone makes it and runs it; acquiring the place orders one holder
  // after the other.
  struct Pool {
    Pool(Factory f, std::uint32_t count) : factory(std::move(f)), places(count), instances(count) {}
    const Factory factory;
    SlabPool<> places;
    std::vector<std::unique_ptr<Instance>> instances;
  };
  struct Lease {
    Pool& pool;
    std::uint32_t place;
    ~Lease() { pool.places.release(place); }
  };

  static void run(Instance& instance, Sample& sample, Rng& rng) {
    instance.reseed(rng);
    if constexpr (takes_rng)
      instance(sample, rng);
    else
      instance(sample);
  }

  std::shared_ptr<Pool> pool_;
  LeaseOptions options_;
};

}  // namespace detail

template <class Factory>
Transform leased(Factory factory, LeaseOptions options = {}) {
  if (options.places < 1 || options.places > 4096)
    throw std::invalid_argument("leased: places = " + std::to_string(options.places) + "; expected 1 to 4096");
  if (options.name.empty()) return Transform(detail::Leased<Factory, false>(std::move(factory), std::move(options)));
  return Transform(detail::Leased<Factory, true>(std::move(factory), std::move(options)));
}

}  // namespace headrace
