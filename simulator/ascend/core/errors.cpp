#include "simulator/ascend/core/errors.h"

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/unsupported.h"

namespace sim {

static thread_local std::string recent_message;
static thread_local bool has_message = false;

int fail(int code, const std::string& text) {
  recent_message = text;
  has_message = true;
  return code;
}

int unsupported(const char* function, int code) {
  return fail(code, std::string(function) + " is not simulated");
}

const char* take_message() {
  if (!has_message) return nullptr;
  has_message = false;
  static thread_local std::string told;
  told.swap(recent_message);
  return told.c_str();
}

}  // namespace sim

const char* aclGetRecentErrMsg() { return sim::take_message(); }
