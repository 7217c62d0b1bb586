#pragma once

#include <cstdint>

// The structures of DLPack 1.x, whose layout its specification fixes.
namespace mindtorch::python::dlpack {

enum DeviceCode : int32_t {
  kCudaHost = 3,  // the others are in the rows of devices
};

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3fn = 10,
  kFloat8E4M3fnuz = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2fnuz = 13,
  kFloat8E8M0fnu = 14,
};

struct Device {
  int32_t device_type;
  int32_t device_id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Array {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // elements; null: contiguous
  uint64_t byte_offset;
};

struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Array array;
};

inline constexpr const char* kName = "dltensor";
inline constexpr const char* kUsedName = "used_dltensor";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

}  // namespace mindtorch::python::dlpack
