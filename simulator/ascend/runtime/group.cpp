// Groups of cores. A device is one group that holds all its cores.
#include <cstring>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"

using namespace sim;

struct aclrtGroupInfo {
  bool filled = false;
  int32_t cube_cores = 0;
  int32_t vector_cores = 0;
};

static aclError check_context() {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  return current_context(context);
}

aclError aclrtSetGroup(int32_t groupId) {
  if (const aclError code = enter("aclrtSetGroup", {{"groupId", groupId}})) return code;
  if (const aclError code = check_context()) return code;
  if (groupId == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "there is only group 0");
}

aclError aclrtGetGroupCount(uint32_t* count) {
  if (const aclError code = enter("aclrtGetGroupCount", {})) return code;
  if (!count) return fail_null("count");
  if (const aclError code = check_context()) return code;
  *count = 1;
  return ACL_SUCCESS;
}

aclrtGroupInfo* aclrtCreateGroupInfo() {
  if (enter("aclrtCreateGroupInfo", {})) return nullptr;
  return new aclrtGroupInfo;
}

aclError aclrtDestroyGroupInfo(aclrtGroupInfo* groupInfo) {
  if (const aclError code = enter("aclrtDestroyGroupInfo", {{"groupInfo", groupInfo}})) return code;
  if (!groupInfo) return fail_null("groupInfo");
  delete groupInfo;
  return ACL_SUCCESS;
}

aclError aclrtGetAllGroupInfo(aclrtGroupInfo* groupInfo) {
  if (const aclError code = enter("aclrtGetAllGroupInfo", {{"groupInfo", groupInfo}})) return code;
  if (!groupInfo) return fail_null("groupInfo");
  if (const aclError code = check_context()) return code;
  const Lock lock(runtime().mutex);
  *groupInfo = {true, settings().cube_cores(), settings().vector_cores()};
  return ACL_SUCCESS;
}

aclError aclrtGetGroupInfoDetail(const aclrtGroupInfo* groupInfo,
                                 int32_t groupIndex,
                                 aclrtGroupAttr attr,
                                 void* attrValue,
                                 size_t valueLen,
                                 size_t* paramRetSize) {
  if (const aclError code =
          enter("aclrtGetGroupInfoDetail", {{"groupIndex", groupIndex}, {"attr", attr}})) {
    return code;
  }
  if (!groupInfo) return fail_null("groupInfo");
  if (!attrValue) return fail_null("attrValue");
  if (!paramRetSize) return fail_null("paramRetSize");
  if (!groupInfo->filled || groupIndex != 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "there is no such group, or aclrtGetAllGroupInfo was "
                "not called");
  }
  int32_t value = 0;
  switch (attr) {
    case ACL_GROUP_AICORE_INT:
    case ACL_GROUP_AIC_INT:
      value = groupInfo->cube_cores;
      break;
    case ACL_GROUP_AIV_INT:
      value = groupInfo->vector_cores;
      break;
    case ACL_GROUP_SDMANUM_INT:
    case ACL_GROUP_ASQNUM_INT:
    case ACL_GROUP_GROUPID_INT:
      break;
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "there is no attribute " + std::to_string(attr));
  }
  if (valueLen < sizeof value) return fail(ACL_ERROR_INVALID_PARAM, "valueLen is below 4");
  std::memcpy(attrValue, &value, sizeof value);
  *paramRetSize = sizeof value;
  return ACL_SUCCESS;
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
  if (const aclError code = enter("aclrtSetTsDevice", {{"tsId", tsId}})) return code;
  if (tsId == ACL_TS_ID_AICORE) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "this SoC schedules everything with the AI cores");
}
