#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/ascend/nnopbase/dtype.h"

// What CANN's programs describe tensors with. Opaque to them: only these libraries look inside.

struct aclTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  std::vector<int64_t> storage_shape;
  int64_t offset = 0;  // in elements
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;  // of the storage
};

struct aclScalar {
  aclDataType dtype = ACL_DT_UNDEFINED;
  alignas(16) std::array<char, 16> bytes{};

  SIM_API double real() const;
  SIM_API int64_t integer() const;
  SIM_API std::complex<double> complex() const;
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<char> values;
};
struct aclTensorList {
  std::vector<aclTensor*> tensors;  // owned
};
struct aclScalarList {
  std::vector<aclScalar*> scalars;  // owned
};

namespace sim {

inline constexpr aclnnStatus kNullPointer = 161001;
inline constexpr aclnnStatus kInvalid = 161002;

// The number that an object got when it was created; 0 when no such object lives (any more).
SIM_API uint64_t object_id(const void* object);

// Bits of 16-bit floats and what they mean.
SIM_API float from_half(uint16_t bits);
SIM_API uint16_t to_half(float value);
SIM_API float from_bfloat(uint16_t bits);
SIM_API uint16_t to_bfloat(float value);

SIM_API std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace sim
