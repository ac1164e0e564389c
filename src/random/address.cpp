#include <headrace/random/address.hpp>
#include <stdexcept>
#include <string>

namespace headrace::detail {

void throw_stream_range(const char* field, std::uint64_t value, std::uint64_t max) {
  throw std::out_of_range("stream " + std::string(field) + " " + std::to_string(value) +
                          " is out of range: expected 0.." + std::to_string(max));
}

}  // namespace headrace::detail
