// What programs set for the compiler of ops, kept as a real one keeps it.
#include <array>
#include <cstring>
#include <mutex>
#include <string>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"

using namespace sim;

namespace {

constexpr size_t kOptions = ACL_OP_DEBUG_OPTION + 1;

struct Options {
  std::mutex mutex;
  std::array<std::string, kOptions> values;
};

Options& options() {
  static Options* const kept = [] {
    auto* made = new Options;
    // On the chips that are simulated by default; older ones compile.
    int32_t compiles = 0;
    aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &compiles);
    made->values[ACL_OP_JIT_COMPILE] = compiles ? "enable" : "disable";
    return made;
  }();
  return *kept;
}

aclError check(aclCompileOpt opt) {
  if (opt >= 0 && static_cast<size_t>(opt) < kOptions) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "there is no option " + std::to_string(opt));
}

}  // namespace

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  if (const aclError code = enter("aclSetCompileopt", {{"opt", opt}, {"value", value}})) {
    return code;
  }
  if (const aclError code = check(opt)) return code;
  if (!value) return fail_null("value");
  const std::scoped_lock lock(options().mutex);
  options().values[opt] = value;
  return ACL_SUCCESS;
}

// With the zero at the end.
size_t aclGetCompileoptSize(aclCompileOpt opt) {
  if (enter("aclGetCompileoptSize", {{"opt", opt}}) || check(opt)) return 0;
  const std::scoped_lock lock(options().mutex);
  return options().values[opt].size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  if (const aclError code = enter("aclGetCompileopt", {{"opt", opt}, {"length", length}})) {
    return code;
  }
  if (const aclError code = check(opt)) return code;
  if (!value) return fail_null("value");
  const std::scoped_lock lock(options().mutex);
  const std::string& kept = options().values[opt];
  if (length <= kept.size()) {
    return fail(ACL_ERROR_INVALID_PARAM, "length is " + std::to_string(length) + ", " +
                                             std::to_string(kept.size() + 1) + " are needed");
  }
  std::memcpy(value, kept.c_str(), kept.size() + 1);
  return ACL_SUCCESS;
}
