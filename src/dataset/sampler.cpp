#include <algorithm>
#include <headrace/dataset/sampler.hpp>
#include <headrace/random/permutation.hpp>
#include <memory>
#include <stdexcept>

namespace headrace {

Sampler::Sampler(std::uint64_t size, std::function<EpochOrder(std::uint32_t)> order, std::string describe)
    : size_(size), order_(std::move(order)), describe_(std::move(describe)) {
  if (!order_) throw std::invalid_argument("a sampler needs a function that makes an epoch's order");
}

Sampler Sampler::sequential(std::uint64_t items) {
  return Sampler(
      items,
      [](std::uint32_t) -> EpochOrder {
        return [](std::uint64_t position) { return SampledItem{position, position}; };
      },
      "sequential");
}

void Sampler::reorder(std::uint32_t epoch, EpochOrder& order) const {
  if (!turn_ || !turn_(epoch, order)) order = order_(epoch);
}

namespace {

struct ShuffledOrder {
  Permutation permutation;
  SampledItem operator()(std::uint64_t position) const {
    const std::uint64_t index = permutation(position);
    return {index, index};
  }
};

struct SubsetOrder {
  std::shared_ptr<const std::vector<std::uint64_t>> list;
  bool repeats;
  EpochOrder positions;
  SampledItem operator()(std::uint64_t position) const {
    const std::uint64_t index = list->at(positions(position).index);
    return {index, repeats ? position : index};
  }
};

}  // namespace

Sampler Sampler::shuffled(std::uint64_t items, std::uint64_t seed) {
  Sampler sampler(
      items,
      [items, seed](std::uint32_t epoch) -> EpochOrder { return ShuffledOrder{Permutation(items, seed, epoch)}; },
      "shuffled");
  sampler.turn_ = [items, seed](std::uint32_t epoch, EpochOrder& order) {
    auto* const shuffled = order.target<ShuffledOrder>();
    if (!shuffled || shuffled->permutation.size() != items) return false;
    shuffled->permutation.rekey(seed, epoch);
    return true;
  };
  return sampler;
}

Sampler Sampler::subset(std::vector<std::uint64_t> indices, bool shuffle, std::uint64_t seed) {
  std::vector<std::uint64_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  std::string describe = shuffle ? "shuffled subset" : "subset";
  for (std::uint64_t i : indices) describe += " " + std::to_string(i);
  const auto list = std::make_shared<const std::vector<std::uint64_t>>(std::move(indices));
  const Sampler positions = shuffle ? shuffled(list->size(), seed) : sequential(list->size());
  Sampler sampler(
      list->size(),
      [list, positions, repeats](std::uint32_t epoch) -> EpochOrder {
        return SubsetOrder{list, repeats, positions.order(epoch)};
      },
      std::move(describe));
  sampler.turn_ = [list, positions](std::uint32_t epoch, EpochOrder& order) {
    auto* const subset = order.target<SubsetOrder>();
    if (!subset || subset->list != list) return false;
    positions.reorder(epoch, subset->positions);
    return true;
  };
  return sampler;
}

}  // namespace headrace
