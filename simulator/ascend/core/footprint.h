#pragma once

#include <functional>

#include "simulator/ascend/core/task.h"

namespace sim {

// The bytes of an access as runs without gaps. `visit` may be called with runs in any order and,
// where a view has strides of 0, more than once with the same one.
void for_each_run(const Access& access, const std::function<void(char* begin, char* end)>& visit);
size_t count_runs(const Access& access);
bool is_dense(const Access& access);  // one run
// Whether a byte of the access lies in [begin, end).
bool reaches(const Access& access, const char* begin, const char* end);

}  // namespace sim
