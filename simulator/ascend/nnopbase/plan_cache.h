#pragma once

#include <memory>

#include "simulator/ascend/nnopbase/executor.h"

namespace sim {

// The tensors of an op's first phase, in the order of its parameters, with a space behind each.
struct OpTensors {
  const char* op;  // null: the end of the table
  const char* names;
};

// Note [Cache of phase one]. libnnopbase.so has a cache that it does not fill by itself: a program
// makes a key of an op's arguments, tells it and the address of each tensor before phase one, and
// asks before the next call with the same key. The answer is an executor with the addresses of that
// call, for which phase one and the descriptions of its tensors are saved. Each thread has its own.

// Keeps the plan under the calling thread's key, if it has set one.
void offer(const std::shared_ptr<Plan>& plan);

// The calling thread has set a key.
bool has_key();

}  // namespace sim

extern "C" const sim::OpTensors sim_op_tensors[];
