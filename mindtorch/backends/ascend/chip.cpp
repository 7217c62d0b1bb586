#include "mindtorch/backends/ascend/chip.h"

#include <algorithm>
#include <mutex>

#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::ascend {
namespace {

// Written before there are tensors on the devices.
constinit bool g_has_fused_attention = true;

}  // namespace

std::string_view chip_family(std::string_view soc_name) {
  constexpr std::string_view kNamesOf910A[] = {"Ascend910A", "Ascend910ProA", "Ascend910PremiumA",
                                               "Ascend910B", "Ascend910ProB"};
  if (std::ranges::find(kNamesOf910A, soc_name) != std::end(kNamesOf910A)) return "910A";
  constexpr std::string_view kMaker = "Ascend";
  if (soc_name.starts_with(kMaker)) soc_name.remove_prefix(kMaker.size());
  return soc_name;
}

void use_chip_of_devices() {
  static std::once_flag told;
  std::call_once(told, [] {
    const char* const name = acl().aclrtGetSocName == nullptr ? nullptr : acl().aclrtGetSocName();
    if (name == nullptr) return;
    const std::string_view family = chip_family(name);
    g_has_fused_attention = !family.starts_with("910A") && !family.starts_with("310");
    const_cast<ops::Registry&>(ops::registry()).use_chip(DeviceType::kNpu, name, family);
  });
}

bool has_fused_attention() noexcept { return g_has_fused_attention; }

}  // namespace mindtorch::ascend
