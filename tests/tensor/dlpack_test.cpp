#include <gtest/gtest.h>

#include <cstring>
#include <headrace/tensor/dlpack.hpp>
#include <limits>
#include <thread>
#include <vector>

#include "tensor/tensor_support.hpp"

using namespace headrace;
using namespace headrace_test;

namespace {

dlpack::ManagedTensorVersioned seen(const DLPackVersionedPtr& p) {
  dlpack::ManagedTensorVersioned m;
  std::memcpy(&m, static_cast<const void*>(p.get()), sizeof m);
  return m;
}
dlpack::ManagedTensor seen(const DLPackPtr& p) {
  dlpack::ManagedTensor m;
  std::memcpy(&m, static_cast<const void*>(p.get()), sizeof m);
  return m;
}

// Another library's tensor: counts the calls of its deleter.
template <class Abi, class C>
struct Producer {
  Abi abi{};
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;

  Producer(void* data, dlpack::DataType dtype, std::vector<std::int64_t> s, std::vector<std::int64_t> t = {})
      : shape(std::move(s)), strides(std::move(t)) {
    abi.array = {data,
                 {dlpack::device_cpu, 0},
                 static_cast<std::int32_t>(shape.size()),
                 dtype,
                 shape.data(),
                 strides.empty() ? nullptr : strides.data(),
                 0};
    abi.context = this;
    abi.deleter = [](C* self) {
      Abi mine;
      std::memcpy(&mine, static_cast<const void*>(self), sizeof mine);
      ++static_cast<Producer*>(mine.context)->deleted;
    };
    if constexpr (std::is_same_v<Abi, dlpack::ManagedTensorVersioned>) abi.version = {1, 3};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  C* pointer() { return reinterpret_cast<C*>(&abi); }
};
using Versioned = Producer<dlpack::ManagedTensorVersioned, DLManagedTensorVersioned>;
using Unversioned = Producer<dlpack::ManagedTensor, DLManagedTensor>;
constexpr dlpack::DataType f32{dlpack::code_float, 32, 1};

TEST(ToDLPack, DescribesTheTensor) {
  Engine e(40);
  const std::uint8_t codes[] = {1, 0, 1, 0, 1, 0, 1, 0, 2, 4, 2, 2};
  for (std::size_t k = 0; k < 12; ++k)
    for (int rank = 0; rank <= 6; ++rank) {
      const Tensor t = random_layout(e, all_dtypes[k], random_shape(e, rank, 4, false));
      const auto p = to_dlpack(t);
      const auto m = seen(p);
      EXPECT_EQ(m.version.major, 1u);
      EXPECT_EQ(m.flags, 0u);
      EXPECT_EQ(m.array.device.type, 1);
      EXPECT_EQ(m.array.device.id, 0);
      EXPECT_EQ(m.array.data, t.raw());
      EXPECT_EQ(m.array.byte_offset, 0u);
      EXPECT_EQ(m.array.dtype.code, codes[k]);
      EXPECT_EQ(m.array.dtype.bits, 8 * size_of(all_dtypes[k]));
      EXPECT_EQ(m.array.dtype.lanes, 1);
      ASSERT_EQ(m.array.rank, rank);
      for (int d = 0; d < rank; ++d) {
        EXPECT_EQ(m.array.shape[d], t.shape()[d]);
        EXPECT_EQ(m.array.strides[d], t.strides()[d]);
      }
      EXPECT_EQ(seen(to_dlpack_unversioned(t)).array.data, t.raw());
    }
  EXPECT_THROW((void)to_dlpack(Tensor()), std::invalid_argument);
  EXPECT_THROW((void)to_dlpack_unversioned(Tensor()), std::invalid_argument);
}

TEST(ToDLPack, ZeroSizedTensorsHaveNoAddress) {
  const auto p = to_dlpack(Tensor::zeros(DType::f32, {2, 0, 3}));
  EXPECT_EQ(seen(p).array.data, nullptr);
  EXPECT_EQ(seen(p).array.shape[2], 3);
  EXPECT_NE(seen(p).array.strides, nullptr);
}

TEST(ToDLPack, KeepsTheMemoryUntilTheDeleter) {
  int released = 0;
  float memory[4] = {1, 2, 3, 4};
  Tensor t(Storage::wrap(memory, sizeof memory, false, [&] { ++released; }), DType::f32, {4});
  DLPackPtr a = to_dlpack_unversioned(t);
  DLPackVersionedPtr b = to_dlpack(t);
  EXPECT_FALSE(t.writable()) << "a write of ours must not be seen by the consumer";
  t = Tensor();
  a.reset();
  EXPECT_EQ(released, 0);
  // Handed over: the consumer calls what it finds in the structure, on any thread.
  DLManagedTensorVersioned* raw = b.release();
  std::thread([raw] {
    dlpack::ManagedTensorVersioned m;
    std::memcpy(&m, static_cast<const void*>(raw), sizeof m);
    EXPECT_EQ(static_cast<const float*>(m.array.data)[3], 4);
    m.deleter(raw);
  }).join();
  EXPECT_EQ(released, 1);
}

TEST(ToDLPack, ReadOnlyTensorsLeaveWithTheFlagOrAsACopy) {
  Tensor t = Tensor::from<float>({1, 2, 3}, {3});
  Storage s = t.storage();
  s.set_read_only();
  const auto versioned = to_dlpack(t);
  EXPECT_EQ(seen(versioned).flags, dlpack::flag_read_only);
  EXPECT_EQ(seen(versioned).array.data, t.raw());
  const auto unversioned = to_dlpack_unversioned(t);
  EXPECT_NE(seen(unversioned).array.data, t.raw());
  static_cast<float*>(seen(unversioned).array.data)[0] = 9;
  EXPECT_EQ(t.at({0}), 1);
  const auto copy = to_dlpack(t, {.copy = true});
  EXPECT_EQ(seen(copy).flags, dlpack::flag_copied);
  EXPECT_NE(seen(copy).array.data, t.raw());
}

TEST(ToDLPack, ConsumersWithoutNegativeStridesGetACopy) {
  const Tensor t = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto flipped = to_dlpack(t.flip({1}), {.negative_strides = false});
  EXPECT_EQ(seen(flipped).flags, dlpack::flag_copied);
  EXPECT_EQ(seen(flipped).array.strides[0], 3);
  EXPECT_EQ(seen(flipped).array.strides[1], 1);
  EXPECT_EQ(static_cast<float*>(seen(flipped).array.data)[0], 3);
  EXPECT_EQ(seen(to_dlpack(t.flip({1}))).array.strides[1], -1);
  // No copy where none is needed.
  EXPECT_EQ(seen(to_dlpack(t.permute({1, 0}), {.negative_strides = false})).flags, 0u);
  EXPECT_EQ(seen(to_dlpack(t.narrow(1, 1, 1).flip({1}), {.negative_strides = false})).flags, 0u);
}

TEST(ToDLPack, ConsumersWithoutWideUnsignedGetSignedOnes) {
  for (DType d : all_dtypes) {
    const DType expected = d == DType::u16 ? DType::i32 : d == DType::u32 || d == DType::u64 ? DType::i64 : d;
    const auto p = to_dlpack(Tensor::zeros(d, {2}), {.wide_unsigned = false});
    EXPECT_EQ(seen(p).flags, expected == d ? 0u : dlpack::flag_copied) << name_of(d);
    EXPECT_EQ(seen(p).array.dtype.bits, 8 * size_of(expected));
    EXPECT_EQ(seen(p).array.dtype.code == dlpack::code_uint, expected == DType::u8);
  }
  const auto p =
      to_dlpack(Tensor::from<std::uint64_t>({7, ~std::uint64_t{0}}, {2}).flip({0}), {.wide_unsigned = false});
  EXPECT_EQ(static_cast<std::int64_t*>(seen(p).array.data)[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(static_cast<std::int64_t*>(seen(p).array.data)[1], 7);
}

TEST(FromDLPack, RoundTripsEveryTypeAndLayoutWithoutACopy) {
  Engine e(41);
  for (int round = 0; round < 600; ++round) {
    const Tensor t =
        random_layout(e, all_dtypes[draw(e, 0, 11)], random_shape(e, static_cast<int>(draw(e, 0, 6)), 4, true));
    const Tensor back =
        round % 2 ? from_dlpack(to_dlpack(t).release()) : from_dlpack(to_dlpack_unversioned(t).release());
    ASSERT_EQ(back.dtype(), t.dtype());
    ASSERT_TRUE(back.equal(t));
    if (t.numel() == 0) continue;
    ASSERT_EQ(back.raw(), t.raw());
    for_each_index(t.shape(), [&](const Index& i) { ASSERT_EQ(address(back, i), address(t, i)); });
  }
}

TEST(FromDLPack, TheDeleterIsCalledOnceByTheLastHandle) {
  float memory[6] = {1, 2, 3, 4, 5, 6};
  Versioned v(memory, f32, {2, 3});
  Unversioned u(memory, f32, {2, 3}, {1, 2});
  {
    Tensor a = from_dlpack(v.pointer()), b = from_dlpack(u.pointer());
    EXPECT_EQ(a.at({1, 0}), 4);
    EXPECT_EQ(b.at({1, 0}), 2);
    const Tensor view = a.select(0, 1);
    a = Tensor();
    EXPECT_EQ(v.deleted, 0);
    EXPECT_EQ(view.at({2}), 6);
  }
  EXPECT_EQ(v.deleted, 1);
  EXPECT_EQ(u.deleted, 1);
  Versioned none(memory, f32, {6});
  none.abi.deleter = nullptr;
  EXPECT_EQ(from_dlpack(none.pointer()).at({5}), 6);
}

TEST(FromDLPack, ReadsOffsetsStridesAndOddities) {
  float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Versioned v(memory, f32, {2, 2}, {-4, 2});
  v.abi.array.byte_offset = 16;
  const Tensor t = from_dlpack(v.pointer());
  EXPECT_TRUE(t.equal(Tensor::from<float>({4, 6, 0, 2}, {2, 2})));
  EXPECT_EQ(t.storage().data(), reinterpret_cast<std::byte*>(memory));
  EXPECT_EQ(t.storage().bytes(), 28u);
  Versioned scalar(memory + 3, f32, {});
  scalar.abi.array.shape = nullptr;
  EXPECT_EQ(from_dlpack(scalar.pointer()).item(), 3);
  // A broadcast one; strides of axes of one element mean nothing.
  Versioned repeated(memory + 1, f32, {3, 1}, {0, std::numeric_limits<std::int64_t>::min()});
  EXPECT_TRUE(from_dlpack(repeated.pointer()).flip({1}).equal(Tensor::from<float>({1, 1, 1}, {3, 1})));
  Versioned empty(nullptr, f32, {3, 0});
  EXPECT_EQ(from_dlpack(empty.pointer()).shape(), (Shape{3, 0}));
  EXPECT_EQ(empty.deleted, 1);
  std::uint8_t flags[3] = {0, 1, 1};
  Versioned boolean(flags, {dlpack::code_bool, 8, 1}, {3});
  EXPECT_TRUE(from_dlpack(boolean.pointer()).equal(Tensor::from<std::uint8_t>({0, 1, 1}, {3})));
}

TEST(FromDLPack, WritesReachTheProducerOnlyWhereAgreed) {
  struct Case {
    bool versioned;
    std::uint64_t flags;
    bool write_through, in_place;
  };
  for (const Case& c : {Case{true, 0, false, false}, Case{true, 0, true, true},
                        Case{true, dlpack::flag_read_only, false, false}, Case{true, dlpack::flag_copied, false, true},
                        Case{true, dlpack::flag_read_only | dlpack::flag_copied, false, false},
                        Case{false, 0, false, false}, Case{false, 0, true, true}}) {
    float memory[2] = {1, 2};
    Versioned v(memory, f32, {2});
    v.abi.flags = c.flags;
    Unversioned u(memory, f32, {2});
    const FromDLPackOptions options{.write_through = c.write_through};
    Tensor t = c.versioned ? from_dlpack(v.pointer(), options) : from_dlpack(u.pointer(), options);
    t.add_(5);
    EXPECT_EQ(t.at({0}), 6);
    EXPECT_EQ(memory[0], c.in_place ? 6 : 1) << c.versioned << c.flags << c.write_through;
  }
}

TEST(FromDLPack, RefusesTheRestAndStillCallsTheDeleter) {
  alignas(8) float memory[8] = {};
  using Change = void (*)(Versioned&);
  const std::pair<const char*, Change> cases[] = {
      {"version 2.0",
       [](Versioned& v) {
         v.abi.version = {2, 0};
       }},
      {"version 0.8",
       [](Versioned& v) {
         v.abi.version = {0, 8};
       }},
      {"device type 2", [](Versioned& v) { v.abi.array.device.type = 2; }},
      {"device type 3", [](Versioned& v) { v.abi.array.device.type = 3; }},
      {"4 lanes", [](Versioned& v) { v.abi.array.dtype.lanes = 4; }},
      {"0 lanes", [](Versioned& v) { v.abi.array.dtype.lanes = 0; }},
      {"type code 5",
       [](Versioned& v) {
         v.abi.array.dtype = {5, 64, 1};
       }},
      {"8 bits",
       [](Versioned& v) {
         v.abi.array.dtype = {dlpack::code_float, 8, 1};
       }},
      {"128 bits",
       [](Versioned& v) {
         v.abi.array.dtype = {dlpack::code_int, 128, 1};
       }},
      {"4 bits",
       [](Versioned& v) {
         v.abi.array.dtype = {dlpack::code_uint, 4, 1};
       }},
      {"32 bits",
       [](Versioned& v) {
         v.abi.array.dtype = {dlpack::code_bool, 32, 1};
       }},
      {"7 axes", [](Versioned& v) { v.abi.array.rank = 7; }},
      {"-1 axes", [](Versioned& v) { v.abi.array.rank = -1; }},
      {"without a shape", [](Versioned& v) { v.abi.array.shape = nullptr; }},
      {"negative size", [](Versioned& v) { v.shape[0] = -2; }},
      {"address space", [](Versioned& v) { v.shape[0] = std::int64_t{1} << 48; }},
      {"63 bits",
       [](Versioned& v) {
         v.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40}, v.abi.array.shape = v.shape.data(),
         v.abi.array.rank = 2;
       }},
      {"address space",
       [](Versioned& v) {
         v.strides = {std::numeric_limits<std::int64_t>::max()}, v.abi.array.strides = v.strides.data();
       }},
      {"address space",
       [](Versioned& v) {
         v.strides = {std::numeric_limits<std::int64_t>::min()}, v.abi.array.strides = v.strides.data();
       }},
      {"null address", [](Versioned& v) { v.abi.array.data = nullptr; }},
      {"byte offset", [](Versioned& v) { v.abi.array.byte_offset = ~std::uint64_t{0}; }},
      {"not aligned to 4", [](Versioned& v) { v.abi.array.byte_offset = 2; }},
  };
  for (const auto& [message, change] : cases) {
    Versioned v(memory, f32, {2});
    change(v);
    try {
      from_dlpack(v.pointer());
      ADD_FAILURE() << message;
    } catch (const std::logic_error& x) {
      EXPECT_NE(std::string(x.what()).find(message), std::string::npos) << message << ": " << x.what();
    }
    EXPECT_EQ(v.deleted, 1) << message;
  }
  Versioned v(memory, f32, {2});
  v.abi.flags = dlpack::flag_read_only;
  EXPECT_THROW(from_dlpack(v.pointer(), {.write_through = true}), std::invalid_argument);
  EXPECT_EQ(v.deleted, 1);
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensor*>(nullptr)), std::invalid_argument);
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)), std::invalid_argument);
}

}  // namespace
