#include <array>
#include <headrace/random/address.hpp>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

namespace {

// Words drawn from a permutation's key: blocks of Philox with the key's first half as key and its second half in the
// counter. `purpose` keeps the table's words and the network's apart.
class KeyedWords {
 public:
  KeyedWords(PhiloxBlock key, std::uint32_t purpose) : key_(key), purpose_(purpose) {}

  std::uint64_t next64() {
    if (left_ == 0) {
      block_ = philox_block({{count_++, purpose_, key_.word[2], key_.word[3]}}, {{key_.word[0], key_.word[1]}});
      left_ = 4;
    }
    const std::uint32_t* word = block_.word + (4 - left_);
    left_ -= 2;
    return word[0] | (std::uint64_t{word[1]} << 32);
  }

  std::uint64_t below(std::uint64_t n) {
    return detail::unbiased_below(n, [this] { return next64(); });
  }

 private:
  PhiloxBlock key_;
  std::uint32_t purpose_;
  std::uint32_t count_ = 0;
  PhiloxBlock block_{};
  int left_ = 0;
};

constexpr std::uint32_t table_purpose = 0;
constexpr std::uint32_t network_purpose = 1;

// The least a with a * a >= n, for 1 <= n <= 2^44, with integers only.
std::uint32_t root_up(std::uint64_t n) {
  std::uint64_t low = 1, high = std::uint64_t{1} << 22;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (middle * middle >= n) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<std::uint32_t>(low);
}

// A keyed mix of one coordinate, scaled to [0, range): multiply, fold, multiply, take the top. The fold in the middle
// is what carries high bits back down; without it the low bits of the coordinate never meet the key's high bits.
std::uint32_t mix(std::uint32_t x, std::uint64_t add, std::uint64_t multiply, std::uint32_t range) {
  std::uint64_t z = (x + add) * multiply;
  z ^= z >> 32;
  z *= 0xD6E8FEB86659FD93u;
  return static_cast<std::uint32_t>(((z >> 32) * range) >> 32);
}

}  // namespace

// Positions to values and back, in the fewest bits.
struct Permutation::Table {
  std::vector<std::uint16_t> value;
  std::vector<std::uint16_t> position;
};

PhiloxBlock shuffle_key(std::uint64_t seed, std::uint32_t epoch) {
  const StreamAddress address{.seed = seed, .epoch = epoch, .item = 0, .patch = item_patch, .op = op_shuffle};
  return philox_block(stream_counter(address), stream_key(seed));
}

Permutation::Permutation(std::uint64_t n, PhiloxBlock key, PermutationKind kind) : n_(n) {
  if (n > max_permutation_size) {
    throw std::out_of_range("permutation size " + std::to_string(n) + " is out of range: expected 0.." +
                            std::to_string(max_permutation_size));
  }
  if (n == 0) return;
  if (n < table_limit && kind == PermutationKind::Automatic) {
    table_ = std::make_shared<Table>();
  } else {
    rows_ = root_up(n);
    columns_ = static_cast<std::uint32_t>((n + rows_ - 1) / rows_);
  }
  rekey(key);
}

void Permutation::rekey(PhiloxBlock key) {
  if (n_ == 0) return;
  if (table_) {
    if (table_.use_count() != 1) table_ = std::make_shared<Table>();
    Table& table = *table_;
    table.value.resize(n_);
    table.position.resize(n_);
    for (std::uint64_t i = 0; i < n_; ++i) table.value[i] = static_cast<std::uint16_t>(i);
    KeyedWords words(key, table_purpose);
    for (std::uint64_t i = n_ - 1; i > 0; --i) std::swap(table.value[i], table.value[words.below(i + 1)]);
    for (std::uint64_t i = 0; i < n_; ++i) table.position[table.value[i]] = static_cast<std::uint16_t>(i);
    return;
  }
  KeyedWords words(key, network_purpose);
  for (RoundKey& round : keys_) {
    round.add = words.next64();
    round.multiply = words.next64() | 1;  // odd: an invertible step
  }
}

// One pass of the network over the whole grid: even rounds shift the row by a mix of the column, odd rounds the column
// by a mix of the row. Each round is a bijection of the grid, whatever mix gives.
std::uint64_t Permutation::step(std::uint64_t x) const {
  auto row = static_cast<std::uint32_t>(x % rows_), column = static_cast<std::uint32_t>(x / rows_);
  for (int i = 0; i < rounds; i += 2) {
    row += mix(column, keys_[i].add, keys_[i].multiply, rows_);
    row = row >= rows_ ? row - rows_ : row;
    column += mix(row, keys_[i + 1].add, keys_[i + 1].multiply, columns_);
    column = column >= columns_ ? column - columns_ : column;
  }
  return std::uint64_t{column} * rows_ + row;
}

std::uint64_t Permutation::step_back(std::uint64_t x) const {
  auto row = static_cast<std::uint32_t>(x % rows_), column = static_cast<std::uint32_t>(x / rows_);
  for (int i = rounds - 2; i >= 0; i -= 2) {
    const std::uint32_t column_shift = mix(row, keys_[i + 1].add, keys_[i + 1].multiply, columns_);
    column = column >= column_shift ? column - column_shift : column + columns_ - column_shift;
    const std::uint32_t row_shift = mix(column, keys_[i].add, keys_[i].multiply, rows_);
    row = row >= row_shift ? row - row_shift : row + rows_ - row_shift;
  }
  return std::uint64_t{column} * rows_ + row;
}

// Cycle walking: a cell of the grid beyond n is walked over. The grid has fewer than sqrt(n) + 1 such cells, so a
// second step is rare; it ends because the walk follows a cycle that holds its own start, which is below n.
std::uint64_t Permutation::operator()(std::uint64_t i) const {
  if (i >= n_) {
    throw std::out_of_range("permutation position " + std::to_string(i) + " is out of range: the size is " +
                            std::to_string(n_));
  }
  if (table_) return table_->value[i];
  do {
    i = step(i);
  } while (i >= n_);
  return i;
}

std::uint64_t Permutation::inverse(std::uint64_t v) const {
  if (v >= n_) {
    throw std::out_of_range("permutation value " + std::to_string(v) + " is out of range: the size is " +
                            std::to_string(n_));
  }
  if (table_) return table_->position[v];
  do {
    v = step_back(v);
  } while (v >= n_);
  return v;
}

}  // namespace headrace
