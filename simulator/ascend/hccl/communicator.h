#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"

namespace sim {

struct Communicator {
  std::string name;
  uint32_t ranks = 1;
  uint32_t rank = 0;
};

// Null, with a message: the handle is none, or was destroyed.
Communicator* find_communicator(HcclComm handle);

inline HcclResult refuse(HcclResult code, const std::string& text) {
  fail(code, text);
  return code;
}

// How every function starts: a fault that was set for it is its answer.
inline HcclResult begin(const char* function, std::initializer_list<Argument> arguments) {
  return static_cast<HcclResult>(enter(function, arguments));
}

}  // namespace sim
