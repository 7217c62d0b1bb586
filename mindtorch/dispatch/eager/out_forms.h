#pragma once

#include <optional>

#include "mindtorch/ops/op.h"
#include "mindtorch/ops/spec.h"

namespace mindtorch::dispatch {

// What a few ops do with out= other than receiving a result in it.

// Ranges fill an out= of as many elements, whatever its shape.
bool keeps_shape_of_out(const ops::Op& base, const ops::TensorSpec& spec, const Tensor& out);

// normal(mean, std, out=) draws as many numbers as mean and out= have together: mean in that shape.
// Undefined for all else.
Tensor shown_with_out(const ops::Op& base, ops::Args args, const Tensor& out);

// rand, randn and randint draw numbers in the order of out='s memory: the op that does so in place,
// and what it is given after self. Nothing for all else.
struct DrawInPlace {
  const ops::Op* op;
  SmallVector<ops::Value, 4> args;
};
std::optional<DrawInPlace> draw_in_place(const ops::Op& base, ops::Args args, const Tensor& out);

}  // namespace mindtorch::dispatch
