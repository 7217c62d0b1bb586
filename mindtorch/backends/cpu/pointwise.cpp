#include "mindtorch/backends/cpu/pointwise.h"

#include <cstring>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise_loop.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/backends/cpu/transpose.h"
#include "mindtorch/ops/functions.h"

namespace mindtorch::cpu {
namespace {

// What a thread should get at least where memory is all that is waited for.
constexpr int64_t kPointwiseGrain = 32 * 1024;  // elements
constexpr int64_t kGrainBytes = 64 * 1024;

// 16-bit floats compute in float32, but for the few functions that ask for their own bits.
DType tile_dtype(ops::Pointwise function, DType dtype) {
  if (MT_LIKELY(is_common(dtype))) {
    return ops::is_half(dtype) && find_tile(function, dtype) == nullptr ? DType::kFloat32 : dtype;
  }
  if (find_tile(function, dtype) != nullptr) return dtype;
  if (dtype == DType::kComplex32) return DType::kComplex64;
  return is_float8(dtype) ? DType::kFloat32 : DType::kInt64;
}

// Elements that take a thread a few microseconds, by cost. What computes for long is worth more
// threads.
constexpr int64_t kGrains[] = {kPointwiseGrain, 8 * 1024, 2 * 1024, 256};

int64_t grain(ops::Cost cost, DType compute) {
  const bool is_wide = cost == ops::Cost::kCurve && compute == DType::kFloat64;
  return kGrains[static_cast<int>(cost)] / (is_wide ? 2 : 1);
}

// What a tile writes.
DType native_dtype(ops::Values values, DType compute) {
  if (values == ops::Values::kBool) return DType::kBool;
  return MT_UNLIKELY(is_complex(compute)) && values == ops::Values::kReal ? real_dtype(compute)
                                                                          : compute;
}

// The elements of both lie in the same order, without gaps.
bool lies_like(const Tensor& operand, const Tensor& out) {
  if (operand.sizes() != out.sizes()) return false;
  if (out.is_contiguous()) return operand.is_contiguous();
  return operand.strides() == out.strides() && is_dense(out.sizes(), out.strides());
}

bool has_only(const ops::PointwiseCall& call, DType dtype) {
  for (int i = 0; i < call.count; ++i) {
    if (call.operands[i]->dtype() != dtype) return false;
  }
  return true;
}

// a * 2 and a > 0: an operand that lies like the output and a single element, whose dtype may be
// another. False where the call is of no such kind.
bool run_with_number(const ops::PointwiseCall& call, const ChosenTile& chosen, const Tensor& out) {
  // Numbers of 16-bit floats keep their float32.
  const bool halves = ops::is_half(out.dtype()) &&
                      (chosen.native == DType::kFloat32 || chosen.native == out.dtype());
  const DType compute = halves ? DType::kFloat32 : chosen.compute;
  if (call.count != 2 || (out.dtype() != chosen.native && !halves)) return false;
  const int which = call.operands[1]->numel() == 1 ? 1 : 0;
  const Tensor& number = *call.operands[which];
  const Tensor& whole = *call.operands[1 - which];
  if (number.numel() != 1 || whole.dtype() != (halves ? out.dtype() : compute) ||
      !lies_like(whole, out)) {
    return false;
  }
  const TileFn tile = halves ? find_half_number_tile(call.function, out.dtype(), which)
                             : find_scalar_operand_tile(call.function, compute, which);
  if (tile == nullptr) return false;
  alignas(16) char value[16];
  OperandLoader(call, which, compute, 0).load_one(number.data<char>(), value);
  const auto run = [&](int64_t begin, int64_t end) {
    const void* inputs[2] = {value, value};
    inputs[1 - which] = whole.data<char>() + begin * whole.element_size();
    tile(inputs, out.data<char>() + begin * out.element_size(), end - begin, call.params);
  };
  parallel_for(0, out.numel(), chosen.grain, run);
  return true;
}

}  // namespace

void run_pointwise(ops::Launch& launch, const ops::PointwiseCall& call, const Tensor& out) {
  if (MT_UNLIKELY(ops::is_half(call.result) && out.dtype() != call.result)) {
    // Results round to their own dtype before they widen to that of out=.
    const Tensor rounded = Tensor::make(out.sizes(), call.result);
    run_pointwise(launch, call, rounded);
    copy(rounded, out);
    return;
  }
  DType compute = tile_dtype(call.function, call.compute);
  TileFn tile = find_tile(call.function, compute);
  MT_ASSERT(tile != nullptr);  // the dtype was checked
  if (ops::is_half(out.dtype()) && has_only(call, out.dtype())) {
    if (const TileFn half = find_half_tile(call.function, out.dtype())) {
      tile = half;
      compute = out.dtype();
    }
  }
  const ops::FunctionInfo& info = ops::function_info(call.function);
  const DType native = native_dtype(info.values, compute);
  const ChosenTile chosen = {tile, compute, native, grain(info.cost, compute)};

  bool direct = out.dtype() == native;
  const void* inputs[ops::kMaxOperands];
  for (int i = 0; i < call.count && direct; ++i) {
    const Tensor& operand = *call.operands[i];
    const bool condition = ops::takes_bool(call.function, i);
    direct = operand.dtype() == (condition ? DType::kBool : compute) && lies_like(operand, out) &&
             (condition || !call.rounds(i));
    inputs[i] = operand.data_ptr();
  }
  if (!direct) {
    if (!run_with_number(call, chosen, out)) PointwiseLoop(call, chosen, out).run();
    return;
  }
  const int64_t n = out.numel();
  if (n <= chosen.grain) {
    tile(inputs, out.data_ptr(), n, call.params);
    return;
  }
  parallel_for(0, n, chosen.grain, [&](int64_t begin, int64_t end) {
    const void* shifted[ops::kMaxOperands];
    for (int i = 0; i < call.count; ++i) {
      shifted[i] = static_cast<const char*>(inputs[i]) + begin * call.operands[i]->element_size();
    }
    tile(shifted, out.data<char>() + begin * out.element_size(), end - begin, call.params);
  });
}

void copy(const Tensor& from, const Tensor& to) {
  if (to.numel() == 0) return;
  const bool is_flat = (from.is_contiguous() && to.is_contiguous() && from.numel() == to.numel()) ||
                       lies_like(from, to);
  if (from.dtype() == to.dtype()) {
    if (is_flat) {
      return copy_bytes(from.data_ptr(), to.data_ptr(), to.numel() * to.element_size());
    }
    Shape from_strides = broadcast_strides(from.sizes(), from.strides(), to.sizes());
    Shape to_strides = to.strides();
    for (int64_t& stride : from_strides) stride *= from.element_size();
    for (int64_t& stride : to_strides) stride *= to.element_size();
    copy_strided(to.element_size(), to.sizes().data(), static_cast<int>(to.dim()), from.data_ptr(),
                 from_strides.data(), to.data_ptr(), to_strides.data());
    return;
  }
  const CastFn cast = find_cast(from.dtype(), to.dtype());
  if (is_flat) {
    parallel_for(0, to.numel(), kPointwiseGrain, [&](int64_t begin, int64_t end) {
      cast(from.data<char>() + begin * from.element_size(),
           to.data<char>() + begin * to.element_size(), end - begin);
    });
    return;
  }
  StridedLoop<2> loop;
  loop.add(to, to.sizes());
  loop.add(from, to.sizes());
  loop.prepare(to.sizes());
  const OperandLoader loader(from.dtype(), to.dtype(), loop.strides_bytes[1][0]);
  const ResultStorer storer(to.dtype(), to.dtype(), loop.strides_bytes[0][0]);
  const int64_t inner = loop.inner_size();
  parallel_for(0, loop.outer_size(), std::max<int64_t>(1, kPointwiseGrain / inner),
               [&](int64_t begin, int64_t end) {
                 TileBuffers buffers;
                 loop.for_lines(begin, end, [&](char* const* at) {
                   for (int64_t start = 0; start < inner; start += kTile) {
                     const int64_t n = std::min(kTile, inner - start);
                     const void* tile = loader.load(at[1] + start * loader.stride_bytes, n,
                                                    buffers.inputs[0], buffers.scratch);
                     char* line = at[0] + start * storer.stride_bytes;
                     if (storer.direct()) {
                       std::memcpy(line, tile, static_cast<size_t>(n * to.element_size()));
                     } else {
                       storer.store(tile, line, n, buffers.scratch);
                     }
                   }
                 });
               });
}

}  // namespace mindtorch::cpu
