#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/base/small_vector.h"
#include "mindtorch/ops/value.h"

namespace mindtorch::dispatch {

// The arguments of a call as numbers, without the elements of tensors: what a profiler keeps of
// each op, and a reader makes sense of later.
using EncodedArguments = SmallVector<int64_t, 64>;
void encode_arguments(ops::Args args, EncodedArguments& numbers);

struct TensorArgument {
  DType dtype{};
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// One argument, read back.
struct OpArgument {
  ops::ValueKind kind = ops::ValueKind::kNone;
  std::vector<TensorArgument> tensors;  // one, or those of a list
  Scalar number;                        // scalars, integers, floats and bools
  std::vector<int64_t> integers;        // a list; a dtype or memory format as a number
  std::vector<double> floats;
  std::string text;  // strings, devices
};
MT_API std::vector<OpArgument> decode_arguments(std::span<const int64_t> numbers);

}  // namespace mindtorch::dispatch
