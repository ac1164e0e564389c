// The structures are read and written as bytes (memcpy), never through our own types in place: the other side knows the
// same memory under other type names, and a compiler that sees both sides may take differently named types for
// different memory.
#include <array>
#include <cstring>
#include <headrace/tensor/dlpack.hpp>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

__extension__ using Int128 = __int128;

// Beyond any address space; products of two such numbers stay far inside 128 bits.
constexpr std::int64_t max_extent = std::int64_t{1} << 47;

dlpack::DataType type_of(DType t) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(t));
  switch (t) {
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return {dlpack::code_uint, bits, 1};
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return {dlpack::code_int, bits, 1};
    case DType::bf16:
      return {dlpack::code_bfloat, bits, 1};
    case DType::f16:
    case DType::f32:
    case DType::f64:
      break;
  }
  return {dlpack::code_float, bits, 1};
}

DType dtype_from(const dlpack::DataType& t) {
  if (t.lanes == 1) {
    if (t.code == dlpack::code_bool && t.bits == 8) return DType::u8;
    for (DType d : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64, DType::i64,
                    DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const dlpack::DataType known = type_of(d);
      if (known.code == t.code && known.bits == t.bits) return d;
    }
  }
  throw std::invalid_argument("a DLPack tensor of type code " + std::to_string(t.code) + ", " + std::to_string(t.bits) +
                              " bits and " + std::to_string(t.lanes) +
                              " lanes: expected one lane of int or uint (8 to 64 bits), float (16, 32, 64), "
                              "bfloat (16) or bool (8)");
}

DType type_for(DType t, const ToDLPackOptions& options) noexcept {
  if (options.wide_unsigned) return t;
  if (t == DType::u16) return DType::i32;
  return t == DType::u32 || t == DType::u64 ? DType::i64 : t;
}

bool runs_backwards(const Tensor& t) noexcept {
  for (int d = 0; d < t.rank(); ++d)
    if (t.strides()[d] < 0 && t.shape()[d] > 1) return true;
  return false;
}

struct Leaving {
  Tensor tensor;
  bool copied;
};

Leaving prepare(const Tensor& t, const ToDLPackOptions& options, bool flag_for_read_only) {
  if (!t.defined()) throw std::invalid_argument("a tensor without memory cannot leave by DLPack");
  const DType dtype = type_for(t.dtype(), options);
  if (dtype != t.dtype()) return {t.to(dtype), true};
  if (options.copy || (!options.negative_strides && runs_backwards(t)) ||
      (!flag_for_read_only && t.storage().read_only()))
    return {t.clone(), true};
  return {t, false};
}

// One allocation: the structure the consumer sees (first, so that its address is ours) and what it points to.
template <class Abi>
struct Export {
  alignas(Abi) std::array<std::byte, sizeof(Abi)> abi;
  Tensor tensor;
  std::array<std::int64_t, max_rank> shape{}, strides{};
};

template <class Abi, class C>
void delete_export(C* self) {
  delete reinterpret_cast<Export<Abi>*>(self);
}

template <class Abi, class C>
C* leave(Leaving leaving, Abi abi) {
  auto out = std::make_unique<Export<Abi>>();
  out->tensor = std::move(leaving.tensor);
  const Tensor& t = out->tensor;
  for (int d = 0; d < t.rank(); ++d) {
    out->shape[static_cast<std::size_t>(d)] = t.shape()[d];
    out->strides[static_cast<std::size_t>(d)] = t.strides()[d];
  }
  abi.array = {.data = t.numel() == 0 ? nullptr : const_cast<std::byte*>(t.raw()),
               .device = {dlpack::device_cpu, 0},
               .rank = t.rank(),
               .dtype = type_of(t.dtype()),
               .shape = out->shape.data(),
               .strides = out->strides.data(),
               .byte_offset = 0};
  abi.context = out.get();
  abi.deleter = &delete_export<Abi, C>;
  std::memcpy(out->abi.data(), &abi, sizeof abi);
  return reinterpret_cast<C*>(out.release());
}

template <class Abi, class C>
Abi read_abi(const C* tensor) noexcept {
  Abi abi;
  std::memcpy(&abi, static_cast<const void*>(tensor), sizeof abi);
  return abi;
}

// The tensor that an array describes. The owner passes to the storage once nothing can throw any more.
template <class Owner>
Tensor arrive(const dlpack::Array& a, bool read_only, Owner owner) {
  if (a.device.type != dlpack::device_cpu)
    throw std::invalid_argument("a DLPack tensor on device type " + std::to_string(a.device.type) +
                                ": only CPU memory (type 1) is taken");
  const DType dtype = dtype_from(a.dtype);
  if (a.rank < 0 || a.rank > max_rank)
    throw std::invalid_argument("a DLPack tensor of " + std::to_string(a.rank) + " axes: 0 to " +
                                std::to_string(max_rank) + " are taken");
  if (a.rank > 0 && !a.shape) throw std::invalid_argument("a DLPack tensor without a shape");
  Shape shape;
  for (int d = 0; d < a.rank; ++d) shape.push_back(a.shape[d]);
  const std::int64_t n = shape.numel();
  if (n > max_extent)
    throw std::length_error("a DLPack tensor of shape " + shape.str() + " does not fit the address space");

  Shape strides = shape;
  std::int64_t dense = 1;
  for (int d = a.rank - 1; d >= 0; --d) {
    strides[d] = a.strides ? a.strides[d] : dense;
    // The stride of an axis that is never stepped along means nothing, whatever the producer wrote there.
    if (n == 0 || shape[d] == 1) strides[d] = dense;
    dense *= shape[d] > 0 ? shape[d] : 1;
  }
  if (n == 0) {
    // The producer's memory, if any, is of no use: a storage of no bytes keeps only the promise to call its deleter.
    Storage nothing = Storage::wrap(nullptr, 0, read_only, [o = owner.get()] { Owner(o).reset(); });
    (void)owner.release();
    return Tensor(std::move(nothing), dtype, shape);
  }
  if (!a.data) throw std::invalid_argument("a DLPack tensor of shape " + shape.str() + " at a null address");
  if (a.byte_offset > static_cast<std::uint64_t>(max_extent))
    throw std::length_error("a DLPack tensor with a byte offset of " + std::to_string(a.byte_offset));
  Int128 low = 0, high = 0;
  for (int d = 0; d < a.rank; ++d) (strides[d] < 0 ? low : high) += static_cast<Int128>(strides[d]) * (shape[d] - 1);
  if (-low > max_extent || high > max_extent)
    throw std::length_error("a DLPack tensor of shape " + shape.str() + " and strides " + strides.str() +
                            " does not fit the address space");
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto first = reinterpret_cast<std::uintptr_t>(a.data) + a.byte_offset;
  if (first % static_cast<std::uintptr_t>(size) != 0)
    throw std::invalid_argument("a DLPack tensor of " + std::string(name_of(dtype)) + " that is not aligned to " +
                                std::to_string(size) + " bytes");
  std::byte* begin = static_cast<std::byte*>(a.data) + static_cast<std::int64_t>(a.byte_offset) +
                     static_cast<std::int64_t>(low) * size;
  Storage storage = Storage::wrap(begin, static_cast<std::size_t>(static_cast<std::int64_t>(high - low + 1) * size),
                                  read_only, [o = owner.get()] { Owner(o).reset(); });
  (void)owner.release();
  return Tensor(std::move(storage), dtype, shape, strides, static_cast<std::int64_t>(-low));
}

}  // namespace

namespace detail {
void DLPackDelete::operator()(DLManagedTensor* tensor) const noexcept {
  if (const auto deleter = read_abi<dlpack::ManagedTensor>(tensor).deleter) deleter(tensor);
}
void DLPackDelete::operator()(DLManagedTensorVersioned* tensor) const noexcept {
  // Everything before `array` keeps its place in every version, so this is right for a structure of any.
  constexpr std::size_t at = offsetof(dlpack::ManagedTensorVersioned, deleter);
  void (*deleter)(DLManagedTensorVersioned*) = nullptr;
  std::memcpy(&deleter, reinterpret_cast<const std::byte*>(tensor) + at, sizeof deleter);
  if (deleter) deleter(tensor);
}
}  // namespace detail

DLPackVersionedPtr to_dlpack(const Tensor& tensor, const ToDLPackOptions& options) {
  Leaving leaving = prepare(tensor, options, true);
  dlpack::ManagedTensorVersioned abi{};
  abi.version = {dlpack::major_version, dlpack::minor_version};
  abi.flags =
      (leaving.copied ? dlpack::flag_copied : 0) | (leaving.tensor.storage().read_only() ? dlpack::flag_read_only : 0);
  return DLPackVersionedPtr(leave<dlpack::ManagedTensorVersioned, DLManagedTensorVersioned>(std::move(leaving), abi));
}

DLPackPtr to_dlpack_unversioned(const Tensor& tensor, const ToDLPackOptions& options) {
  return DLPackPtr(leave<dlpack::ManagedTensor, DLManagedTensor>(prepare(tensor, options, false), {}));
}

Tensor from_dlpack(DLManagedTensorVersioned* tensor, const FromDLPackOptions& options) {
  if (!tensor) throw std::invalid_argument("a null DLPack tensor");
  DLPackVersionedPtr owner(tensor);
  dlpack::Version version;
  std::memcpy(&version, static_cast<const void*>(tensor), sizeof version);
  // Another major version may have another size: nothing behind the flags is read.
  if (version.major != dlpack::major_version)
    throw std::invalid_argument("a DLPack tensor of version " + std::to_string(version.major) + "." +
                                std::to_string(version.minor) + ": version 1 is taken");
  const auto abi = read_abi<dlpack::ManagedTensorVersioned>(tensor);
  const bool read_only = abi.flags & dlpack::flag_read_only;
  if (read_only && options.write_through)
    throw std::invalid_argument("a DLPack tensor that is read-only cannot be written through");
  return arrive(abi.array, read_only || !(options.write_through || (abi.flags & dlpack::flag_copied)),
                std::move(owner));
}

Tensor from_dlpack(DLManagedTensor* tensor, const FromDLPackOptions& options) {
  if (!tensor) throw std::invalid_argument("a null DLPack tensor");
  DLPackPtr owner(tensor);
  return arrive(read_abi<dlpack::ManagedTensor>(tensor).array, !options.write_through, std::move(owner));
}

}  // namespace headrace
