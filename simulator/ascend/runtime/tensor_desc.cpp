// aclTensorDesc and aclDataBuffer: data that programs hand to each other; nothing here computes on
// them.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/runtime/tensor_desc.h"

using namespace sim;

static constexpr int64_t kUnknownRank = -2;
static constexpr size_t kUnknownRankCount = static_cast<size_t>(kUnknownRank);

static bool is_rank_unknown(const aclTensorDesc& desc) {
  return desc.dims.size() == 1 && desc.dims[0] == kUnknownRank;
}

static aclError set_dims(std::vector<int64_t>& to, int count, const int64_t* dims) {
  if (count < 0) return fail(ACL_ERROR_INVALID_PARAM, "numDims is negative");
  if (count > 0 && !dims) return fail_null("dims");
  to.assign(dims, dims + count);
  return ACL_SUCCESS;
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType,
                                   int numDims,
                                   const int64_t* dims,
                                   aclFormat format) {
  if (enter("aclCreateTensorDesc", {{"dataType", dataType}, {"numDims", numDims}})) return nullptr;
  auto* desc = new aclTensorDesc;
  desc->dtype = dataType;
  desc->format = format;
  if (!set_dims(desc->dims, numDims, dims)) return desc;
  delete desc;
  return nullptr;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  if (!enter("aclDestroyTensorDesc", {{"desc", desc}})) delete desc;
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return desc ? desc->dtype : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return desc ? desc->format : ACL_FORMAT_UNDEFINED;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  if (!desc) return 0;
  size_t count = 1;
  for (const int64_t dim : desc->dims) count *= dim > 0 ? static_cast<size_t>(dim) : 0;
  return count;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc ? aclGetTensorDescElementCount(desc) * aclDataTypeSize(desc->dtype) : 0;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  if (!desc) return 0;
  return is_rank_unknown(*desc) ? kUnknownRankCount : desc->dims.size();
}

static aclError check_index(const char* function, const aclTensorDesc* desc, size_t index) {
  if (const aclError code = enter(function, {{"desc", desc}, {"index", index}})) return code;
  if (!desc) return fail_null("desc");
  if (index < desc->dims.size()) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "there are " + std::to_string(desc->dims.size()) +
                                           " dimensions, index is " + std::to_string(index));
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  return check_index("aclGetTensorDescDim", desc, index) ? -1 : desc->dims[index];
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  if (const aclError code = check_index("aclGetTensorDescDimV2", desc, index)) return code;
  if (!dimSize) return fail_null("dimSize");
  *dimSize = desc->dims[index];
  return ACL_SUCCESS;
}

aclError aclGetTensorDescDimRange(const aclTensorDesc* desc,
                                  size_t index,
                                  size_t dimRangeNum,
                                  int64_t* dimRange) {
  if (const aclError code = check_index("aclGetTensorDescDimRange", desc, index)) return code;
  if (!dimRange) return fail_null("dimRange");
  if (dimRangeNum < 2) return fail(ACL_ERROR_INVALID_PARAM, "dimRangeNum is below 2");
  const bool given = index < desc->ranges.size();
  dimRange[0] = given ? desc->ranges[index].first : desc->dims[index];
  dimRange[1] = given ? desc->ranges[index].second : desc->dims[index];
  return ACL_SUCCESS;
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  if (!enter("aclSetTensorDescName", {{"desc", desc}}) && desc) desc->name = name ? name : "";
}

const char* aclGetTensorDescName(aclTensorDesc* desc) { return desc ? desc->name.c_str() : ""; }

// An array of descriptions begins at its first; what this one stands for is not known to be one.
aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index) {
  if (enter("aclGetTensorDescByIndex", {{"desc", desc}, {"index", index}})) return nullptr;
  if (desc && index == 0) return desc;
  fail(ACL_ERROR_INVALID_PARAM, "there is no description at that index");
  return nullptr;
}

void* aclGetTensorDescAddress(const aclTensorDesc* desc) {
  if (!desc || desc->constant.empty()) return nullptr;
  return const_cast<char*>(desc->constant.data());
}

// Calls `change` unless there is nothing to change.
template <class F>
static aclError with_desc(const char* function, aclTensorDesc* desc, F change) {
  if (const aclError code = enter(function, {{"desc", desc}})) return code;
  if (!desc) return fail_null("desc");
  return change(*desc);
}

static aclError set_storage_format(const char* function, aclTensorDesc* desc, aclFormat format) {
  return with_desc(function, desc, [&](aclTensorDesc& d) {
    d.storage_format = format;
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return set_storage_format("aclSetTensorFormat", desc, format);
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) {
  return set_storage_format("aclSetTensorStorageFormat", desc, format);
}

static aclError set_storage_shape(const char* function,
                                  aclTensorDesc* desc,
                                  int numDims,
                                  const int64_t* dims) {
  return with_desc(function, desc,
                   [&](aclTensorDesc& d) { return set_dims(d.storage_dims, numDims, dims); });
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return set_storage_shape("aclSetTensorShape", desc, numDims, dims);
}

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return set_storage_shape("aclSetTensorStorageShape", desc, numDims, dims);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return with_desc("aclSetTensorOriginFormat", desc, [&](aclTensorDesc& d) {
    d.format = format;
    return ACL_SUCCESS;
  });
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return with_desc("aclSetTensorOriginShape", desc,
                   [&](aclTensorDesc& d) { return set_dims(d.dims, numDims, dims); });
}

static aclError set_ranges(std::vector<std::pair<int64_t, int64_t>>& to,
                           size_t count,
                           int64_t (*ranges)[2]) {
  if (count > 0 && !ranges) return fail_null("the range");
  to.clear();
  for (size_t i = 0; i < count; ++i) to.emplace_back(ranges[i][0], ranges[i][1]);
  return ACL_SUCCESS;
}

aclError aclSetTensorShapeRange(aclTensorDesc* desc,
                                size_t dimsCount,
                                int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return with_desc("aclSetTensorShapeRange", desc,
                   [&](aclTensorDesc& d) { return set_ranges(d.ranges, dimsCount, dimsRange); });
}

aclError aclSetTensorValueRange(aclTensorDesc* desc,
                                size_t valueCount,
                                int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  return with_desc("aclSetTensorValueRange", desc,
                   [&](aclTensorDesc& d) { return set_ranges(d.values, valueCount, valueRange); });
}

aclError aclSetTensorDynamicInput(aclTensorDesc* desc, const char* dynamicInputName) {
  return with_desc("aclSetTensorDynamicInput", desc, [&](aclTensorDesc& d) {
    if (!dynamicInputName) return fail_null("dynamicInputName");
    d.dynamic_input = dynamicInputName;
    return static_cast<int>(ACL_SUCCESS);
  });
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return with_desc("aclSetTensorConst", desc, [&](aclTensorDesc& d) {
    if (!dataBuffer || !length) return fail(ACL_ERROR_INVALID_PARAM, "there are no bytes");
    const auto* bytes = static_cast<const char*>(dataBuffer);
    d.constant.assign(bytes, bytes + length);
    return static_cast<int>(ACL_SUCCESS);
  });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return with_desc("aclSetTensorPlaceMent", desc, [&](aclTensorDesc& d) {
    d.placement = memType;
    return ACL_SUCCESS;
  });
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  if (enter("aclCreateDataBuffer", {{"data", data}, {"size", size}})) return nullptr;
  return new aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  if (const aclError code = enter("aclDestroyDataBuffer", {{"dataBuffer", dataBuffer}})) {
    return code;
  }
  if (!dataBuffer) return fail_null("dataBuffer");
  delete dataBuffer;
  return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  if (const aclError code = enter("aclUpdateDataBuffer", {{"data", data}, {"size", size}})) {
    return code;
  }
  if (!dataBuffer) return fail_null("dataBuffer");
  *dataBuffer = {data, size};
  return ACL_SUCCESS;
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return dataBuffer ? dataBuffer->data : nullptr;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return dataBuffer ? dataBuffer->size : 0;
}
