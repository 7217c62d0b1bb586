#include "mindtorch/backends/ascend/acl_error.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::ascend {
namespace {

struct Named {
  int64_t code;
  const char* name;
};

constexpr Named kErrors[] = {
#include "mindtorch/backends/ascend/acl_error_names.inc"
    {161001, "ACLNN_ERR_PARAM_NULLPTR"},
    {161002, "ACLNN_ERR_PARAM_INVALID"},
    {361001, "ACLNN_ERR_RUNTIME_ERROR"},
    {561000, "ACLNN_ERR_INNER"},
    {561001, "ACLNN_ERR_INNER_INFERSHAPE_ERROR"},
    {561002, "ACLNN_ERR_INNER_TILING_ERROR"},
    {561003, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR"},
    {561101, "ACLNN_ERR_INNER_CREATE_EXECUTOR"},
    {561102, "ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR"},
    {561103, "ACLNN_ERR_INNER_NULLPTR"},
    {561107, "ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND"},
    {561112, "ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND"},
};

}  // namespace

const char* error_name(int64_t code) noexcept {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [code](const Named& error) { return error.code == code; });
  return found == std::end(kErrors) ? "unknown" : found->name;
}

void raise(const char* function, int64_t code) {
  std::string text = error_name(code);
  if (const char* recent = acl().aclGetRecentErrMsg(); recent != nullptr && *recent != '\0') {
    text += ": ";
    text += recent;
  }
  throw driver::DriverError(function, code, text);
}

}  // namespace mindtorch::ascend
