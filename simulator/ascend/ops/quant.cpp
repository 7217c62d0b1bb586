// To int8 and back: with given scales, with scales of each line's own, and quantized values as
// floats.
#include "simulator/ascend/ops/quant.h"
#include "simulator/ascend/ops/groups.h"

using namespace sim;

namespace {

float rounded(float value, const std::string& mode) {
  if (mode == "floor") return std::floor(value);
  if (mode == "ceil") return std::ceil(value);
  if (mode == "trunc") return std::trunc(value);
  return std::nearbyint(value);
}

// Where in a list of `n` scales element `i` of a tensor finds its own, along a dim whose elements
// lie `inner` apart. One scale is for all.
size_t which(size_t i, size_t inner, size_t n) { return i / inner % n; }

size_t inner_of(const Shape& shape, int64_t axis) {
  return z(count(Shape(shape.begin() + axis + 1, shape.end())));
}

aclnnStatus ascend_quant(const char* op,
                         const aclTensor* x,
                         const aclTensor* scale,
                         const aclTensor* offset,
                         bool square,
                         const char* round_mode,
                         int32_t dtype,
                         int32_t axis,
                         const aclTensor* y,
                         uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan(op, workspace_size, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand s = p.input(scale, "scale", kF);
    const Operand o = p.optional(offset, "offset", kF);
    const std::string mode = p.text(round_mode, "roundMode");
    const QuantOut out = quant_output(p, y, "y");
    p.check(mode == "round" || mode == "floor" || mode == "ceil" || mode == "trunc",
            "roundMode is " + mode + ", expected is round, floor, ceil or trunc");
    p.check_rank(in, 1, 8);
    check_quant(p, out, dtype, in.shape());
    const int64_t dim = p.dim(axis, in.rank(), "axis");
    check_one_or(p, s, in.shape()[z(dim)]);
    if (o) check_count(p, o, s.numel());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values result = values(launch, in);
      const Values by = values(launch, s);
      const Values shift = values(launch, o);
      const size_t inner = inner_of(in.shape(), dim);
      for (size_t i = 0; i < result.size(); ++i) {
        const size_t k = which(i, inner, by.size());
        const float factor = square ? by[k] * by[k] : by[k];
        result[i] = std::clamp(rounded(result[i] * factor + (o ? shift[k] : 0), mode),
                               -out.most() - 1, out.most());
      }
      put(launch, out, result);
    });
  });
}

// y = x / scale, rounded; with offsets a line's range, not its magnitude, fills out's dtype.
void run_dynamic_quant(Planner& p,
                       const Operand& in,
                       const Operand& smooth,
                       const Groups& groups,
                       const QuantOut& out,
                       int64_t dtype,
                       const Operand& scale_out,
                       const Operand& offset_out) {
  p.check_rank(in, 2, 8);
  check_quant(p, out, dtype, in.shape());
  const Shape lead(in.shape().begin(), in.shape().end() - 1);
  p.check_shape(scale_out, lead);
  if (offset_out) p.check_shape(offset_out, lead);
  const int64_t width = in.shape().back();
  const int64_t experts = groups.given ? groups.tensor.numel() : 1;
  check_count(p, smooth, count({experts, width}));
  p.check(!groups.given || smooth, "groupIndexOptional needs smoothScalesOptional");
  if (in.numel() == 0) return;
  p.run([=](Launch& launch) {
    Values x = values(launch, in);
    const Values factors = values(launch, smooth);
    Values result(x.size());
    Values line_scales(z(count(lead)));
    Values line_offsets(line_scales.size());
    const size_t n = z(width);
    for_groups(launch, groups, count(lead), [&](size_t group, int64_t first, int64_t end) {
      for (size_t row = z(first); row < z(end); ++row) {
        float* const line = x.data() + row * n;
        for (size_t i = 0; smooth && i < n; ++i) line[i] *= factors[group * n + i];
        if (!offset_out) {
          line_scales[row] = quantize_line(line, n, result.data() + row * n, out.most());
          continue;
        }
        const auto [least, most] = std::minmax_element(line, line + n);
        const float scale = (*most - *least) / (2 * out.most() + 1);
        const float offset = out.most() - (scale == 0 ? 0 : *most / scale);
        line_scales[row] = scale;
        line_offsets[row] = offset;
        for (size_t i = 0; i < n; ++i) {
          result[row * n + i] = to_whole((scale == 0 ? 0 : line[i] / scale) + offset, out.most());
        }
      }
    });
    put(launch, out, result);
    put(launch, scale_out, line_scales);
    put(launch, offset_out, line_offsets);
  });
}

// round(x / scale) + zero point, kept inside [least, most], and back to a float.
void run_fake_quant(Planner& p,
                    const Operand& in,
                    const Operand& scale,
                    const Operand& zero,
                    int64_t axis,
                    bool enabled,
                    int64_t least,
                    int64_t most,
                    const Operand& out,
                    const Operand& mask) {
  p.check(least <= most, "quantMin must be at most quantMax");
  p.check_shape(out, in.shape());
  p.check_shape(mask, in.shape());
  if (in.numel() == 0) return;
  p.run([=](Launch& launch) {
    Values x = values(launch, in);
    const Values by = values(launch, scale);
    const Values at = values(launch, zero);
    const size_t inner = in.rank() == 0 ? 1 : inner_of(in.shape(), axis);
    std::vector<int64_t> inside(x.size(), 1);
    for (size_t i = 0; enabled && i < x.size(); ++i) {
      const size_t k = which(i, inner, by.size());
      const float whole = std::nearbyint(x[i] * (1 / by[k])) + at[k];
      const auto low = static_cast<float>(least);
      const auto high = static_cast<float>(most);
      inside[i] = whole >= low && whole <= high ? 1 : 0;
      x[i] = (std::clamp(whole, low, high) - at[k]) * by[k];
    }
    put(launch, out, x);
    store_all(get(launch, mask), inside);
  });
}

}  // namespace

extern "C" {

SIM_SIGNATURE(AscendQuant,
              const aclTensor* x,
              const aclTensor* scale,
              const aclTensor* offset,
              bool sqrtMode,
              const char* roundMode,
              int32_t dstType,
              const aclTensor* y) {
  return ascend_quant("aclnnAscendQuant", x, scale, offset, sqrtMode, roundMode, dstType, -1, y,
                      workspaceSize, executor);
}
SIM_SIGNATURE(AscendQuantV3,
              const aclTensor* x,
              const aclTensor* scale,
              const aclTensor* offset,
              bool sqrtMode,
              const char* roundMode,
              int32_t dstType,
              int32_t axis,
              const aclTensor* y) {
  return ascend_quant("aclnnAscendQuantV3", x, scale, offset, sqrtMode, roundMode, dstType, axis, y,
                      workspaceSize, executor);
}
SIM_SIGNATURE(AscendAntiQuant,
              const aclTensor* x,
              const aclTensor* scale,
              const aclTensor* offset,
              int64_t dstType,
              bool sqrtMode,
              const aclTensor* y) {
  return plan("aclnnAscendAntiQuant", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kI8 | kI4);
    const Operand s = p.input(scale, "scale", kF);
    const Operand o = p.optional(offset, "offset", kF);
    const Operand out = p.output(y, "y", kF16 | kBF16);
    p.check(dstType == out.dtype(), "dstType is not the dtype of y");
    p.check_rank(in, 1, 8);
    p.check_shape(out, in.shape());
    check_one_or(p, s, in.shape().back());
    if (o) check_count(p, o, s.numel());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values result = values(launch, in);
      const Values by = values(launch, s);
      const Values shift = values(launch, o);
      for (size_t i = 0; i < result.size(); ++i) {
        const float factor = repeated(by, i, 1);
        result[i] = (result[i] + repeated(shift, i, 0)) * factor * (sqrtMode ? factor : 1);
      }
      put(launch, out, result);
    });
  });
}

SIM_SIGNATURE(DynamicQuant,
              const aclTensor* x,
              const aclTensor* smoothScalesOptional,
              const aclTensor* yOut,
              const aclTensor* scaleOut) {
  return plan("aclnnDynamicQuant", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF16 | kBF16);
    const Operand smooth = p.optional(smoothScalesOptional, "smoothScalesOptional", kF16 | kBF16);
    const QuantOut out = quant_output(p, yOut, "yOut");
    const Operand scale = p.output(scaleOut, "scaleOut", kF32);
    run_dynamic_quant(p, in, smooth, {}, out, out.operand.dtype(), scale, {});
  });
}
SIM_SIGNATURE(DynamicQuantV2,
              const aclTensor* x,
              const aclTensor* smoothScalesOptional,
              const aclTensor* groupIndexOptional,
              int64_t dstType,
              const aclTensor* yOut,
              const aclTensor* scaleOut,
              const aclTensor* offsetOut) {
  return plan("aclnnDynamicQuantV2", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF16 | kBF16);
    const Operand smooth = p.optional(smoothScalesOptional, "smoothScalesOptional", kF16 | kBF16);
    const Groups groups = groups_of(p, groupIndexOptional, "groupIndexOptional", false);
    const QuantOut out = quant_output(p, yOut, "yOut");
    const Operand scale = p.output(scaleOut, "scaleOut", kF32);
    const Operand offset = p.optional_output(offsetOut, "offsetOut", kF32);
    run_dynamic_quant(p, in, smooth, groups, out, dstType, scale, offset);
  });
}

SIM_SIGNATURE(GroupQuant,
              const aclTensor* x,
              const aclTensor* scale,
              const aclTensor* groupIndex,
              const aclTensor* offsetOptional,
              int32_t dstType,
              aclTensor* y) {
  return plan("aclnnGroupQuant", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand s = p.input(scale, "scale", kF);
    Groups groups{true, p.input(groupIndex, "groupIndex", kIndex), {}, false};
    const Operand o = p.optional(offsetOptional, "offsetOptional", kF);
    const QuantOut out = quant_output(p, y, "y");
    p.check_rank(in, 2, 2);
    check_quant(p, out, dstType, in.shape());
    p.check_shape(s, {groups.tensor.numel(), in.shape()[1]});
    check_count(p, o, 1);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const Values from = values(launch, in);
      const Values by = values(launch, s);
      const float shift = repeated(values(launch, o), 0, 0);
      const size_t n = z(in.shape()[1]);
      Values result(from.size());
      for_groups(launch, groups, in.shape()[0], [&](size_t group, int64_t first, int64_t end) {
        for (size_t i = z(first) * n; i < z(end) * n; ++i) {
          result[i] = to_whole(from[i] * by[group * n + i % n] + shift, out.most());
        }
      });
      put(launch, out, result);
    });
  });
}

SIM_SIGNATURE(Quantize,
              const aclTensor* x,
              const aclTensor* scales,
              const aclTensor* zeroPoints,
              aclDataType dtype,
              int32_t axis,
              aclTensor* out) {
  return plan("aclnnQuantize", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kF);
    const Operand s = p.input(scales, "scales", kF32 | kBF16);
    const Operand zero = p.optional(zeroPoints, "zeroPoints", kI8 | kU8 | kI32 | kF32 | kBF16);
    const Operand target = p.output(out, "out", kI8 | kU8 | kI32);
    p.check(dtype == target.dtype(), "dtype is not the one of out");
    p.check_rank(in, 1, 8);
    p.check_shape(target, in.shape());
    const int64_t dim = p.dim(axis, in.rank(), "axis");
    check_one_or(p, s, in.shape()[z(dim)]);
    if (zero) check_count(p, zero, s.numel());
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      Values result = values(launch, in);
      const Values by = values(launch, s);
      const Values at = values(launch, zero);
      const size_t inner = inner_of(in.shape(), dim);
      for (size_t i = 0; i < result.size(); ++i) {
        const size_t k = which(i, inner, by.size());
        result[i] = std::nearbyint(result[i] / by[k]) + repeated(at, k, 0);
      }
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(DequantBias,
              const aclTensor* x,
              const aclTensor* weightScale,
              const aclTensor* activateScaleOptional,
              const aclTensor* biasOptional,
              int64_t outputDtype,
              const aclTensor* out) {
  return plan("aclnnDequantBias", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(x, "x", kI32);
    const Operand w = p.input(weightScale, "weightScale", kF32 | kBF16);
    const Operand a = p.optional(activateScaleOptional, "activateScaleOptional", kF32);
    const Operand b = p.optional(biasOptional, "biasOptional", kF | kI32);
    const Operand target = p.output(out, "out", kF16 | kBF16);
    p.check(outputDtype == target.dtype(), "outputDtype is not the dtype of out");
    p.check_rank(in, 2, 2);
    p.check_shape(target, in.shape());
    check_count(p, w, in.shape()[1]);
    check_count(p, a, in.shape()[0]);
    check_count(p, b, in.shape()[1]);
    if (in.numel() == 0) return;
    p.run([=](Launch& launch) {
      const auto from = load_all<double>(get(launch, in));
      const Values columns = values(launch, w);
      const Values rows = values(launch, a);
      const Values shift = values(launch, b);
      const size_t n = columns.size();
      const bool before = b && b.dtype() == ACL_INT32;  // in the unit of x
      Values result(from.size());
      for (size_t i = 0; i < from.size(); ++i) {
        const float start = static_cast<float>(from[i] + (before ? shift[i % n] : 0));
        result[i] = start * columns[i % n] * (a ? rows[i / n] : 1);
        if (b && !before) result[i] += shift[i % n];
      }
      put(launch, target, result);
    });
  });
}

SIM_SIGNATURE(TransQuantParamV2,
              const aclTensor* scale,
              const aclTensor* offset,
              const aclTensor* out) {
  return plan("aclnnTransQuantParamV2", workspaceSize, executor, [&](Planner& p) {
    const Operand s = p.input(scale, "scale", kF32);
    const Operand o = p.optional(offset, "offset", kF32);
    const Operand target = p.output(out, "out", kU64 | kI64);
    p.check_rank(s, 1, 2);
    const int64_t n = std::max(s.numel(), o ? o.numel() : 0);
    check_one_or(p, s, n);
    check_one_or(p, o, n);
    check_count(p, target, n);
    if (n == 0) return;
    p.run([=](Launch& launch) {
      const Values by = values(launch, s);
      const Values shift = values(launch, o);
      std::vector<uint64_t> words(z(n));
      for (size_t i = 0; i < words.size(); ++i) {
        words[i] = pack_scale(repeated(by, i, 1)) | (o ? pack_offset(repeated(shift, i, 0)) : 0);
      }
      store_all(get(launch, target), words);
    });
  });
}

SIM_SIGNATURE(FakeQuantPerTensorAffineCachemask,
              const aclTensor* self,
              const aclTensor* scale,
              const aclTensor* zeroPoint,
              float fakeQuantEnbled,
              int64_t quantMin,
              int64_t quantMax,
              aclTensor* out,
              aclTensor* mask) {
  return plan("aclnnFakeQuantPerTensorAffineCachemask", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand s = p.input(scale, "scale", kF);
    const Operand zero = p.input(zeroPoint, "zeroPoint", kI32);
    const Operand target = p.output(out, "out", kF);
    const Operand inside = p.output(mask, "mask", kBool);
    check_count(p, s, 1);
    check_count(p, zero, 1);
    run_fake_quant(p, in, s, zero, 0, fakeQuantEnbled >= 1, quantMin, quantMax, target, inside);
  });
}
SIM_SIGNATURE(FakeQuantPerChannelAffineCachemask,
              const aclTensor* self,
              const aclTensor* scale,
              const aclTensor* zeroPoint,
              int64_t axis,
              int64_t quantMin,
              int64_t quantMax,
              aclTensor* out,
              aclTensor* mask) {
  return plan("aclnnFakeQuantPerChannelAffineCachemask", workspaceSize, executor, [&](Planner& p) {
    const Operand in = p.input(self, "self", kF);
    const Operand s = p.input(scale, "scale", kF);
    const Operand zero = p.input(zeroPoint, "zeroPoint", kI32 | kF32 | kF16);
    const Operand target = p.output(out, "out", kF);
    const Operand inside = p.output(mask, "mask", kBool);
    p.check_rank(in, 1, 8);
    const int64_t dim = p.dim(axis, in.rank(), "axis");
    check_count(p, s, in.shape()[z(dim)]);
    check_count(p, zero, s.numel());
    run_fake_quant(p, in, s, zero, dim, true, quantMin, quantMax, target, inside);
  });
}
}
