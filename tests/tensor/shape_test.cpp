#include <gtest/gtest.h>

#include <headrace/tensor/tensor.hpp>
#include <limits>
#include <vector>

using namespace headrace;

namespace {

constexpr std::int64_t big = std::int64_t{1} << 62;

TEST(Shape, HoldsUpToSixSizes) {
  const Shape s{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(s.rank(), 6);
  EXPECT_EQ(s.numel(), 720);
  EXPECT_EQ(s.str(), "[1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.str(), "[]");
  EXPECT_EQ((Shape{1, -1}).str(), "[1, ?]");
  EXPECT_EQ(std::vector<std::int64_t>(s.begin(), s.end()), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6, 7}), std::invalid_argument);
  Shape t = s;
  EXPECT_THROW(t.push_back(7), std::invalid_argument);
  EXPECT_EQ(t, s);
}

TEST(Shape, EqualityLooksAtRankAndSizes) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
  EXPECT_FALSE((Shape{}) == (Shape{0}));
}

TEST(Shape, CountsOnlyWhatFits63Bits) {
  EXPECT_EQ((Shape{big}).numel(), big);
  EXPECT_THROW((Shape{big, 2}).numel(), std::length_error);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}).numel(), std::length_error);
  EXPECT_EQ((Shape{std::int64_t{1} << 32, (std::int64_t{1} << 31) - 1}).numel(),
            std::numeric_limits<std::int64_t>::max() - 0xffffffff);
  EXPECT_THROW((Shape{-1}).numel(), std::length_error);
  EXPECT_THROW((Shape{0, -1}).numel(), std::length_error);
  EXPECT_EQ((Shape{7, 0, 3}).numel(), 0);
  // No elements, but strides that could not be computed.
  EXPECT_THROW((Shape{0, big, big}).numel(), std::length_error);
  EXPECT_THROW((Shape{big, big, 0}).numel(), std::length_error);
}

TEST(TensorSizes, AbsurdOnesAreRefusedBeforeMemoryIsAsked) {
  for (DType t : {DType::u8, DType::f32, DType::f64}) {
    const auto limit = (std::int64_t{1} << 47) / static_cast<std::int64_t>(size_of(t));
    for (const Shape& s : {Shape{limit + 1}, Shape{limit, 2}, Shape{big}, Shape{big, big}, Shape{-1}, Shape{2, -3},
                           Shape{std::numeric_limits<std::int64_t>::min()}}) {
      EXPECT_THROW(Tensor::empty(t, s), std::length_error) << s.str();
      EXPECT_THROW(Tensor::zeros(t, s), std::length_error) << s.str();
      EXPECT_THROW(Tensor(Storage::allocate(8), t, s), std::length_error) << s.str();
    }
  }
  const double one = 1;
  EXPECT_THROW(Tensor::from(std::span<const double>(&one, 1), {big, big}), std::length_error);
}

TEST(TensorSizes, AsManyValuesAsElements) {
  EXPECT_THROW(Tensor::from<float>({1, 2, 3}, {2}), std::invalid_argument);
  EXPECT_THROW(Tensor::from<float>({}, {}), std::invalid_argument);
  EXPECT_EQ(Tensor::from<float>({}, {0, 3}).numel(), 0);
  EXPECT_EQ(Tensor::from<float>({4}, {}).item(), 4);
}

// A view's numbers are checked in 128 bits before they are trusted.
TEST(TensorBounds, ViewsLieInsideTheirStorage) {
  const Storage s = Storage::allocate(40);
  const auto view = [&](const Shape& shape, const Shape& strides, std::int64_t offset) {
    return Tensor(s, DType::f32, shape, strides, offset);
  };
  EXPECT_EQ(view({10}, {1}, 0).numel(), 10);
  EXPECT_EQ(view({10}, {-1}, 9).numel(), 10);
  EXPECT_EQ(view({2, 5}, {-5, 1}, 5).numel(), 10);
  EXPECT_EQ(view({4}, {3}, 0).numel(), 4);
  EXPECT_THROW(view({4}, {3}, 1), std::out_of_range);
  EXPECT_THROW(view({11}, {1}, 0), std::out_of_range);
  EXPECT_THROW(view({10}, {1}, 1), std::out_of_range);
  EXPECT_THROW(view({10}, {1}, -1), std::out_of_range);
  EXPECT_THROW(view({10}, {-1}, 8), std::out_of_range);
  EXPECT_THROW(view({10}, {-1}, 10), std::out_of_range);
  EXPECT_THROW(view({2, 5}, {-5, 1}, 4), std::out_of_range);
  EXPECT_THROW(view({1}, {1}, 10), std::out_of_range);
  EXPECT_THROW(view({1}, {1}, std::numeric_limits<std::int64_t>::max()), std::out_of_range);
  EXPECT_THROW(view({1}, {1}, std::numeric_limits<std::int64_t>::min()), std::out_of_range);
  EXPECT_THROW(view({2}, {std::numeric_limits<std::int64_t>::max()}, 0), std::out_of_range);
  EXPECT_THROW(view({2}, {std::numeric_limits<std::int64_t>::min()}, 0), std::out_of_range);
  // Sums and products that come back to a small number in 64 bits.
  EXPECT_THROW(view({3, 3}, {big, big}, 0), std::out_of_range);
  EXPECT_THROW(view({5}, {big}, 0), std::out_of_range);
  EXPECT_THROW(view({2, 2, 2, 2, 2}, {big, big, big, big, 1}, 0), std::out_of_range);
  EXPECT_THROW(Tensor(s, DType::u8, {(1 << 20) + 1}, {std::int64_t{1} << 44}), std::out_of_range);
  EXPECT_THROW(view({1}, {std::numeric_limits<std::int64_t>::min()}, 0), std::out_of_range);  // a flip would negate it
  EXPECT_THROW(view({2, 2}, {1}, 0), std::invalid_argument);
  // One number in braces is a stride, without braces an offset.
  EXPECT_EQ(Tensor(s, DType::u8, {3}, {2}).strides(), (Shape{2}));
  EXPECT_EQ(Tensor(s, DType::u8, {3}, 2).raw(), s.data() + 2);
  EXPECT_THROW(Tensor(s, DType::u8, {3}, 38), std::out_of_range);
  // Without elements nothing is touched.
  EXPECT_EQ(view({0}, {1}, 1000).numel(), 0);
  EXPECT_EQ(view({3, 0}, {1000, 1000}, -5).raw(), s.data());
  EXPECT_THROW(Tensor(Storage(), DType::u8, {1}), std::out_of_range);
}

TEST(TensorBounds, ElementsAreAligned) {
  alignas(8) std::byte memory[64]{};
  const auto at = [&](std::size_t offset, DType t) {
    return Tensor(Storage::wrap(memory + offset, 16, false, {}), t, {1});
  };
  for (std::size_t offset = 0; offset < 8; ++offset)
    for (DType t : {DType::u8, DType::i16, DType::bf16, DType::f32, DType::f64})
      if (offset % size_of(t) == 0)
        EXPECT_EQ(at(offset, t).item(), 0);
      else
        EXPECT_THROW(at(offset, t), std::invalid_argument);
}

TEST(UndefinedTensor, IsHarmless) {
  const Tensor none;
  Tensor t = none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(none.numel(), 0);
  EXPECT_FALSE(none.clone().defined());
  EXPECT_FALSE(none.contiguous().defined());
  EXPECT_TRUE(none.equal(t));
  const Tensor scalar = Tensor::zeros(DType::f32, {});
  EXPECT_FALSE(none.equal(scalar));
  EXPECT_FALSE(scalar.equal(none));
  EXPECT_THROW(none.at({}), std::invalid_argument);
  EXPECT_THROW(none.item(), std::invalid_argument);
  EXPECT_THROW(none.to(DType::u8), std::invalid_argument);
  Tensor to = Tensor::zeros(DType::f32, {});
  EXPECT_THROW(to.copy_from(none), std::invalid_argument);
  EXPECT_THROW(t.copy_from(scalar), std::invalid_argument);
  EXPECT_EQ(t.mutable_raw(), nullptr);
  t.add_(1);
  EXPECT_EQ(none.unsqueeze(0).narrow(0, 0, 1).numel(), 0);
  EXPECT_FALSE(none.overlaps(scalar));
}

TEST(UndefinedTensor, IsWhatAMoveLeaves) {
  Tensor a = Tensor::from<float>({1, 2}, {2});
  Tensor b = std::move(a);
  EXPECT_FALSE(a.defined());
  EXPECT_EQ(a.numel(), 0);
  EXPECT_EQ(a.rank(), 0);
  EXPECT_TRUE(b.writable());
  a = std::move(b);
  EXPECT_EQ(a.at({1}), 2);
  EXPECT_FALSE(b.defined());
  Tensor& same = a;
  a = std::move(same);
  EXPECT_EQ(a.at({0}), 1);
}

}  // namespace
