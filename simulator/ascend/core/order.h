#pragma once

#include <memory>
#include <vector>

#include "simulator/ascend/core/checks.h"

namespace sim {

// See Note [Order] in checks.h.

// Gives the task its place in time and compares its accesses with those before.
void order_task(Stream& stream, const std::shared_ptr<const Work>& work);
void order_host(const Task& task, const std::vector<Touch>& touches);
// An access that the host has not waited for, or null.
const PastAccess* unordered_with_host(const Block& block);

}  // namespace sim
