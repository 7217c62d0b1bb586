#include "simulator/ascend/core/errors.h"

#include <utility>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/unsupported.h"

namespace sim {

namespace {
struct ThreadErrors {
  std::string message;
  std::string returned;  // the text that aclGetRecentErrMsg returned last
  bool pending = false;
  int last = ACL_SUCCESS;
};
}  // namespace

// Apart, because every call sets it: this one needs no constructor.
static thread_local const char* function_of_thread = "";

static ThreadErrors& errors() {
  static thread_local ThreadErrors of_thread;
  return of_thread;
}

void set_current_function(const char* function) { function_of_thread = function; }

const char* current_function() { return function_of_thread; }

int fail(int code, const std::string& text) {
  ThreadErrors& e = errors();
  e.message = std::string("[").append(std::to_string(code)).append("] ");
  if (*function_of_thread) e.message += std::string(function_of_thread) + ": ";
  e.message += text;
  e.pending = true;
  e.last = code;
  return code;
}

int fail_null(const char* name) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + " is null");
}

int unsupported(const char* function, int code) {
  set_current_function(function);
  return fail(code, "not simulated");
}

const char* take_message() {
  ThreadErrors& e = errors();
  if (!e.pending) return nullptr;
  e.pending = false;
  e.returned.swap(e.message);
  return e.returned.c_str();
}

int last_error(bool clear) {
  const int code = errors().last;
  if (clear) errors().last = ACL_SUCCESS;
  return code;
}

static thread_local std::string reason_of_thread;

void set_failure_reason(const std::string& text) { reason_of_thread = text; }

std::string take_failure_reason() { return std::exchange(reason_of_thread, {}); }

void forget_errors() { errors() = {}; }

}  // namespace sim
