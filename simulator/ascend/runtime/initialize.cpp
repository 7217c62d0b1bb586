// aclInit and aclFinalize, versions, errors.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/exception.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

static constexpr const char* kVersion = "8.1.RC1";

aclError aclInit(const char* configPath) {
  if (const aclError code = enter("aclInit", {{"configPath", configPath}})) return code;
  std::string config;
  if (configPath && *configPath) {
    std::ifstream file(configPath);
    if (!file) return fail(ACL_ERROR_INVALID_FILE, std::string("cannot read ") + configPath);
    std::ostringstream text;
    text << file.rdbuf();
    config = text.str();
    if (config.find('{') == std::string::npos) {
      return fail(ACL_ERROR_PARSE_FILE, std::string(configPath) + " is no JSON object");
    }
  }
  const Lock lock(runtime().mutex);
  Runtime& r = runtime();
  if (r.init_count) {
    if (!config.empty() && config != r.config) {
      return fail(ACL_ERROR_INVALID_PARAM, "initialised already with another configuration");
    }
    ++r.init_count;
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "initialised already");
  }
  r.init_count = 1;
  r.finalized = false;
  r.config = config;
  return ACL_SUCCESS;
}

static void finalize(Lock& lock) {
  Runtime& r = runtime();
  on_finalize();
  r.init_count = 0;
  r.finalized = true;
  std::vector<std::shared_ptr<Context>> contexts;
  for (const auto& [_, context] : r.contexts) contexts.push_back(context);
  for (Device& device : r.devices) {
    device.default_context = nullptr;
    device.references = 0;
  }
  std::vector<std::shared_ptr<Stream>> streams;
  for (const auto& [_, stream] : r.streams) streams.push_back(stream);
  for (const auto& stream : streams) destroy_stream(lock, stream, /*wait=*/false);
  for (const auto& context : contexts) r.contexts.remove(context->handle);
  if (!settings().trace.empty()) write_trace(settings().trace);
}

aclError aclFinalize() {
  if (const aclError code = enter("aclFinalize", {})) return code;
  Lock lock(runtime().mutex);
  if (!runtime().init_count) {
    return fail(runtime().finalized ? ACL_ERROR_REPEAT_FINALIZE : ACL_ERROR_UNINITIALIZE,
                runtime().finalized ? "finalised already" : "never initialised");
  }
  finalize(lock);
  return ACL_SUCCESS;
}

aclError aclFinalizeReference(uint64_t* refCount) {
  if (const aclError code = enter("aclFinalizeReference", {})) return code;
  Lock lock(runtime().mutex);
  if (!runtime().init_count) return fail(ACL_ERROR_REPEAT_FINALIZE, "finalised already");
  const uint64_t left = runtime().init_count - 1;
  if (refCount) *refCount = left;
  if (left) {
    runtime().init_count = left;
  } else {
    finalize(lock);
  }
  return ACL_SUCCESS;
}

const char* aclGetRecentErrMsg() { return take_message(); }

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  return level == ACL_RT_THREAD_LEVEL ? last_error(/*clear=*/true) : ACL_ERROR_RT_PARAM_INVALID;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return level == ACL_RT_THREAD_LEVEL ? last_error(/*clear=*/false) : ACL_ERROR_RT_PARAM_INVALID;
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  if (const aclError code = enter("aclrtGetVersion", {})) return code;
  if (!majorVersion || !minorVersion || !patchVersion) return fail_null("a version");
  *majorVersion = 1;
  *minorVersion = 14;
  *patchVersion = 0;
  return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  if (const aclError code = enter("aclsysGetCANNVersion", {{"name", name}})) return code;
  if (!version) return fail_null("version");
  if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
    return fail(ACL_ERROR_INVALID_PARAM, "there is no such package");
  }
  std::memset(version, 0, sizeof *version);
  std::snprintf(version->version, sizeof version->version, "%s", kVersion);
  std::snprintf(version->majorVersion, sizeof version->majorVersion, "8");
  std::snprintf(version->minorVersion, sizeof version->minorVersion, "1");
  std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "RC1");
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  if (const aclError code = enter("aclsysGetVersionStr", {})) return code;
  if (!pkgName || !versionStr) return fail_null("pkgName or versionStr");
  std::strcpy(versionStr, kVersion);
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() {
  if (enter("aclrtGetSocName", {})) return nullptr;
  const Lock lock(runtime().mutex);
  static thread_local std::string name;
  name = settings().soc;
  return name.c_str();
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  if (const aclError code = enter("aclGetCannAttribute", {{"cannAttr", cannAttr}})) return code;
  if (!value) return fail_null("value");
  const Lock lock(runtime().mutex);
  const bool old = settings().is_910a() || settings().is_310p();
  switch (cannAttr) {
    case ACL_CANN_ATTR_INF_NAN:
    case ACL_CANN_ATTR_BF16:
      *value = old ? 0 : 1;
      return ACL_SUCCESS;
    case ACL_CANN_ATTR_JIT_COMPILE:
      *value = old ? 1 : 0;
      return ACL_SUCCESS;
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "there is no such attribute");
  }
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  if (const aclError code = enter("aclGetCannAttributeList", {})) return code;
  if (!cannAttrList || !num) return fail_null("cannAttrList or num");
  static const aclCannAttr all[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16,
                                    ACL_CANN_ATTR_JIT_COMPILE};
  *cannAttrList = all;
  *num = 3;
  return ACL_SUCCESS;
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  if (const aclError code = enter("aclrtSetExceptionInfoCallback", {})) return code;
  const Lock lock(runtime().mutex);
  runtime().exception_callback = callback;
  return ACL_SUCCESS;
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->task : ~0U;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->stream : ~0U;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->thread : ~0U;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->device : ~0U;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->code : ~0U;
}
