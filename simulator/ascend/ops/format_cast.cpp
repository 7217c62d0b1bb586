// Between the layouts that programs see and FRACTAL_NZ (Note [Fractal layout]).
#include <algorithm>
#include <cstring>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/ops/fractal.h"

using namespace sim;

namespace {

constexpr Types kTypes = kF | kI8 | kU8 | kI32 | only(ACL_UINT32);

bool is_plain(int format) {
  switch (format) {
    case ACL_FORMAT_ND:
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NCL:
    case ACL_FORMAT_NCDHW:
      return true;
    default:
      return false;
  }
}

Shape blocks_by(const Shape& matrices, int64_t width) {
  Shape blocks(matrices.begin(), matrices.end() - 2);
  blocks.insert(blocks.end(),
                {quotient_up(matrices.back(), width),
                 quotient_up(matrices[matrices.size() - 2], kBlockRows), kBlockRows, width});
  return blocks;
}

// The blocks' width follows from the storage shape.
Operand blocked(Planner& p, const aclTensor* tensor, const char* name, bool output) {
  const Operand operand =
      output ? p.fractal_output(tensor, name, kTypes) : p.fractal_input(tensor, name, kTypes);
  p.check_rank(operand, 2, 6);
  p.check(operand.view->contiguous(), std::string(name) + " must be whole matrices");
  const Shape& storage = tensor->storage_shape;
  p.check(!storage.empty() && storage.back() > 0 &&
              storage == blocks_by(operand.shape(), storage.back()),
          std::string(name) + " has the storage shape " + shape_text(storage) +
              ", which are no blocks of its matrices");
  const int64_t bytes = count(storage) * operand.view->item();
  output ? p.writes_bytes(operand, bytes) : p.reads_bytes(operand, bytes);
  return operand;
}

}  // namespace

extern "C" {

SIM_SIGNATURE(NpuFormatCast, const aclTensor* srcTensor, aclTensor* dstTensor) {
  return plan("aclnnNpuFormatCast", workspaceSize, executor, [&](Planner& p) {
    const bool from_blocks = is_fractal(srcTensor);
    const bool to_blocks = is_fractal(dstTensor);
    const Operand from = from_blocks ? blocked(p, srcTensor, "srcTensor", false)
                                     : p.input(srcTensor, "srcTensor", kTypes);
    const Operand to = to_blocks ? blocked(p, dstTensor, "dstTensor", true)
                                 : p.output(dstTensor, "dstTensor", kTypes);
    p.check(from_blocks != to_blocks, "one of srcTensor and dstTensor must be FRACTAL_NZ");
    p.check(from.dtype() == to.dtype(), "dstTensor must have the dtype of srcTensor");
    p.check_shape(to, from.shape());
    if (from.numel() == 0) return;
    const Shape storage = (from_blocks ? srcTensor : dstTensor)->storage_shape;
    p.run([=](Launch& launch) {
      const View& source = get(launch, from);
      const View& target = get(launch, to);
      if (from_blocks) return copy_blocks(target, source.data, storage.back(), false);
      std::memset(target.data, 0, z(count(storage) * target.item()));
      copy_blocks(source, target.data, storage.back(), true);
    });
  });
}

// What the destination must be. The caller frees the shape.
aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor,
                                                     int dstFormat,
                                                     int additionalDtype,
                                                     int64_t** dstShape,
                                                     uint64_t* dstShapeSize,
                                                     int* actualFormat) {
  if (const aclError error = enter_call("aclnnNpuFormatCastCalculateSizeAndFormat")) return error;
  if (srcTensor == nullptr || dstShape == nullptr || dstShapeSize == nullptr ||
      actualFormat == nullptr) {
    return fail(kNullPointer, "a required pointer is null");
  }
  if (object_id(srcTensor) == 0) return fail(kInvalid, "srcTensor was destroyed before");
  const bool to_blocks = dstFormat == ACL_FORMAT_FRACTAL_NZ && is_plain(srcTensor->format);
  if (!to_blocks && !(is_plain(dstFormat) && is_fractal(srcTensor))) {
    return fail(kInvalid, "format " + std::to_string(srcTensor->format) + " to " +
                              std::to_string(dstFormat) + " is not simulated");
  }
  const auto dtype = additionalDtype < 0 ? srcTensor->dtype : static_cast<DType>(additionalDtype);
  const auto item = static_cast<int64_t>(item_bytes(dtype));
  if (!contains(kTypes, srcTensor->dtype) || item == 0 || item > kBlockBytes) {
    return fail(kInvalid, "srcTensor or additionalDtype has a dtype that is not supported");
  }
  if (srcTensor->shape.size() < 2 || srcTensor->shape.size() > 6) {
    return fail(kInvalid, "srcTensor must have 2 to 6 dims");
  }
  const Shape shape =
      to_blocks ? blocks_by(srcTensor->shape, kBlockBytes / item) : srcTensor->shape;
  *dstShape = new int64_t[shape.size()];
  std::copy(shape.begin(), shape.end(), *dstShape);
  *dstShapeSize = shape.size();
  *actualFormat = dstFormat;
  return 0;
}
}
