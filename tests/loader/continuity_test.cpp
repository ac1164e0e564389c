// The bits of the whole chain, pinned: every compiler, optimisation level, sanitizer build and processor gives these.
// They change only with the stream version, an op's numerical definition or the digest's.
//
// After such a change: run this test; it prints the new values, which go into `pinned` together with a word in the
// commit.
#include <gtest/gtest.h>

#include "loader/chain.hpp"
#include "support/deadline.hpp"

namespace headrace::test {
namespace {

const std::vector<std::string> pinned{
    "eb85d3baefe83e3b949c47849f07aaeb",
    "6bdf03d47bf692839c003795f2795a15",
    "254f0b9e66f6feb3d02a3111fc467fa0",
};

TEST(Continuity, TheChainGivesThePinnedBits) {
  const Deadline deadline;
  const Dataset data = CacheDataset(MemoryDataset(pictures(7)), deterministic_part());
  for (unsigned threads : {0u, 3u}) {
    const auto got = digests(data, random_part(), {.batch_size = 2, .shuffle = true, .seed = 5, .threads = threads}, 3);
    EXPECT_EQ(got, pinned);
  }
}

// The cached items themselves, and sizes, so that a change shows where it began.
TEST(Continuity, TheDeterministicPartGivesThePinnedBits) {
  const CacheDataset data(MemoryDataset(pictures(7)), deterministic_part());
  DigestChain source, chain;
  for (const Sample& s : pictures(7)) source.add(digest_of(s));
  for (std::uint64_t i = 0; i < data.size(); ++i) chain.add(digest_of(data(i)));
  EXPECT_EQ(source.ordered().hex(), "aad45fea5b93722eca9ccebc9a2f9326") << "the pictures";
  EXPECT_EQ(chain.ordered().hex(), "f3c636d4d2c35ae614aab06d76600617") << "orientation to indices";
}

}  // namespace
}  // namespace headrace::test
