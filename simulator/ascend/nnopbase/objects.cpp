#include "simulator/ascend/nnopbase/objects.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/task.h"

namespace sim {
namespace {

constexpr uint64_t kMaxDims = 25;

// Which objects live, and under which number, so that a pointer to a destroyed one is known even
// after its address serves a new object.
class Registry {
 public:
  void add(const void* object) {
    const uint64_t id = next_.fetch_add(1, std::memory_order_relaxed);
    Shard& shard = shard_of(object);
    const std::scoped_lock lock(shard.mutex);
    shard.ids[object] = id;
  }
  bool remove(const void* object) {
    Shard& shard = shard_of(object);
    const std::scoped_lock lock(shard.mutex);
    return shard.ids.erase(object) != 0;
  }
  uint64_t find(const void* object) {
    Shard& shard = shard_of(object);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.ids.find(object);
    return found == shard.ids.end() ? 0 : found->second;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const void*, uint64_t> ids;
  };
  Shard& shard_of(const void* object) {
    return shards_[reinterpret_cast<uintptr_t>(object) / 64 % shards_.size()];
  }
  std::array<Shard, 16> shards_;
  std::atomic<uint64_t> next_{1};
};

Registry& registry() {
  static Registry* const instance = new Registry;  // outlives every thread
  return *instance;
}

template <class T>
T* created(T* object) {
  registry().add(object);
  return object;
}

template <class T>
aclnnStatus destroy(const char* function, const T* object) {
  if (const aclError error = enter_call(function)) return error;
  if (object == nullptr) return 0;
  if (!registry().remove(object)) {
    return fail(kInvalid, "the object was destroyed before");
  }
  delete object;
  return 0;
}

// Whether an array or a list can be made of what the caller gives.
bool takes(const char* function, const void* value, uint64_t size) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  if (enter_call(function) != 0) return false;
  if (size > kMost) fail(kInvalid, "size is beyond reason");
  if (value == nullptr && size > 0) fail(kNullPointer, "value is null");
  return size <= kMost && (value != nullptr || size == 0);
}

// 0 when `object` lives and `result` can be written.
aclnnStatus readable(const char* function, const void* object, const void* result) {
  if (const aclError error = enter_call(function)) return error;
  if (object == nullptr || result == nullptr) {
    return fail(kNullPointer, "a required pointer is null");
  }
  if (registry().find(object) == 0) {
    return fail(kInvalid, "the object was destroyed before");
  }
  return 0;
}

aclnnStatus give(const std::vector<int64_t>& values, int64_t** out, uint64_t* count) {
  *out = new int64_t[std::max<size_t>(values.size(), 1)];
  std::copy(values.begin(), values.end(), *out);
  *count = values.size();
  return 0;
}

bool describe(aclTensor& tensor,
              const int64_t* dims,
              uint64_t rank,
              aclDataType dtype,
              const int64_t* strides,
              int64_t offset,
              aclFormat format,
              const int64_t* storage_dims,
              uint64_t storage_rank,
              void* data) {
  if ((dims == nullptr && rank > 0) || (storage_dims == nullptr && storage_rank > 0)) {
    fail(kNullPointer, "viewDims or storageDims is null but its count is not 0");
    return false;
  }
  if (rank > kMaxDims || storage_rank > kMaxDims) {
    fail(kInvalid, "more than 25 dimensions");
    return false;
  }
  if (std::any_of(dims, dims + rank, [](int64_t dim) { return dim < 0; })) {
    fail(kInvalid, "viewDims has a negative size");
    return false;
  }
  tensor.shape.assign(dims, dims + rank);
  tensor.storage_shape.assign(storage_dims, storage_dims + storage_rank);
  if (strides != nullptr) {
    tensor.strides.assign(strides, strides + rank);
  } else {
    tensor.strides.assign(rank, 1);
    for (size_t i = rank; i-- > 1;) {
      const int64_t size = std::max<int64_t>(tensor.shape[i], 1);
      if (__builtin_mul_overflow(tensor.strides[i], size, &tensor.strides[i - 1])) {
        tensor.strides[i - 1] = std::numeric_limits<int64_t>::max();  // no op takes such a tensor
      }
    }
  }
  tensor.offset = offset;
  tensor.dtype = dtype;
  tensor.format = format;
  tensor.data = data;
  return true;
}

template <class T>
T* value_of(const aclScalar& scalar, T* value) {
  std::memcpy(value, scalar.bytes.data(), sizeof(T));
  return value;
}

}  // namespace

uint64_t object_id(const void* object) { return registry().find(object); }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text.append(i == 0 ? "" : ",").append(std::to_string(shape[i]));
  }
  return text + "]";
}

float from_bfloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

uint16_t to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // subnormal: adding 0.5 leaves the rounded bits at the end
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

}  // namespace sim

using namespace sim;

std::complex<double> aclScalar::complex() const {
  if (dtype == ACL_COMPLEX128) {
    std::complex<double> value;
    return *value_of(*this, &value);
  }
  if (dtype == ACL_COMPLEX64) {
    std::complex<float> value;
    return {value_of(*this, &value)->real(), value.imag()};
  }
  return real();
}

double aclScalar::real() const {
  switch (dtype) {
    case ACL_FLOAT: {
      float value = 0;
      return *value_of(*this, &value);
    }
    case ACL_DOUBLE: {
      double value = 0;
      return *value_of(*this, &value);
    }
    case ACL_FLOAT16: {
      uint16_t value = 0;
      return from_half(*value_of(*this, &value));
    }
    case ACL_BF16: {
      uint16_t value = 0;
      return from_bfloat(*value_of(*this, &value));
    }
    case ACL_COMPLEX64:
    case ACL_COMPLEX128:
      return complex().real();
    default:
      return static_cast<double>(integer());
  }
}

int64_t aclScalar::integer() const {
  switch (dtype) {
    case ACL_INT8: {
      int8_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_UINT8:
    case ACL_BOOL: {
      uint8_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_INT16: {
      int16_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_UINT16: {
      uint16_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_INT32: {
      int32_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_UINT32: {
      uint32_t value = 0;
      return *value_of(*this, &value);
    }
    case ACL_INT64:
    case ACL_UINT64: {
      int64_t value = 0;
      return *value_of(*this, &value);
    }
    default:
      return static_cast<int64_t>(real());
  }
}

extern "C" {

aclTensor* aclCreateTensor(const int64_t* viewDims,
                           uint64_t viewDimsNum,
                           aclDataType dataType,
                           const int64_t* stride,
                           int64_t offset,
                           aclFormat format,
                           const int64_t* storageDims,
                           uint64_t storageDimsNum,
                           void* tensorData) {
  if (enter_call("aclCreateTensor") != 0) return nullptr;
  auto tensor = std::make_unique<aclTensor>();
  if (!describe(*tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                storageDimsNum, tensorData)) {
    return nullptr;
  }
  return created(tensor.release());
}

aclnnStatus aclInitTensor(aclTensor* tensor,
                          const int64_t* viewDims,
                          uint64_t viewDimsNum,
                          aclDataType dataType,
                          const int64_t* stride,
                          int64_t offset,
                          aclFormat format,
                          const int64_t* storageDims,
                          uint64_t storageDimsNum,
                          void* tensorDataAddr) {
  if (const int error = readable("aclInitTensor", tensor, tensor)) return error;
  return describe(*tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                  storageDimsNum, tensorDataAddr)
             ? 0
             : kInvalid;
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  if (enter_call("aclCreateScalar") != 0) return nullptr;
  if (value == nullptr || item_bytes(dataType) == 0) {
    if (value == nullptr) fail(kNullPointer, "value is null");
    if (value != nullptr) fail(kInvalid, "there is no dataType " + std::to_string(dataType));
    return nullptr;
  }
  auto* scalar = new aclScalar;
  scalar->dtype = dataType;
  std::memcpy(scalar->bytes.data(), value, item_bytes(dataType));
  return created(scalar);
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  if (!takes("aclCreateIntArray", value, size)) return nullptr;
  return created(new aclIntArray{std::vector<int64_t>(value, value + size)});
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  if (!takes("aclCreateFloatArray", value, size)) return nullptr;
  return created(new aclFloatArray{std::vector<float>(value, value + size)});
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  if (!takes("aclCreateBoolArray", value, size)) return nullptr;
  return created(new aclBoolArray{std::vector<char>(value, value + size)});
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  if (!takes("aclCreateTensorList", value, size)) return nullptr;
  auto* list = new aclTensorList;
  for (uint64_t i = 0; i < size; ++i) list->tensors.push_back(const_cast<aclTensor*>(value[i]));
  return created(list);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  if (!takes("aclCreateScalarList", value, size)) return nullptr;
  auto* list = new aclScalarList;
  for (uint64_t i = 0; i < size; ++i) list->scalars.push_back(const_cast<aclScalar*>(value[i]));
  return created(list);
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return destroy("aclDestroyTensor", tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return destroy("aclDestroyScalar", scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy("aclDestroyIntArray", array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy("aclDestroyBoolArray", array);
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  std::vector<aclTensor*> members;
  if (array != nullptr && object_id(array) != 0) members = array->tensors;
  if (const int error = destroy("aclDestroyTensorList", array)) return error;
  int status = 0;
  for (aclTensor* member : members) {
    if (member == nullptr) continue;
    if (registry().remove(member)) {
      delete member;
    } else {
      status = fail(kInvalid, "a member, which the list owns, was destroyed");
    }
  }
  return status;
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  std::vector<aclScalar*> members;
  if (array != nullptr && object_id(array) != 0) members = array->scalars;
  if (const int error = destroy("aclDestroyScalarList", array)) return error;
  int status = 0;
  for (aclScalar* member : members) {
    if (member == nullptr) continue;
    if (registry().remove(member)) {
      delete member;
    } else {
      status = fail(kInvalid, "a member, which the list owns, was destroyed");
    }
  }
  return status;
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  if (const int error = readable("aclGetViewShape", tensor, viewDims)) return error;
  if (viewDimsNum == nullptr) return fail(kNullPointer, "viewDimsNum is null");
  return give(tensor->shape, viewDims, viewDimsNum);
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor,
                              int64_t** stridesValue,
                              uint64_t* stridesNum) {
  if (const int error = readable("aclGetViewStrides", tensor, stridesValue)) return error;
  if (stridesNum == nullptr) return fail(kNullPointer, "stridesNum is null");
  return give(tensor->strides, stridesValue, stridesNum);
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor,
                               int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  if (const int error = readable("aclGetStorageShape", tensor, storageDims)) return error;
  if (storageDimsNum == nullptr) {
    return fail(kNullPointer, "storageDimsNum is null");
  }
  return give(tensor->storage_shape, storageDims, storageDimsNum);
}
aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  if (const int error = readable("aclGetViewOffset", tensor, offset)) return error;
  *offset = tensor->offset;
  return 0;
}
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  if (const int error = readable("aclGetFormat", tensor, format)) return error;
  *format = tensor->format;
  return 0;
}
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  if (const int error = readable("aclGetDataType", tensor, dataType)) return error;
  *dataType = tensor->dtype;
  return 0;
}
aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  if (const int error = readable("aclGetRawTensorAddr", tensor, addr)) return error;
  *addr = tensor->data;
  return 0;
}
aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  if (const int error = readable("aclSetRawTensorAddr", tensor, tensor)) return error;
  tensor->data = addr;
  return 0;
}
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  if (const int error = readable("aclGetIntArraySize", array, size)) return error;
  *size = array->values.size();
  return 0;
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  if (const int error = readable("aclGetFloatArraySize", array, size)) return error;
  *size = array->values.size();
  return 0;
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  if (const int error = readable("aclGetBoolArraySize", array, size)) return error;
  *size = array->values.size();
  return 0;
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  if (const int error = readable("aclGetTensorListSize", tensorList, size)) return error;
  *size = tensorList->tensors.size();
  return 0;
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  if (const int error = readable("aclGetScalarListSize", scalarList, size)) return error;
  *size = scalarList->scalars.size();
  return 0;
}

// Not in the tables of headers, but in CANN's documents.
SIM_API aclnnStatus aclnnInit(const char*);
SIM_API aclnnStatus aclnnFinalize();

aclnnStatus aclnnInit(const char*) { return enter_call("aclnnInit"); }
aclnnStatus aclnnFinalize() { return enter_call("aclnnFinalize"); }
}
