#pragma once

#include <string>
#include <vector>

#include "mindtorch/base/macros.h"

namespace mindtorch::ascend {

// The ACLNN ops that kernels call.
MT_API const std::vector<std::string>& used_ops();
// Those that the library in use lacks; all of them when there is none. Each is found out when it
// is called, too: this is for people who ask before.
MT_API std::vector<std::string> missing_ops();

// "8.1.0", by package; empty when the library does not say.
struct PackageVersion {
  std::string package;
  std::string version;
};
MT_API std::vector<PackageVersion> cann_versions();

}  // namespace mindtorch::ascend
