#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <headrace/tensor/tensor.hpp>
#include <memory>
#include <thread>
#include <vector>

using namespace headrace;

namespace {

TEST(Storage, IsAlignedForEverySize) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                            std::size_t{4097}, (std::size_t{2} << 20) - 1}) {
    const Storage s = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % 64, 0u) << bytes;
    EXPECT_NE(s.data(), nullptr);
    EXPECT_EQ(s.bytes(), bytes);
    for (std::size_t i = 0; i < bytes; i += 61) s.data()[i] = std::byte{1};
  }
  for (std::size_t bytes : {std::size_t{2} << 20, (std::size_t{2} << 20) + 1, std::size_t{5} << 20}) {
    const Storage s = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % (std::size_t{2} << 20), 0u) << "huge pages need whole ones";
    s.data()[bytes - 1] = std::byte{1};
  }
}

TEST(Storage, ANullHandleAnswers) {
  Storage s;
  EXPECT_FALSE(s);
  EXPECT_EQ(s.data(), nullptr);
  EXPECT_EQ(s.bytes(), 0u);
  EXPECT_FALSE(s.unique());
  EXPECT_FALSE(s.read_only());
  s.set_read_only();
  s.reset();
  Storage t = s;
  EXPECT_TRUE(t.same_block(s));
}

TEST(Storage, CountsItsHandles) {
  int released = 0;
  char memory[8];
  Storage a = Storage::wrap(memory, sizeof memory, false, [&] { ++released; });
  EXPECT_TRUE(a.unique());
  {
    const Storage b = a;
    EXPECT_FALSE(a.unique());
    EXPECT_FALSE(b.unique());
    EXPECT_TRUE(b.same_block(a));
  }
  EXPECT_TRUE(a.unique());
  Storage c = std::move(a);
  EXPECT_FALSE(a);  // a moved-from handle is null
  EXPECT_TRUE(c.unique());
  Storage& same = c;
  c = same;
  EXPECT_TRUE(c.unique());
  c = std::move(same);
  EXPECT_TRUE(c.unique());
  EXPECT_EQ(released, 0);
  c = Storage::allocate(4);
  EXPECT_EQ(released, 1);
  c.reset();
  c.reset();
  EXPECT_EQ(released, 1);
}

TEST(Storage, WrappedMemoryIsReleasedOnce) {
  int released = 0;
  std::vector<float> memory(6);
  {
    Tensor t(Storage::wrap(memory.data(), 24, false, [&] { ++released; }), DType::f32, {2, 3});
    const Tensor view = t.select(0, 1).flip({0});
    t = Tensor();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(view.raw(), reinterpret_cast<std::byte*>(&memory[5]));
  }
  EXPECT_EQ(released, 1);
  Storage::wrap(memory.data(), 24, true, {});  // no release function is fine
  EXPECT_THROW(Storage::wrap(nullptr, 1, false, [&] { ++released; }), std::invalid_argument);
  EXPECT_EQ(released, 1);
  Storage::wrap(nullptr, 0, false, [&] { ++released; }).reset();
  EXPECT_EQ(released, 2);
}

TEST(Storage, AdoptedBlocksGoBackToTheirPool) {
  struct Pool {
    std::byte memory[16];
    int returned = 0;
  } pool;
  detail::StorageBlock block;
  block.data = pool.memory;
  block.bytes = sizeof pool.memory;
  block.owner = &pool;
  block.release = [](detail::StorageBlock* b) noexcept { ++static_cast<Pool*>(b->owner)->returned; };
  for (int round = 1; round <= 3; ++round) {
    Storage s = Storage::adopt(block);
    EXPECT_TRUE(s.unique());
    const Tensor t(s, DType::u8, {16});
    s.reset();
    EXPECT_EQ(pool.returned, round - 1);
    EXPECT_EQ(t.storage().block(), &block);
  }
  EXPECT_EQ(pool.returned, 3);
}

// Handles come and go on several threads; the memory is released once, after everybody's last access.
TEST(StorageStress, HandlesOnManyThreads) {
  constexpr int threads = 4, rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> released{0};
    auto memory = std::make_unique<std::array<int, threads>>();
    auto* cells = memory.get();
    Storage s = Storage::wrap(cells, sizeof *cells, false,
                              [&released, m = std::shared_ptr<std::array<int, threads>>(std::move(memory))]() mutable {
                                for (int& x : *m) x = -1;  // a data race with any access that was not finished
                                m.reset();
                                released.fetch_add(1);
                              });
    std::vector<std::thread> team;
    for (int k = 0; k < threads; ++k)
      team.emplace_back([k, mine = s]() mutable {
        for (int i = 0; i < 50; ++i) {
          Storage copy = mine, moved = std::move(copy);
          reinterpret_cast<int*>(moved.data())[k] = i;
          copy = mine;
        }
        mine.reset();
      });
    s.reset();
    for (std::thread& t : team) t.join();
    ASSERT_EQ(released.load(), 1);
  }
}

// Who finds itself the only owner sees everything the others wrote, by the count alone.
TEST(StorageStress, UniqueIsAnAcquire) {
  constexpr int threads = 3, rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    Tensor t = Tensor::zeros(DType::i32, {threads, 16});
    std::vector<std::thread> team;
    for (int k = 0; k < threads; ++k)
      team.emplace_back([k, mine = t]() mutable {
        auto* row = const_cast<std::int32_t*>(mine.select(0, k).data<std::int32_t>());
        for (int i = 0; i < 16; ++i) row[i] = k + 1;
        mine = Tensor();
      });
    while (!t.writable()) std::this_thread::yield();
    const std::byte* where = t.raw();
    t.add_(10);  // in place, and not joined yet
    EXPECT_EQ(t.raw(), where);
    for (int k = 0; k < threads; ++k)
      for (int i = 0; i < 16; ++i) ASSERT_EQ(t.at({k, i}), 11 + k);
    for (std::thread& x : team) x.join();
  }
}

// Copy-on-write from one shared tensor on several threads: everybody gets their own, the original stays.
TEST(StorageStress, CopyOnWriteFromASharedTensor) {
  Tensor original = Tensor::zeros(DType::f32, {8, 8});
  Storage s = original.storage();
  s.set_read_only();
  s.reset();
  std::vector<std::thread> team;
  for (int k = 0; k < 4; ++k)
    team.emplace_back([k, &original = std::as_const(original)] {
      for (int i = 0; i < 200; ++i) {
        Tensor mine = original.flip({0}).narrow(1, 2, 3);
        mine.fill_(k + 1);
        ASSERT_EQ(mine.at({7, 2}), k + 1);
        Storage frozen = original.storage();
        frozen.set_read_only();  // again, by all of them at once: two caches freeze the same tensor
        ASSERT_EQ(original.at({7, 2}), 0);
      }
    });
  for (std::thread& t : team) t.join();
  EXPECT_TRUE(original.equal(Tensor::zeros(DType::f32, {8, 8})));
}

}  // namespace
