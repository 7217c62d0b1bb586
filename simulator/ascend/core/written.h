#pragma once

#include <memory>
#include <vector>

#include "simulator/ascend/core/task.h"

namespace sim {

struct Block;

// Which bytes of a block were ever written.

size_t count_unwritten(const Access& access, Block& block);
// The task ran: what it writes is written; what it only moves is written where the source was.
void mark_written(const Task& task, const std::vector<std::shared_ptr<Block>>& blocks);

}  // namespace sim
