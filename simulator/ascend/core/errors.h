#pragma once

#include <string>

#include "simulator/ascend/core/export.h"

namespace sim {

// Keeps `text` as this thread's recent error message (aclGetRecentErrMsg) and `code` as its last
// error (aclrtGetLastError), and returns `code`.
SIM_API int fail(int code, const std::string& text);

// 100000, naming the argument.
SIM_API int fail_null(const char* name);

// The name of the exported function that this thread runs; set by enter_call.
SIM_API void set_current_function(const char* function);
const char* current_function();

// Of aclGetRecentErrMsg: null when nothing is pending. Clears.
const char* take_message();
int last_error(bool clear);
void forget_errors();  // of the calling thread

// Why the task that this thread runs failed, for the stream that ran it.
SIM_API void set_failure_reason(const std::string& text);
std::string take_failure_reason();

}  // namespace sim
