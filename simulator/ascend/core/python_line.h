#pragma once

#include <string>

namespace sim {

// Note [Python lines]. A program in Python that knows nothing of the simulator wants its lines in
// reports all the same. They are asked of the interpreter that the process has, if any; a thread
// that has given the interpreter up takes it for a moment, but only in calls that nobody makes with
// a lock of his own held: otherwise two threads could wait for each other.

// "file:line" of the innermost frame that is none of PyTorch's; false: it cannot be asked here, and
// what was found last still stands.
bool python_line(const char* function, std::string& line);

}  // namespace sim
