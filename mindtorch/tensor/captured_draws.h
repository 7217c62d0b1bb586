#pragma once

#include <cstdint>

#include "mindtorch/base/macros.h"
#include "mindtorch/runtime/stream.h"
#include "mindtorch/tensor/generator.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch {

// Note [Random numbers in graphs]
// An op that draws in a captured graph does not know where: it is told which memory will hold seed
// and offset, and how much further than that offset it begins. Capturing draws nothing. Before each
// replay the place where the generator is then is written to that memory, and the generator moves
// on by all that the graph draws, so that a replay draws what the ops would have drawn had they
// been launched, whatever was drawn or seeded meanwhile.

// Where a captured op will find its place: tensors of one int64 on the device.
struct CapturedPlace {
  Tensor seed;
  Tensor offset;
  uint64_t further;
};

// A place for an op that is captured on `stream` and takes `count` numbers. RuntimeError where the
// capture began on another stream, or the generator may go before the graph.
MT_API CapturedPlace draw_captured(OffsetGenerator& generator,
                                   runtime::Stream stream,
                                   Device device,
                                   uint64_t count);

}  // namespace mindtorch
