#pragma once

#include <cstring>

#include "mindtorch/backends/cpu/element_runs.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/ops/kernel.h"

namespace mindtorch::cpu {

inline constexpr int64_t kTile = 1024;  // elements; four buffers of floats fit the L1 cache

// What one thread needs to load and store tiles.
struct TileBuffers {
  alignas(64) char inputs[ops::kMaxOperands][kTile * 16];
  alignas(64) char output[kTile * 16];
  alignas(64) char scratch[kTile * 16];
};

// Brings one operand of a tile into the dtype and layout the tile wants.
struct OperandLoader {
  int64_t stride_bytes;
  int64_t from_size;
  int64_t to_size;
  CastFn round = nullptr;  // to float16 or bfloat16, before the tile's float32
  CastFn cast;             // null: same dtype
  GatherFn gather;         // null: contiguous or broadcast

  OperandLoader(DType from, DType to, int64_t stride_bytes)
      : stride_bytes(stride_bytes),
        from_size(size_bytes(from)),
        to_size(size_bytes(to)),
        cast(from == to ? nullptr : find_cast(from, to)),
        gather(stride_bytes == from_size || stride_bytes == 0 ? nullptr : find_gather(from_size)) {}
  // An operand of `call` for a tile of `to`.
  OperandLoader(const ops::PointwiseCall& call, int index, DType to, int64_t stride_bytes)
      : OperandLoader(call.operands[index]->dtype(), to, stride_bytes) {
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
      fill_elements(to_size, value, buffer, n);
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
struct ResultStorer {
  int64_t stride_bytes;
  CastFn cast;
  ScatterFn scatter;

  ResultStorer(DType from, DType to, int64_t stride_bytes)
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

}  // namespace mindtorch::cpu
