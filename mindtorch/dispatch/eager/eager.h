#pragma once

#include "mindtorch/ops/op.h"

namespace mindtorch::dispatch {

// The backend layer: prepares a call (devices, shape rule, outputs, what it writes) and hands it to
// this thread's executor.
void run_eager(const ops::Op& op, ops::Args args, ops::Outputs& outputs);

// The same for a pointwise op, or its in-place form, that was resolved to `call` already.
void run_eager(const ops::Op& op,
               ops::Args args,
               const ops::PointwiseCall& call,
               ops::Outputs& outputs);

// Another look at a tensor's storage.
MT_API Tensor make_view(const Tensor& self, ops::ViewSpec view, bool is_differentiable = true);

// What autograd notes of each view: it was just made of `self`, by an op that it follows or not.
using MarkViewFn = void (*)(const Tensor& self, TensorImpl& view, bool is_differentiable) noexcept;
// Once, from autograd.
void install_view_marks(MarkViewFn mark) noexcept;

}  // namespace mindtorch::dispatch
