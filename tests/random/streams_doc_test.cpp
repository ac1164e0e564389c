// The known answers published in docs/streams.md, read from that page.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace headrace {
namespace {

using Row = std::vector<std::string>;

// The rows of the table under a heading, without its head; cells without blanks and backticks at their ends.
std::vector<Row> table_under(const std::string& heading) {
  std::ifstream page(HEADRACE_STREAMS_DOC);
  std::vector<Row> rows;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("#", 0) == 0) {
      here = line == heading;
    } else if (here && line.rfind("|", 0) == 0) {
      Row row;
      std::istringstream cells(line.substr(1));
      for (std::string cell; std::getline(cells, cell, '|');) {
        const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
        if (first != std::string::npos) row.push_back(cell.substr(first, last - first + 1));
      }
      rows.push_back(row);
    }
  }
  if (rows.size() < 2) return {};
  return {rows.begin() + 2, rows.end()};
}

std::uint64_t number(const std::string& text, int base = 0) { return std::strtoull(text.c_str(), nullptr, base); }

TEST(StreamsDoc, The_32_addresses_have_their_words) {
  const auto rows = table_under("### 32 addresses and their words");
  ASSERT_EQ(rows.size(), 32u);
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 10u);
    const StreamAddress address{.seed = number(row[0]),
                                .epoch = static_cast<std::uint32_t>(number(row[1])),
                                .item = number(row[2]),
                                .patch = static_cast<std::uint32_t>(number(row[3])),
                                .op = static_cast<std::uint32_t>(number(row[4]))};
    Rng rng = Rng(address).at(static_cast<std::uint32_t>(number(row[5])));
    for (std::size_t w = 0; w < 4; ++w)
      EXPECT_EQ(rng(), number(row[6 + w], 16)) << row[0] << ' ' << row[2] << ' ' << row[4];
  }
}

TEST(StreamsDoc, The_draws_have_their_values) {
  const auto rows = table_under("### Draws, one after another");
  Rng rng({.seed = 42, .epoch = 3, .item = 7, .patch = 2, .op = 5});
  const std::map<std::string, double (*)(Rng&)> draws{
      {"r()", [](Rng& r) -> double { return r(); }},
      {"r.uniform<float>()", [](Rng& r) -> double { return r.uniform<float>(); }},
      {"r.uniform()", [](Rng& r) { return r.uniform(); }},
      {"r.uniform(-1, 1)", [](Rng& r) { return r.uniform(-1, 1); }},
      {"r.below(10)", [](Rng& r) { return static_cast<double>(r.below(10)); }},
      {"r.below(1000000000000)", [](Rng& r) { return static_cast<double>(r.below(1000000000000)); }},
      {"r.bernoulli(0.5)", [](Rng& r) { return r.bernoulli(0.5) ? 1.0 : 0.0; }},
      {"r.normal<float>()", [](Rng& r) -> double { return r.normal<float>(); }},
      {"r.normal()", [](Rng& r) { return r.normal(); }},
      {"r.normal(10, 2)", [](Rng& r) { return r.normal(10, 2); }}};
  ASSERT_EQ(rows.size(), 11u);
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 3u);
    ASSERT_TRUE(draws.contains(row[1])) << row[1];
    EXPECT_EQ(rng.position(), number(row[0]));
    EXPECT_EQ(draws.at(row[1])(rng), std::strtod(row[2].c_str(), nullptr)) << row[1] << " at word " << row[0];
  }
}

TEST(StreamsDoc, The_permutations_have_their_values) {
  const auto rows = table_under("### Permutations");
  ASSERT_EQ(rows.size(), 7u);
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 5u);
    const Permutation p(number(row[0]), number(row[1]), static_cast<std::uint32_t>(number(row[2])));
    std::istringstream values(row[3]);
    std::uint64_t i = 0;
    for (std::string value; std::getline(values, value, ','); ++i)
      EXPECT_EQ(p(i), number(value)) << row[0] << " at " << i;
    EXPECT_EQ(i, 5u);
    EXPECT_EQ(p.inverse(0), number(row[4])) << row[0];
  }
}

}  // namespace
}  // namespace headrace
