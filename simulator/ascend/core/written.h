#pragma once

#include <vector>

#include "simulator/ascend/core/task.h"

namespace sim {

// Which bytes of a block were ever written.

// Of the bytes of the access that lie in the block.
size_t count_unwritten(const Access& access, Block& block);
// The task ran: what it writes is written; what it only moves is written where the source was.
void mark_written(const Task& task, const std::vector<Touch>& touches);

}  // namespace sim
