// What a loader's consumer is told when an item could not be made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headrace {

// Where in an item's making the error arose.
enum class Stage : std::uint8_t { read, transform, write };
std::string_view name_of(Stage stage) noexcept;

// Everything that is known about a failed item. what() says all of it in one line.
struct ItemFailure {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // in the epoch's order
  std::uint64_t index = 0;     // in the dataset
  std::string path{};          // the file concerned, or empty
  Stage stage = Stage::read;
  std::uint32_t patch = 0x3FFF;  // item_patch: the item itself, before any patch exists
  std::size_t op = 0;            // position in the pipeline (stage transform)
  std::string op_name{};
  std::string cause{};
};

class ItemError : public std::runtime_error {
 public:
  explicit ItemError(ItemFailure failure);
  const ItemFailure& failure() const noexcept { return failure_; }

 private:
  ItemFailure failure_;
};

}  // namespace headrace
