// Views against an index-by-index reference: every operation maps an output index to the input index it shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tensor/tensor_support.hpp"

using namespace headrace;
using namespace headrace_test;

namespace {

// A random view of a random storage, given as shape and strides, with its model.
std::pair<Tensor, Model> random_view(Engine& e, int rank) {
  const DType dtype = all_dtypes[draw(e, 0, 11)];
  const Shape shape = random_shape(e, rank, 5, true);
  Shape strides;
  std::int64_t low = 0, high = 0;
  for (int d = 0; d < rank; ++d) {
    strides.push_back(draw(e, -7, 7));
    if (shape[d] > 0) (strides[d] < 0 ? low : high) += strides[d] * (shape[d] - 1);
  }
  const std::int64_t before = draw(e, 0, 3), after = draw(e, 0, 3);
  const std::int64_t offset = before - low;
  const auto cells = static_cast<std::size_t>(offset + high + 1 + after);
  const Tensor t(random_tensor(e, dtype, {static_cast<std::int64_t>(cells)}).storage(), dtype, shape, strides, offset);
  Model m{shape, {}};
  for_each_index(shape, [&](const Index& i) {
    std::int64_t at = offset;
    for (int d = 0; d < rank; ++d) at += i[static_cast<std::size_t>(d)] * strides[d];
    m.cells.push_back(at);
  });
  return {t, m};
}

int maybe_negative(Engine& e, int axis, int rank) { return draw(e, 0, 1) ? axis : axis - rank; }
std::size_t u(int d) { return static_cast<std::size_t>(d); }

// One random operation on both; false where the shape allows none of its kind.
bool step(Engine& e, Tensor& t, Model& m) {
  const int rank = t.rank();
  const auto kind = draw(e, 0, 7);
  if (kind == 5) {
    if (rank == max_rank) return false;
    const int axis = static_cast<int>(draw(e, 0, rank));
    Shape out;
    for (int d = 0; d <= rank; ++d) out.push_back(d == axis ? 1 : m.shape[d < axis ? d : d - 1]);
    t = t.unsqueeze(draw(e, 0, 1) ? axis : axis - rank - 1);
    m = m.view(out, [&](Index i) { return i.erase(i.begin() + axis), i; });
    return true;
  }
  if (rank == 0) return false;
  const int axis = static_cast<int>(draw(e, 0, rank - 1));
  const std::int64_t n = m.shape[axis];
  Shape out = m.shape;
  switch (kind) {
    case 0: {
      const std::int64_t start = draw(e, 0, n),
                         length = draw(e, draw(e, 0, 5) ? std::min<std::int64_t>(1, n - start) : 0, n - start);
      out[axis] = length;
      t = t.narrow(maybe_negative(e, axis, rank), start, length);
      m = m.view(out, [&](Index i) { return i[u(axis)] += start, i; });
      return true;
    }
    case 1: {
      const int axes = static_cast<int>(draw(e, 0, rank));
      Index start, size;
      for (int d = rank - axes; d < rank; ++d) {
        start.push_back(draw(e, 0, m.shape[d] / 2));
        size.push_back(draw(e, std::min<std::int64_t>(1, m.shape[d]), m.shape[d] - start.back()));
        out[d] = size.back();
      }
      t = t.crop(start, size);
      m = m.view(out, [&](Index i) {
        for (int k = 0; k < axes; ++k) i[u(rank - axes + k)] += start[u(k)];
        return i;
      });
      return true;
    }
    case 2:
      t = t.flip({maybe_negative(e, axis, rank)});
      m = m.view(out, [&](Index i) { return i[u(axis)] = n - 1 - i[u(axis)], i; });
      return true;
    case 3: {
      std::vector<int> order(u(rank)), asked;
      for (int d = 0; d < rank; ++d) order[u(d)] = d;
      std::shuffle(order.begin(), order.end(), e);
      for (int d = 0; d < rank; ++d)
        out[d] = m.shape[order[u(d)]], asked.push_back(maybe_negative(e, order[u(d)], rank));
      t = t.permute(std::span<const int>(asked));
      m = m.view(out, [&](const Index& i) {
        Index source(i.size());
        for (int d = 0; d < rank; ++d) source[u(order[u(d)])] = i[u(d)];
        return source;
      });
      return true;
    }
    case 4:
    case 6: {
      if (n == 0 || (kind == 6 && n != 1)) return false;
      const std::int64_t index = kind == 6 ? 0 : draw(e, 0, n - 1);
      Shape less;
      for (int d = 0; d < rank; ++d)
        if (d != axis) less.push_back(m.shape[d]);
      t = kind == 6 ? t.squeeze(maybe_negative(e, axis, rank)) : t.select(maybe_negative(e, axis, rank), index);
      m = m.view(less, [&](Index i) { return i.insert(i.begin() + axis, index), i; });
      return true;
    }
    default: {
      if (!t.is_contiguous()) return false;
      // All axes in one, or the first one split.
      if (draw(e, 0, 1) || rank == max_rank)
        out = Shape{m.shape.numel()};
      else {
        const std::int64_t by = n % 2 == 0 && axis == 0 && n > 0 ? 2 : 1;
        out = Shape{by, m.shape[0] / by};
        for (int d = 1; d < rank; ++d) out.push_back(m.shape[d]);
      }
      t = t.reshape(out);
      m.shape = out;
      return true;
    }
  }
}

TEST(TensorViews, MatchTheReferenceIndexByIndex) {
  Engine e(20);
  int steps = 0;
  for (int round = 0; round < 4000; ++round) {
    auto [t, m] = random_view(e, static_cast<int>(draw(e, 0, 6)));
    ASSERT_TRUE(matches(t, m));
    for (int k = 0; k < 5; ++k) {
      const Tensor before = t;
      if (!step(e, t, m)) continue;
      ++steps;
      ASSERT_TRUE(matches(t, m)) << round << ": " << before.shape().str() << " " << before.strides().str() << " -> "
                                 << t.shape().str();
      ASSERT_TRUE(t.storage().same_block(before.storage()));
      ASSERT_EQ(t.bytes(), static_cast<std::size_t>(t.numel()) * size_of(t.dtype()));
    }
  }
  EXPECT_GT(steps, 10000);
}

TEST(TensorViews, ContiguousMeansCOrderWithoutGaps) {
  Engine e(21);
  for (int round = 0; round < 2000; ++round) {
    auto [t, m] = random_view(e, static_cast<int>(draw(e, 0, 4)));
    if (draw(e, 0, 1)) t = t.clone(), m.cells = {};
    bool dense = true;
    if (!m.cells.empty())
      for (std::size_t k = 0; k < m.cells.size(); ++k)
        dense = dense && m.cells[k] == m.cells[0] + static_cast<std::int64_t>(k);
    ASSERT_EQ(t.is_contiguous(), dense) << t.shape().str() << t.strides().str();
    if (t.is_contiguous()) {
      EXPECT_EQ(t.contiguous().raw(), t.raw());
    } else {
      EXPECT_THROW(t.reshape(t.shape()), std::invalid_argument);
      EXPECT_TRUE(t.contiguous().is_contiguous());
      EXPECT_TRUE(t.contiguous().equal(t));
    }
  }
}

TEST(TensorViews, RefuseWhatLiesOutside) {
  const Tensor t = Tensor::zeros(DType::u8, {2, 3, 4});
  const auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(t.narrow(1, -1, 2), std::out_of_range);
  EXPECT_THROW(t.narrow(1, 0, -1), std::out_of_range);
  EXPECT_THROW(t.narrow(1, 0, 4), std::out_of_range);
  EXPECT_THROW(t.narrow(1, 4, 0), std::out_of_range);
  EXPECT_THROW(t.narrow(1, 2, 2), std::out_of_range);
  EXPECT_THROW(t.narrow(1, huge, huge), std::out_of_range);
  EXPECT_THROW(t.narrow(1, 1, huge), std::out_of_range);
  EXPECT_EQ(t.narrow(1, 3, 0).numel(), 0);
  EXPECT_THROW(t.narrow(3, 0, 1), std::invalid_argument);
  EXPECT_THROW(t.narrow(-4, 0, 1), std::invalid_argument);
  EXPECT_THROW(t.select(0, 2), std::out_of_range);
  EXPECT_THROW(t.select(0, -1), std::out_of_range);
  EXPECT_THROW(t.crop(Index{0, 0}, Index{1}), std::invalid_argument);
  EXPECT_THROW(t.crop(Index{0, 0, 0, 0}, Index{1, 1, 1, 1}), std::invalid_argument);
  EXPECT_THROW(t.crop(Index{0, 1}, Index{3, 4}), std::out_of_range);
  EXPECT_THROW(t.flip({3}), std::invalid_argument);
  EXPECT_EQ(t.flip({1, 1}).strides(), t.strides());  // twice is not at all
  EXPECT_THROW(t.permute({0, 1}), std::invalid_argument);
  EXPECT_THROW(t.permute({0, 1, 1}), std::invalid_argument);
  EXPECT_THROW(t.permute({0, 1, -2}), std::invalid_argument);
  EXPECT_THROW(t.permute({0, 1, 3}), std::invalid_argument);
  EXPECT_THROW(t.squeeze(0), std::invalid_argument);
  EXPECT_THROW(t.unsqueeze(4), std::invalid_argument);
  EXPECT_THROW(t.unsqueeze(-5), std::invalid_argument);
  EXPECT_THROW(Tensor::zeros(DType::u8, {1, 1, 1, 1, 1, 1}).unsqueeze(0), std::invalid_argument);
  EXPECT_THROW(t.reshape({5, 5}), std::invalid_argument);
  EXPECT_THROW(t.reshape({-1}), std::length_error);
  EXPECT_THROW(t.size(3), std::invalid_argument);
  EXPECT_EQ(t.size(-1), 4);
  EXPECT_THROW(t.at({0, 0}), std::invalid_argument);
  EXPECT_THROW(t.at({0, 3, 0}), std::out_of_range);
  EXPECT_THROW(t.at({0, 0, -1}), std::out_of_range);
  EXPECT_THROW(t.data<float>(), std::invalid_argument);
  EXPECT_THROW(t.item(), std::invalid_argument);
  try {
    t.narrow(2, 3, 2);
    FAIL();
  } catch (const std::out_of_range& x) {
    EXPECT_EQ(std::string(x.what()), "2 elements from 3 of axis 2 lie outside shape [2, 3, 4]");
  }
}

TEST(TensorOverlap, IsSeenByExtent) {
  Engine e(22);
  for (int round = 0; round < 3000; ++round) {
    const Tensor whole = random_tensor(e, DType::i16, {6, 7});
    const auto part = [&] {
      const Index start{draw(e, 0, 5), draw(e, 0, 6)};
      const Index size{draw(e, 0, 6 - start[0]), draw(e, 0, 7 - start[1])};
      Tensor t = whole.crop(start, size);
      return draw(e, 0, 1) ? t.flip({static_cast<int>(draw(e, 0, 1))}) : t;
    };
    const Tensor a = part(), b = part();
    const auto extent = [&](const Tensor& t) {
      std::pair<const std::byte*, const std::byte*> r{nullptr, nullptr};
      for_each_index(t.shape(), [&](const Index& i) {
        const std::byte* p = address(t, i);
        if (!r.first || p < r.first) r.first = p;
        if (!r.second || p + 2 > r.second) r.second = p + 2;
      });
      return r;
    };
    const auto ea = extent(a), eb = extent(b);
    const bool expected = a.numel() > 0 && b.numel() > 0 && ea.first < eb.second && eb.first < ea.second;
    ASSERT_EQ(a.overlaps(b), expected) << a.shape().str() << b.shape().str();
    ASSERT_EQ(b.overlaps(a), expected);
  }
}

}  // namespace
