#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/export.h"

namespace sim {

// Bytes of device (or host) memory that a task reads or writes. An empty shape means the `bytes`
// from `data` on; otherwise the elements of a strided view, exactly, so that two views of one
// buffer that interleave do not count as overlapping.
struct Access {
  char* data = nullptr;
  size_t bytes = 0;  // of the whole range; of one element when strided
  bool write = false;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in bytes
  const char* name = "";         // of the argument, for reports
};

struct Block;

// Memory that an access touches. An access may have several: chunks that are mapped side by side
// in one reservation are one range of addresses.
struct Touch {
  size_t access = 0;  // its place among the task's
  std::shared_ptr<Block> block;
};

// One piece of work of a stream.
struct Task {
  std::string name;              // the function that made it: "aclnnAdd", "aclrtMemcpyAsync"
  std::vector<Access> accesses;  // everything `run` touches
  // Runs on the stream's thread, once for each replay when captured. Not 0: the device error that
  // the next synchronising call reports.
  std::function<aclError()> run;
  void* executor = nullptr;  // for reports
  // Only moves or sets bytes: may touch host memory, and may read bytes that were never written
  // (the destination then counts as unwritten where the source is, if `accesses` are destination
  // and source, both whole ranges).
  bool moves = false;
  // Runs the program's own code, which then knows that everything before it is done.
  bool tells_host = false;
};

// Puts the task at the end of a stream's queue (null: the current context's default stream). The
// calling thread must be in the stream's context. While the stream is captured the task is stored
// instead of run. Returns an aclError.
SIM_API aclError enqueue(aclrtStream stream, Task task);

// Code that streams run, made once and launched many times.
struct Kernel {
  const char* name = "";
  virtual ~Kernel() = default;
  virtual aclError run(void* const* arguments) const = 0;
};
inline constexpr size_t kMostArguments = 12;  // of a bare launch

// As enqueue, but on the quick path (Note [Quick path]): only while quick().
SIM_API aclError launch(aclrtStream stream,
                        std::shared_ptr<const Kernel> kernel,
                        void* const* arguments,
                        size_t count);

// Every exported function starts with this: counts and logs the call, and injects faults. Not 0:
// return it at once.
SIM_API aclError enter_call(const char* function);

}  // namespace sim
