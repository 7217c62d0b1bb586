#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"

struct aclTensorDesc {
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> dims;
  std::vector<std::pair<int64_t, int64_t>> ranges;  // of the dims, where they were given
  std::vector<std::pair<int64_t, int64_t>> values;
  aclFormat storage_format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> storage_dims;
  std::string name;
  std::string dynamic_input;
  std::vector<char> constant;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
};

struct aclDataBuffer {
  void* data;
  size_t size;
};
