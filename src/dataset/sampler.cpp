#include <headrace/dataset/sampler.hpp>

#include <headrace/random/permutation.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace headrace {

Sampler::Sampler(std::uint64_t size, std::function<EpochOrder(std::uint32_t)> order, std::string describe)
    : size_(size), order_(std::move(order)), describe_(std::move(describe)) {
  if (!order_) throw std::invalid_argument("a sampler needs a function that makes an epoch's order");
}

Sampler Sampler::sequential(std::uint64_t items) {
  return Sampler(
      items, [](std::uint32_t) -> EpochOrder { return [](std::uint64_t position) { return SampledItem{position, position}; }; },
      "sequential");
}

Sampler Sampler::shuffled(std::uint64_t items, std::uint64_t seed) {
  return Sampler(
      items,
      [items, seed](std::uint32_t epoch) -> EpochOrder {
        return [order = std::make_shared<const Permutation>(items, seed, epoch)](std::uint64_t position) {
          const std::uint64_t index = (*order)(position);
          return SampledItem{index, index};
        };
      },
      "shuffled");
}

Sampler Sampler::subset(std::vector<std::uint64_t> indices, bool shuffle, std::uint64_t seed) {
  std::vector<std::uint64_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  std::string describe = shuffle ? "shuffled subset" : "subset";
  for (std::uint64_t i : indices) describe += " " + std::to_string(i);
  const auto list = std::make_shared<const std::vector<std::uint64_t>>(std::move(indices));
  const Sampler positions = shuffle ? shuffled(list->size(), seed) : sequential(list->size());
  return Sampler(
      list->size(),
      [list, positions, repeats](std::uint32_t epoch) -> EpochOrder {
        return [list, repeats, order = positions.order(epoch)](std::uint64_t position) {
          const std::uint64_t index = list->at(order(position).index);
          return SampledItem{index, repeats ? position : index};
        };
      },
      std::move(describe));
}

}  // namespace headrace
