// Weights in the device's own layouts: how large they are, and how they get there.
#include <cstdlib>
#include <numeric>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/ops/fractal.h"
#include "simulator/ascend/ops/quant.h"

using namespace sim;

namespace {

// The functions here run on the host at once; a Rejected becomes their status.
template <class F>
aclnnStatus on_host(const char* function, F&& f) {
  if (const aclError error = enter_call(function)) return error;
  try {
    f();
  } catch (const Rejected& rejected) {
    return fail(rejected.status, rejected.text);
  }
  return 0;
}

void check(bool ok, const std::string& text) {
  if (!ok) throw Rejected{kInvalid, text};
}
void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Rejected{kNullPointer, std::string(name) + " is null"};
}

Shape weight_shape(const aclIntArray* array, size_t least, size_t most) {
  check_given(array, "tensorShape");
  check(object_id(array) != 0, "tensorShape was destroyed before");
  const Shape shape = array->values;
  check(shape.size() >= least && shape.size() <= most,
        "tensorShape has " + std::to_string(shape.size()) + " dimensions, expected are " +
            std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)));
  for (const int64_t size : shape) {
    check(size >= 0 && size < kMostElements, "tensorShape has a size that no tensor has");
  }
  return shape;
}

uint64_t checked_count(const Shape& shape) {
  const int64_t n = count(shape);
  check(n < kMostElements, "tensorShape has more elements than any device");
  return static_cast<uint64_t>(n);
}

int64_t up_to(int64_t size, int64_t block) { return quotient_up(size, block) * block; }

// CANN knows two sizes of blocks: of 16-bit numbers, and of all others as of INT8.
uint64_t matmul_weight_size(Shape shape, DType dtype) {
  const bool halves = dtype == ACL_FLOAT16 || dtype == ACL_BF16;
  const size_t last = shape.size() - 1;
  shape[last - 1] = up_to(shape[last - 1], kBlockRows);
  shape[last] = up_to(shape[last], block_width(halves ? dtype : ACL_INT8));
  return checked_count(shape);
}

}  // namespace

extern "C" {

aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape,
                                           uint64_t* weightTensorSize) {
  return on_host("aclnnCalculateMatmulWeightSize", [&] {
    const Shape shape = weight_shape(tensorShape, 2, 3);
    check_given(weightTensorSize, "weightTensorSize");
    *weightTensorSize = matmul_weight_size(shape, ACL_FLOAT16);
  });
}
aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape,
                                             aclDataType dataType,
                                             uint64_t* weightTensorSize) {
  return on_host("aclnnCalculateMatmulWeightSizeV2", [&] {
    const Shape shape = weight_shape(tensorShape, 2, 6);
    check_given(weightTensorSize, "weightTensorSize");
    check(item_bytes(dataType) != 0, "dataType is " + std::to_string(dataType));
    check(count(shape) != 0, "tensorShape has a size of 0");
    *weightTensorSize = matmul_weight_size(shape, dataType);
  });
}

// FRACTAL_Z: [channels in blocks, kernel] x [outputs in blocks]. As many groups as fill a block
// together share it. CANN answers on Ascend310P only, where convolutions take such weights.
aclnnStatus aclnnCalculateConvolutionWeightSize(const aclIntArray* tensorShape,
                                                bool transposed,
                                                int64_t groups,
                                                aclDataType dataType,
                                                uint64_t* weightTensorSize) {
  return on_host("aclnnCalculateConvolutionWeightSize", [&] {
    constexpr int64_t kMostGroups = 65535;
    const Shape shape = weight_shape(tensorShape, 4, 4);
    check_given(weightTensorSize, "weightTensorSize");
    check(!transposed, "transposed is true, expected is false");
    check(groups >= 1 && groups <= kMostGroups,
          "groups is " + std::to_string(groups) + ", expected is a value in [1, 65535]");
    check(dataType == ACL_FLOAT16,
          "dataType is " + std::string(dtype_name(dataType)) + ", supported is FLOAT16");
    check(shape[0] % groups == 0, "groups must divide the first size of tensorShape");
    checked_count(shape);
    *weightTensorSize = 0;
    if (count(shape) == 0) return;
    const int64_t inputs = shape[1];
    const int64_t outputs = shape[0] / groups;
    const auto to_fill = [](int64_t n) { return kBlockRows / std::gcd(n, kBlockRows); };
    const int64_t shared = std::min(std::lcm(to_fill(inputs), to_fill(outputs)), groups);
    *weightTensorSize =
        checked_count({quotient_up(groups, shared), up_to(shared * inputs, kBlockRows),
                       up_to(shared * outputs, kBlockRows), shape[2], shape[3]});
  });
}

// The memory must have room for whole blocks: what the matrix does not need of them becomes zero.
SIM_SIGNATURE(TransMatmulWeight, aclTensor* mmWeightRef) {
  return plan("aclnnTransMatmulWeight", workspaceSize, executor, [&](Planner& p) {
    const Operand weight = p.inout(mmWeightRef, "mmWeightRef", kF16 | kBF16 | kI8);
    const FractalMatrix matrices = matrices_of(p, weight);
    const Shape shape = matrices.stored();
    const DType dtype = weight.dtype();
    const int64_t bytes = block_bytes(shape, dtype);
    p.writes_bytes(weight, bytes);
    if (weight.numel() == 0) return;
    const uint64_t at = p.workspace(bytes);
    p.run([=](Launch& launch) {
      char* const data = get(launch, weight).data;
      char* const blocks = launch.workspace(at);
      std::fill(blocks, blocks + bytes, char{0});
      copy_blocks(contiguous_view(data, dtype, shape), blocks, block_width(dtype), true);
      std::copy(blocks, blocks + bytes, data);
    });
    // From here on the description says how its elements will lie.
    mmWeightRef->format = ACL_FORMAT_FRACTAL_NZ;
    mmWeightRef->storage_shape = blocks_of(shape, dtype);
  });
}

// The caller frees the result. Several words come in sixteens, the last ones zero.
aclnnStatus aclnnTransQuantParam(const float* scaleArray,
                                 uint64_t scaleSize,
                                 const float* offsetArray,
                                 uint64_t offsetSize,
                                 uint64_t** quantParam,
                                 uint64_t* quantParamSize) {
  return on_host("aclnnTransQuantParam", [&] {
    constexpr uint64_t kMost = uint64_t{1} << 32;
    constexpr uint64_t kStep = 16;
    check_given(scaleArray, "scaleArray");
    check_given(quantParam, "quantParam");
    check_given(quantParamSize, "quantParamSize");
    check(scaleSize >= 1, "scaleSize is 0");
    check((offsetArray == nullptr) == (offsetSize == 0),
          "offsetSize must be 0 when offsetArray is null, and only then");
    check(scaleSize <= kMost && offsetSize <= kMost, "scaleSize or offsetSize is beyond reason");
    const uint64_t n = std::max(scaleSize, offsetSize);
    const uint64_t words = n == 1 ? 1 : (n + kStep - 1) / kStep * kStep;
    auto* const result = static_cast<uint64_t*>(std::calloc(words, sizeof(uint64_t)));
    if (result == nullptr) throw Rejected{kInnerNull, "the host has no memory for quantParam"};
    for (uint64_t i = 0; i < scaleSize; ++i) result[i] = pack_scale(scaleArray[i]);
    for (uint64_t i = 0; i < offsetSize; ++i) result[i] |= pack_offset(offsetArray[i]);
    *quantParam = result;
    *quantParamSize = words;
  });
}
}
