#include "headrace/lockfree/reorder_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "support/payloads.hpp"

namespace headrace {
namespace {

// Counts its living objects; over-aligned; move-only.
struct alignas(128) Tracked {
  static inline std::atomic<int> alive{0};
  explicit Tracked(std::uint64_t v) noexcept : value(v) { ++alive; }
  Tracked(Tracked&& other) noexcept : value(other.value) { ++alive; }
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() { --alive; }
  std::uint64_t value;
};

struct ThrowingMove {
  ThrowingMove(ThrowingMove&&) {}
};
static_assert(RingValue<std::unique_ptr<int>> && RingValue<Tracked> && RingValue<std::uint64_t>);
static_assert(!RingValue<ThrowingMove> && !RingValue<const int> && !RingValue<int&>);
static_assert(PackedRingValue<std::uint16_t> && PackedRingValue<std::uint8_t> && !PackedRingValue<std::uint32_t>);

constexpr std::size_t capacities[] = {1, 2, 3, 4, 5, 7, 8, 100, 127, 128, 129, 255, 256, 257, 1000};

template <class T>
void any_order_within_the_window(std::uint64_t first) {
  std::mt19937 g(5);
  for (const std::size_t capacity : capacities) {
    ReorderRing<T> ring(capacity, first);
    ASSERT_EQ(ring.capacity(), capacity);
    std::uint64_t s = first;
    for (int lap = 0; lap < 5; ++lap) {
      const std::size_t n = 1 + g() % capacity;
      std::vector<std::uint64_t> order(n);
      std::iota(order.begin(), order.end(), s);
      std::shuffle(order.begin(), order.end(), g);
      ASSERT_FALSE(ring.ready());
      for (const std::uint64_t o : order) {
        ASSERT_TRUE(ring.publish(o, T(static_cast<std::uint16_t>(o * 3))));
        ASSERT_FALSE(ring.publish(o, T(std::uint16_t{0}))) << "published twice";
      }
      ASSERT_FALSE(ring.publish(s + capacity, T(std::uint16_t{0}))) << "beyond the window";
      ASSERT_FALSE(ring.publish(s - 1, T(std::uint16_t{0}))) << "before the window";
      for (std::size_t i = 0; i < n; ++i, ++s) {
        ASSERT_EQ(ring.next_sequence(), s);
        ASSERT_TRUE(ring.ready());
        const auto value = ring.try_take();
        ASSERT_TRUE(value);
        if constexpr (std::is_same_v<T, Tracked>)
          ASSERT_EQ(value->value, static_cast<std::uint16_t>(s * 3));
        else
          ASSERT_EQ(*value, static_cast<std::uint16_t>(s * 3));
      }
      ASSERT_FALSE(ring.try_take());
    }
  }
}

TEST(ReorderRing, Any_order_within_the_window_is_delivered_in_order) {
  any_order_within_the_window<std::uint16_t>(0);
  any_order_within_the_window<Tracked>(0);
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(ReorderRing, The_stamp_wraps) {
  any_order_within_the_window<std::uint16_t>((std::uint64_t{1} << 47) - 50);
  any_order_within_the_window<Tracked>((std::uint64_t{1} << 47) - 50);
}

TEST(ReorderRing, A_gap_holds_back_what_follows) {
  ReorderRing<int> ring(4);
  EXPECT_TRUE(ring.publish(1, 11));
  EXPECT_TRUE(ring.publish(2, 12));
  EXPECT_FALSE(ring.try_take());
  EXPECT_TRUE(ring.publish(0, 10));
  for (int v : {10, 11, 12}) EXPECT_EQ(ring.try_take(), v);
  EXPECT_FALSE(ring.try_take());
}

TEST(ReorderRing, A_failed_publish_leaves_its_argument) {
  ReorderRing<std::unique_ptr<int>> ring(1);
  auto value = std::make_unique<int>(7);
  EXPECT_FALSE(ring.publish(1, std::move(value)));
  ASSERT_TRUE(value);
  EXPECT_TRUE(ring.publish(0, std::move(value)));
  EXPECT_FALSE(value);
}

template <std::size_t Alignment>
void check_alignment() {
  using Value = test::OverAligned<Alignment>;
  ReorderRing<Value> ring(3);
  for (std::uint64_t s = 0; s < 7; ++s) {
    ASSERT_TRUE(ring.publish(s, Value(s)));
    ASSERT_EQ(ring.try_take()->value(), s);
  }
  EXPECT_EQ(Value::misplaced(), 0);
}

TEST(ReorderRing, Over_aligned_values_are_aligned) {
  check_alignment<64>();
  check_alignment<128>();
  check_alignment<4096>();
}

TEST(ReorderRing, Leftovers_are_destroyed) {
  {
    ReorderRing<Tracked> ring(5);
    for (std::uint64_t s : {0u, 1u, 3u}) EXPECT_TRUE(ring.publish(s, Tracked(s)));
    EXPECT_TRUE(ring.try_take());
    EXPECT_TRUE(ring.publish(5, Tracked(5)));
    EXPECT_EQ(Tracked::alive, 3);
  }
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(ReorderRing, Capacity_0_is_refused) {
  EXPECT_THROW(ReorderRing<int>(0), std::invalid_argument);
  EXPECT_THROW(ReorderRing<int>(~std::size_t{0}), std::invalid_argument);
}

TEST(ReorderRing, The_first_publication_wins_and_a_revoked_place_is_closed) {
  ReorderRing<std::uint16_t> ring(2);
  EXPECT_TRUE(ring.publish_first(0, 5));
  EXPECT_FALSE(ring.publish_first(0, 6));
  EXPECT_EQ(ring.revoke(), 5);
  EXPECT_EQ(ring.revoke(), std::nullopt);
  EXPECT_FALSE(ring.publish_first(1, 7));
  EXPECT_TRUE(ring.publish_first(2, 8)) << "the place is open for the next lap";
  EXPECT_EQ(ring.try_take(), 8);
}

// Publishes in a random order within the window and takes within a span: the model says which value comes.
template <class T>
void the_first_published_within_the_span(std::uint64_t first) {
  std::mt19937 g(11);
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u, 100u}) {
    for (const std::uint64_t span : {0u, 1u, 2u, 4u, 7u, 99u, 1000u}) {
      ReorderRing<T> ring(capacity, first);
      const std::uint64_t reach = std::min<std::uint64_t>(span, capacity - 1);
      std::vector<int> state;  // per sequence: 0 open, 1 published, 2 taken
      std::uint64_t oldest = 0, published = 0;
      for (int move = 0; move < 3000; ++move) {
        if (g() % 2) {
          const std::uint64_t s = oldest + g() % capacity;
          if (state.size() <= s) state.resize(s + 1);
          if (state[s] != 0) {
            ASSERT_FALSE(ring.publish(first + s, T(std::uint16_t{0}))) << "published, or taken, before";
            continue;
          }
          ASSERT_TRUE(ring.publish(first + s, T(static_cast<std::uint16_t>(s * 7))));
          state[s] = 1;
          ++published;
          continue;
        }
        std::uint64_t expected = oldest;
        while (expected <= oldest + reach && (expected >= state.size() || state[expected] != 1)) ++expected;
        const bool there = expected <= oldest + reach;
        ASSERT_EQ(ring.ready_within(span), there);
        const auto taken = ring.try_take_within(span);
        ASSERT_EQ(taken.has_value(), there);
        if (!there) continue;
        ASSERT_EQ(taken->sequence, first + expected);
        if constexpr (std::is_same_v<T, Tracked>) ASSERT_EQ(taken->value.value, static_cast<std::uint16_t>(expected * 7));
        else ASSERT_EQ(taken->value, static_cast<std::uint16_t>(expected * 7));
        state[expected] = 2;
        while (oldest < state.size() && state[oldest] == 2) ++oldest;
        ASSERT_EQ(ring.next_sequence(), first + oldest);
        ASSERT_EQ(ring.taken_ahead(), static_cast<std::uint64_t>(std::count(
                                          state.begin() + static_cast<std::ptrdiff_t>(oldest), state.end(), 2)));
      }
      ASSERT_GT(published, 100u);
    }
  }
}

TEST(ReorderRing, Within_a_span_the_first_published_value_is_taken) {
  the_first_published_within_the_span<std::uint16_t>(0);
  the_first_published_within_the_span<Tracked>(0);
  the_first_published_within_the_span<std::uint16_t>((std::uint64_t{1} << 47) - 50);
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(ReorderRing, A_value_is_overtaken_by_span_others_and_no_more) {
  for (const std::uint64_t span : {1u, 2u, 15u, 256u}) {
    ReorderRing<std::uint16_t> ring(span + 8);
    for (std::uint64_t s = 1; s < span + 8; ++s) ASSERT_TRUE(ring.publish(s, static_cast<std::uint16_t>(s)));
    for (std::uint64_t s = 1; s <= span; ++s) ASSERT_EQ(ring.try_take_within(span)->sequence, s);
    ASSERT_FALSE(ring.try_take_within(span)) << "one more overtakes 0";
    ASSERT_TRUE(ring.publish(0, 0));
    for (const std::uint64_t s : {std::uint64_t{0}, span + 1, span + 2}) {
      ASSERT_EQ(ring.try_take_within(span)->sequence, s);
    }
  }
}

TEST(ReorderRing, A_revocation_steps_over_what_was_taken_ahead) {
  ReorderRing<std::uint16_t> ring(4);
  EXPECT_TRUE(ring.publish_first(1, 11));
  EXPECT_TRUE(ring.publish_first(2, 12));
  EXPECT_EQ(ring.try_take_within(3)->value, 11);
  EXPECT_EQ(ring.try_take_within(3)->value, 12);
  EXPECT_TRUE(ring.publish_first(5, 15)) << "the place of 1 is open for its next lap";
  EXPECT_EQ(ring.revoke(), std::nullopt);  // 0
  EXPECT_EQ(ring.next_sequence(), 3u);
  EXPECT_EQ(ring.taken_ahead(), 0u);
  EXPECT_EQ(ring.revoke(), std::nullopt);  // 3
  EXPECT_FALSE(ring.publish_first(0, 10));
  EXPECT_FALSE(ring.publish_first(3, 13));
  EXPECT_EQ(ring.try_take_within(1)->sequence, 5u);
}

TEST(ReorderRing, Threads_deliver_every_value_once_in_order) {
  for (const std::size_t capacity : {1u, 2u, 7u, 64u}) {
    constexpr std::uint64_t n = 20'000;
    ReorderRing<std::unique_ptr<std::uint64_t>> ring(capacity);
    std::atomic<std::uint64_t> next{0}, limit{capacity};
    std::vector<std::jthread> workers;
    for (int w = 0; w < 3; ++w) {
      workers.emplace_back([&] {
        for (;;) {
          std::uint64_t s = next.load();
          if (s >= n) return;
          if (s >= limit.load() || !next.compare_exchange_weak(s, s + 1)) {
            std::this_thread::yield();
            continue;
          }
          if (!ring.publish(s, std::make_unique<std::uint64_t>(s))) std::terminate();
        }
      });
    }
    for (std::uint64_t s = 0; s < n;) {
      if (auto value = ring.try_take()) {
        ASSERT_EQ(**value, s);
        limit = ++s + capacity;
      } else {
        std::this_thread::yield();
      }
    }
  }
}

}  // namespace
}  // namespace headrace
