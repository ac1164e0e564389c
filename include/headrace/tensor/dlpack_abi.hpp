// DLPack's structures, byte for byte (ABI version 1; https://dmlc.github.io/dlpack/latest/c_api.html), in a namespace
// of our own: they clash with no <dlpack/dlpack.h> of any age. For programs without that header, and for our own use.
//
// The two structures that travel are also declared, and only declared, under their C names: pointers to them go to and
// from code that includes the real header, in either order of inclusion.
#pragma once

#include <cstddef>
#include <cstdint>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace headrace::dlpack {

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint32_t minor_version = 0;

inline constexpr std::int32_t device_cpu = 1;

// Codes of DataType.
inline constexpr std::uint8_t code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4, code_bool = 6;

// Flags of ManagedTensorVersioned.
inline constexpr std::uint64_t flag_read_only = 1;  // the consumer must not write
inline constexpr std::uint64_t flag_copied = 2;     // nobody but the consumer sees the memory

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Array {  // DLTensor
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Array array;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  Array array;
};

#if defined(__LP64__)
static_assert(sizeof(Array) == 48 && offsetof(Array, rank) == 16 && offsetof(Array, dtype) == 20 &&
              offsetof(Array, shape) == 24);
static_assert(sizeof(ManagedTensor) == 64 && offsetof(ManagedTensor, deleter) == 56);
static_assert(sizeof(ManagedTensorVersioned) == 80 && offsetof(ManagedTensorVersioned, flags) == 24 &&
              offsetof(ManagedTensorVersioned, array) == 32);
#endif

}  // namespace headrace::dlpack
