#include "mindtorch/backends/cpu/pointwise.h"

#include <cstring>

#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/strided_loop.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/scalar_operand.h"
#include "mindtorch/backends/cpu/tiles/short_lines.h"
#include "mindtorch/backends/cpu/transpose.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kTile = 1024;        // elements; four buffers of floats fit the L1 cache
constexpr int64_t kGrain = 32 * 1024;  // elements a thread should get at least

// Elements of a line below which a call for each costs too much.
constexpr int64_t kShortLine = 4096;

// 16-bit floats compute in float32, but for the few functions that ask for their own bits.
DType tile_dtype(ops::Pointwise function, DType dtype) {
  if (MT_LIKELY(is_common(dtype))) {
    return ops::is_half(dtype) && find_tile(function, dtype) == nullptr ? DType::kFloat32 : dtype;
  }
  if (find_tile(function, dtype) != nullptr) return dtype;
  if (dtype == DType::kComplex32) return DType::kComplex64;
  return is_float8(dtype) ? DType::kFloat32 : DType::kInt64;
}

// What a tile writes.
DType native_dtype(ops::Pointwise function, DType compute) {
  if (gives_bool(function)) return DType::kBool;
  return MT_UNLIKELY(is_complex(compute)) && ops::gives_real(function) ? real_dtype(compute)
                                                                       : compute;
}

void fill_elements(void* to, const void* value, int64_t element_size, int64_t n) {
  const auto fill = [&]<typename T>(T) {
    T element;
    std::memcpy(&element, value, sizeof(T));
    std::fill_n(static_cast<T*>(to), n, element);  // in a buffer, which is aligned
  };
  switch (element_size) {
    case 1:
      return fill(uint8_t{});
    case 2:
      return fill(uint16_t{});
    case 4:
      return fill(uint32_t{});
    case 8:
      return fill(uint64_t{});
    default:
      return fill(Bytes16{});
  }
}

// All operands look like the output, which is contiguous.
bool is_uniform(const ops::PointwiseCall& call, const Tensor& out) {
  if (!out.is_contiguous()) return false;
  for (int i = 0; i < call.count; ++i) {
    const Tensor& operand = *call.operands[i];
    if (operand.dtype() != out.dtype() || !operand.is_contiguous() ||
        operand.sizes() != out.sizes()) {
      return false;
    }
  }
  return true;
}

// Brings one operand of a tile into the dtype and layout the tile wants.
struct Loader {
  int64_t stride_bytes;
  int64_t from_size;
  int64_t to_size;
  CastFn round = nullptr;  // to float16 or bfloat16, before the tile's float32
  CastFn cast;             // null: same dtype
  GatherFn gather;         // null: contiguous or broadcast

  Loader(DType from, DType to, int64_t stride_bytes)
      : stride_bytes(stride_bytes),
        from_size(size_bytes(from)),
        to_size(size_bytes(to)),
        cast(from == to ? nullptr : find_cast(from, to)),
        gather(stride_bytes == from_size || stride_bytes == 0 ? nullptr : find_gather(from_size)) {}
  // An operand of `call` for a tile of `to`.
  Loader(const ops::PointwiseCall& call, int index, DType to, int64_t stride_bytes)
      : Loader(call.operands[index]->dtype(), to, stride_bytes) {
    if (MT_LIKELY(!call.rounds(index))) return;
    round = find_cast(call.operands[index]->dtype(), call.compute);
    cast = call.compute == to ? nullptr : find_cast(call.compute, to);
  }

  bool converts() const { return cast != nullptr || round != nullptr; }
  bool direct() const { return !converts() && stride_bytes == from_size; }
  bool broadcast() const { return stride_bytes == 0; }

  void load_one(const char* from, char* to) const {
    alignas(8) char half[2];
    if (round != nullptr) {
      round(from, cast == nullptr ? to : half, 1);
      from = half;
    }
    if (cast != nullptr) {
      cast(from, to, 1);
    } else if (round == nullptr) {
      std::memcpy(to, from, static_cast<size_t>(from_size));
    }
  }

  const void* load(const char* from, int64_t n, char* buffer, char* scratch) const {
    if (direct()) return from;
    if (broadcast()) {
      alignas(16) char value[16];
      load_one(from, value);
      fill_elements(buffer, value, to_size, n);
      return buffer;
    }
    // From one buffer into the other, so that the last step ends in `buffer`.
    const void* at = from;
    const bool is_odd = (round != nullptr) != (cast != nullptr);
    if (gather != nullptr) {
      char* const to = is_odd ? scratch : buffer;
      gather(from, stride_bytes, to, n);
      at = to;
    }
    if (round != nullptr) {
      char* const to = cast != nullptr ? scratch : buffer;
      round(at, to, n);
      at = to;
    }
    if (cast != nullptr) cast(at, buffer, n);
    return buffer;
  }
};

// Takes a tile's result to its place in the output.
struct Storer {
  int64_t stride_bytes;
  CastFn cast;
  ScatterFn scatter;

  Storer(DType from, DType to, int64_t stride_bytes)
      : stride_bytes(stride_bytes),
        cast(from == to ? nullptr : find_cast(from, to)),
        scatter(stride_bytes == size_bytes(to) ? nullptr : find_scatter(size_bytes(to))) {}

  bool direct() const { return cast == nullptr && scatter == nullptr; }

  void store(const void* from, char* to, int64_t n, char* scratch) const {
    if (cast != nullptr && scatter != nullptr) {
      cast(from, scratch, n);
      scatter(scratch, to, stride_bytes, n);
    } else if (cast != nullptr) {
      cast(from, to, n);
    } else {
      scatter(from, to, stride_bytes, n);
    }
  }
};

struct Buffers {
  alignas(64) char inputs[ops::kMaxOperands][kTile * 16];
  alignas(64) char output[kTile * 16];
  alignas(64) char scratch[kTile * 16];
};

void run_tiled(
    TileFn tile, const ops::PointwiseCall& call, DType compute, DType native, const Tensor& out) {
  StridedLoop<ops::kMaxOperands + 1> loop;
  loop.add(out, out.sizes());
  for (int i = 0; i < call.count; ++i) loop.add(*call.operands[i], out.sizes());
  loop.prepare(out.sizes());

  SmallVector<Loader, ops::kMaxOperands> loaders;
  bool all_direct = true;
  for (int i = 0; i < call.count; ++i) {
    const bool condition = ops::takes_bool(call.function, i);
    const int64_t stride_bytes = loop.strides_bytes[i + 1][0];
    if (condition) {
      loaders.emplace_back(call.operands[i]->dtype(), DType::kBool, stride_bytes);
    } else {
      loaders.emplace_back(call, i, compute, stride_bytes);
    }
    all_direct &= loaders.back().direct();
  }
  const Storer storer(native, out.dtype(), loop.strides_bytes[0][0]);
  all_direct &= storer.direct();

  // Short lines, and one operand that does not move along them, as in a + column.
  int single = -1;
  if (call.count == 2 && storer.direct()) {
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      if (!loaders[at].broadcast() || loaders[at].converts() || !loaders[1 - at].direct()) {
        continue;
      }
      if (const TileFn found = find_scalar_operand_tile(call.function, compute, i)) {
        tile = found;
        single = i;
        all_direct = true;
      }
    }
  }

  const int64_t inner = loop.inner_size();
  const LinesFn short_lines =
      all_direct && call.count == 2 && inner <= kShortLine && loop.sizes.size() > 1
          ? find_lines(call.function, compute, single)
          : nullptr;
  const int64_t block = all_direct ? kGrain : kTile;
  const int64_t blocks = (inner + block - 1) / block;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::min(inner, block));
  parallel_for(0, loop.outer_size() * blocks, grain, [&](int64_t begin, int64_t end) {
    if (short_lines != nullptr) {
      loop.for_line_runs(begin, end, [&](char* const* at, int64_t count) {
        short_lines({{at[1], at[2]},
                     {loop.strides_bytes[1][1], loop.strides_bytes[2][1]},
                     at[0],
                     loop.strides_bytes[0][1],
                     count,
                     inner});
      });
      return;
    }
    if (all_direct && blocks == 1) {
      loop.for_lines(begin, end, [&](char* const* at) {
        const void* inputs[ops::kMaxOperands];
        for (int i = 0; i < call.count; ++i) inputs[i] = at[i + 1];
        tile(inputs, at[0], inner, call.params);
      });
      return;
    }
    Buffers buffers;
    int64_t unit = begin;
    while (unit < end) {
      // All blocks of this range that lie on one line.
      const int64_t line = unit / blocks;
      const int64_t line_end = std::min(end, (line + 1) * blocks);
      const int64_t last_line = blocks == 1 ? end : line + 1;
      loop.for_lines(line, last_line, [&](char* const* at) {
        const int64_t first_block = blocks == 1 ? 0 : unit % blocks;
        const int64_t end_block = blocks == 1 ? 1 : first_block + (line_end - unit);
        bool filled[ops::kMaxOperands] = {};
        for (int64_t b = first_block; b < end_block; ++b) {
          const int64_t start = b * block;
          const int64_t n = std::min(block, inner - start);
          const void* inputs[ops::kMaxOperands];
          for (int i = 0; i < call.count; ++i) {
            const auto index = static_cast<size_t>(i);
            const Loader& loader = loaders[index];
            if (i == single) {
              inputs[i] = at[i + 1];
              continue;
            }
            if (loader.broadcast() && filled[i]) {
              inputs[i] = buffers.inputs[i];
              continue;
            }
            filled[i] = loader.broadcast() && n == std::min(block, inner);
            inputs[i] = loader.load(at[i + 1] + start * loader.stride_bytes, n, buffers.inputs[i],
                                    buffers.scratch);
          }
          char* to = at[0] + start * storer.stride_bytes;
          if (storer.direct()) {
            tile(inputs, to, n, call.params);
          } else {
            tile(inputs, buffers.output, n, call.params);
            storer.store(buffers.output, to, n, buffers.scratch);
          }
        }
      });
      unit = blocks == 1 ? end : line_end;
    }
  });
}

// a * 2 and a > 0: a contiguous operand and a single element, whose dtype may be another. False
// where the call is of no such kind.
bool run_with_number(const ops::PointwiseCall& call,
                     DType compute,
                     DType native,
                     const Tensor& out) {
  const bool halves = ops::is_half(out.dtype()) && native == DType::kFloat32;
  if (call.count != 2 || !out.is_contiguous() || (out.dtype() != native && !halves)) return false;
  const int which = call.operands[1]->numel() == 1 ? 1 : 0;
  const Tensor& number = *call.operands[which];
  const Tensor& whole = *call.operands[1 - which];
  if (number.numel() != 1 || whole.dtype() != (halves ? out.dtype() : compute) ||
      !whole.is_contiguous() || whole.sizes() != out.sizes()) {
    return false;
  }
  const TileFn tile = halves ? find_half_number_tile(call.function, out.dtype(), which)
                             : find_scalar_operand_tile(call.function, compute, which);
  if (tile == nullptr) return false;
  alignas(16) char value[16];
  Loader(call, which, compute, 0).load_one(number.data<char>(), value);
  const auto run = [&](int64_t begin, int64_t end) {
    const void* inputs[2] = {value, value};
    inputs[1 - which] = whole.data<char>() + begin * whole.element_size();
    tile(inputs, out.data<char>() + begin * out.element_size(), end - begin, call.params);
  };
  if (out.numel() <= kGrain) {
    run(0, out.numel());
  } else {
    parallel_for(0, out.numel(), kGrain, run);
  }
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
  if (ops::is_half(out.dtype()) && is_uniform(call, out)) {
    if (const TileFn half = find_half_tile(call.function, out.dtype())) {
      tile = half;
      compute = out.dtype();
    }
  }
  const DType native = native_dtype(call.function, compute);

  bool direct = out.dtype() == native && out.is_contiguous();
  const void* inputs[ops::kMaxOperands];
  for (int i = 0; i < call.count && direct; ++i) {
    const Tensor& operand = *call.operands[i];
    const bool condition = ops::takes_bool(call.function, i);
    direct = operand.dtype() == (condition ? DType::kBool : compute) && operand.is_contiguous() &&
             operand.sizes() == out.sizes() && (condition || !call.rounds(i));
    inputs[i] = operand.data_ptr();
  }
  if (!direct) {
    if (!run_with_number(call, compute, native, out)) run_tiled(tile, call, compute, native, out);
    return;
  }
  const int64_t n = out.numel();
  if (n <= kGrain) {
    tile(inputs, out.data_ptr(), n, call.params);
    return;
  }
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    const void* shifted[ops::kMaxOperands];
    for (int i = 0; i < call.count; ++i) {
      shifted[i] = static_cast<const char*>(inputs[i]) + begin * call.operands[i]->element_size();
    }
    tile(shifted, out.data<char>() + begin * out.element_size(), end - begin, call.params);
  });
}

void copy(const Tensor& from, const Tensor& to) {
  if (to.numel() == 0) return;
  if (from.dtype() == to.dtype()) {
    if (from.is_contiguous() && to.is_contiguous() && from.numel() == to.numel()) {
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
  if (from.is_contiguous() && to.is_contiguous() && from.numel() == to.numel()) {
    parallel_for(0, to.numel(), kGrain, [&](int64_t begin, int64_t end) {
      cast(from.data<char>() + begin * from.element_size(),
           to.data<char>() + begin * to.element_size(), end - begin);
    });
    return;
  }
  StridedLoop<2> loop;
  loop.add(to, to.sizes());
  loop.add(from, to.sizes());
  loop.prepare(to.sizes());
  const Loader loader(from.dtype(), to.dtype(), loop.strides_bytes[1][0]);
  const Storer storer(to.dtype(), to.dtype(), loop.strides_bytes[0][0]);
  const int64_t inner = loop.inner_size();
  parallel_for(0, loop.outer_size(), std::max<int64_t>(1, kGrain / inner),
               [&](int64_t begin, int64_t end) {
                 Buffers buffers;
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
