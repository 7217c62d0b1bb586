#include "mindtorch/backends/ascend/used_ops.h"

#include "mindtorch/backends/ascend/acl_api.h"

namespace mindtorch::ascend {

const std::vector<std::string>& used_ops() {
  static const auto& names = *new std::vector<std::string>{
#include "mindtorch/backends/ascend/used_ops.inc"
  };
  return names;
}

std::vector<std::string> missing_ops() {
  std::vector<std::string> missing;
  for (const std::string& name : used_ops()) {
    const bool found =
        op_symbol(name.c_str()) != nullptr && op_symbol((name + "GetWorkspaceSize").c_str());
    if (!found) missing.push_back(name);
  }
  return missing;
}

std::vector<PackageVersion> cann_versions() {
  std::vector<PackageVersion> versions;
  if (!load_report().usable || acl().aclsysGetCANNVersion == nullptr) return versions;
  const struct {
    aclCANNPackageName package;
    const char* name;
  } packages[] = {{ACL_PKG_NAME_CANN, "CANN"},
                  {ACL_PKG_NAME_RUNTIME, "runtime"},
                  {ACL_PKG_NAME_COMPILER, "compiler"},
                  {ACL_PKG_NAME_OPP, "opp"},
                  {ACL_PKG_NAME_DRIVER, "driver"}};
  for (const auto& [package, name] : packages) {
    aclCANNPackageVersion version{};
    if (acl().aclsysGetCANNVersion(package, &version) == ACL_SUCCESS) {
      versions.push_back({name, version.version});
    }
  }
  acl().aclGetRecentErrMsg();  // a package that is not installed is no error
  return versions;
}

}  // namespace mindtorch::ascend
