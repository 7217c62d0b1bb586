#pragma once

#include <string_view>

namespace mindtorch::ascend {

// The family of a chip, by the name that CANN gives it: "910A", "910B3", "310P3". What CANN calls
// Ascend910B, without a number behind it, is a board with the older chip.
std::string_view chip_family(std::string_view soc_name);

// Tells the registry of ops which chip is here. The first call only; any thread.
void use_chip_of_devices();

// Whether the chip that is here has CANN's fused attention: not before the 910B.
bool has_fused_attention() noexcept;

}  // namespace mindtorch::ascend
