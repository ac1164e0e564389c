#include <headrace/loader/error.hpp>
#include <headrace/random/address.hpp>

namespace headrace {

std::string_view name_of(Stage stage) noexcept {
  switch (stage) {
    case Stage::read:
      return "read";
    case Stage::transform:
      return "transform";
    case Stage::write:
      break;
  }
  return "write to slot";
}

namespace {
std::string message(const ItemFailure& f) {
  std::string s = "epoch " + std::to_string(f.epoch) + ", item " + std::to_string(f.position) + " (dataset index " +
                  std::to_string(f.index);
  if (!f.path.empty()) s += ", " + f.path;
  s += ")";
  if (f.patch != item_patch) s += ", patch " + std::to_string(f.patch);
  if (f.stage == Stage::transform)
    s += ", op " + std::to_string(f.op) + " (" + f.op_name + ")";
  else
    s += ", " + std::string(name_of(f.stage));
  return s + ": " + f.cause;
}
}  // namespace

ItemError::ItemError(ItemFailure failure) : std::runtime_error(message(failure)), failure_(std::move(failure)) {}

}  // namespace headrace
