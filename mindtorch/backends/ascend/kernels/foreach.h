#pragma once

#include <initializer_list>

#include "mindtorch/ops/kernel.h"
#include "mindtorch/ops/pointwise.h"

namespace mindtorch::ascend {

// outs = function(operands), tensor by tensor, in one launch where CANN has such an op. All are of
// one dtype. A list of one tensor goes with every tensor of the others.
void run_on_lists(ops::Launch& on,
                  ops::Pointwise function,
                  TensorList outs,
                  std::initializer_list<TensorList> operands,
                  double param = 0);

void copy_lists(ops::Launch& on, TensorList from, TensorList to);

}  // namespace mindtorch::ascend
