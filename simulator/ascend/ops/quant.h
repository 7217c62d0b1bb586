#pragma once

#include <bit>

#include "simulator/ascend/ops/values.h"

namespace sim {

// Numbers as int8, with a scale and an offset.

inline constexpr Types kU64 = only(ACL_UINT64);

// Note [Packed scales]: the matrix unit takes a scale and an offset in one 64-bit word: the upper
// 19 bits of the float32 scale in the low half, bit 46 set, the offset as 9 bits from bit 37 on.
inline constexpr int kOffsetShift = 37;
inline constexpr uint64_t kOffsetMask = 0x1FF;
inline constexpr uint64_t kPackedMark = uint64_t{1} << 46;

inline uint64_t pack_scale(float scale) {
  return (std::bit_cast<uint32_t>(scale) & 0xFFFFE000U) | kPackedMark;
}
inline uint64_t pack_offset(float offset) {
  const float rounded = std::isnan(offset) ? 0 : std::nearbyint(offset);
  const auto whole = static_cast<int64_t>(std::clamp(rounded, -256.0F, 255.0F));
  return (static_cast<uint64_t>(whole) & kOffsetMask) << kOffsetShift;
}
inline float packed_scale(uint64_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(word));
}
inline float packed_offset(uint64_t word) {
  const auto bits = static_cast<int64_t>(word >> kOffsetShift & kOffsetMask);
  return static_cast<float>(bits > 255 ? bits - 512 : bits);
}

inline bool is_packed(DType dtype) { return dtype == ACL_UINT64 || dtype == ACL_INT64; }

// Scales as floats or as packed words.
inline Values scales(const View& view) {
  if (!is_packed(view.dtype)) return load_all<float>(view);
  Values result;
  for (const uint64_t word : load_all<uint64_t>(view)) result.push_back(packed_scale(word));
  return result;
}
inline Values scales(const Launch& launch, const Operand& operand) {
  return operand ? scales(get(launch, operand)) : Values{};
}
// The offsets inside packed scales; none of plain ones.
inline Values packed_offsets(const Launch& launch, const Operand& operand) {
  if (!operand || !is_packed(operand.dtype())) return {};
  Values result;
  for (const uint64_t word : load_all<uint64_t>(get(launch, operand))) {
    result.push_back(packed_offset(word));
  }
  return result;
}

// Element i of values that are one for all, or repeat; `otherwise` where there are none.
inline float repeated(const Values& values, size_t i, float otherwise) {
  return values.empty() ? otherwise : values[i % values.size()];
}

inline float to_whole(float value, float most) {
  return std::clamp(std::nearbyint(value), -most - 1, most);
}
inline float to_int8(float value) { return to_whole(value, 127); }

// As int8, by scales and offsets of the columns.
inline void quantize(const Values& by, const Values& shift, Values* result) {
  for (size_t i = 0; i < result->size(); ++i) {
    (*result)[i] = to_int8((*result)[i] * repeated(by, i, 1) + repeated(shift, i, 0));
  }
}

// Given apart, or inside packed scales.
inline Values offsets_of(const Launch& launch, const Operand& scale, const Operand& offset) {
  return offset ? values(launch, offset) : packed_offsets(launch, scale);
}

// One line as whole numbers of its own scale, which it returns: its largest magnitude becomes
// `most`.
inline float quantize_line(const float* line, size_t n, float* result, float most = 127) {
  float largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(line[i]));
  const float scale = largest / most;
  for (size_t i = 0; i < n; ++i) result[i] = scale == 0 ? 0 : to_whole(line[i] / scale, most);
  return scale;
}

inline float silu(float x) { return x / (1 + std::exp(-x)); }

// silu of one half of a line times the other half.
inline Values swiglu(const float* line, size_t half, bool left) {
  Values result(half);
  for (size_t i = 0; i < half; ++i) {
    result[i] = left ? silu(line[i]) * line[half + i] : line[i] * silu(line[half + i]);
  }
  return result;
}

// Where an op writes quantised numbers: INT8, INT4, or INT32 that hold eight of four bits each, the
// first in the lowest ones.
struct QuantOut {
  Operand operand;

  float most() const { return operand.dtype() == ACL_INT8 ? 127 : 7; }
};

inline QuantOut quant_output(Planner& p, const aclTensor* tensor, const char* name) {
  return {p.output(tensor, name, kI8 | kI4 | kI32)};
}
// `dtype` is the caller's name of it, `shape` that of the numbers.
inline void check_quant(Planner& p, const QuantOut& out, int64_t dtype, Shape shape) {
  p.check(dtype == out.operand.dtype(), "dstType is " + std::to_string(dtype) + ", " +
                                            p.name(out.operand) + " has dtype " +
                                            dtype_name(out.operand.dtype()));
  const int64_t together = dtype == ACL_INT32 ? 8 : dtype == ACL_INT4 ? 2 : 1;
  p.check(shape.back() % together == 0,
          "the last dim of x must be a multiple of " + std::to_string(together));
  if (dtype == ACL_INT32) shape.back() /= together;
  p.check_shape(out.operand, shape);
}
inline void put(const Launch& launch, const QuantOut& out, const Values& numbers) {
  if (out.operand.dtype() != ACL_INT32) return put(launch, out.operand, numbers);
  std::vector<int64_t> words(numbers.size() / 8);
  for (size_t i = 0; i < numbers.size(); ++i) {
    words[i / 8] |= (static_cast<int64_t>(numbers[i]) & 15) << 4 * (i % 8);
  }
  store_all(get(launch, out.operand), words);
}

// One element for all, or `n`.
inline void check_one_or(Planner& p, const Operand& operand, int64_t n) {
  if (operand && operand.numel() != 1) check_count(p, operand, n);
}

}  // namespace sim
