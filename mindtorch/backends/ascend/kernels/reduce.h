#pragma once

#include <optional>

#include "mindtorch/tensor/shape.h"

namespace mindtorch::ascend {

using Dims = std::optional<IntList>;

// The dims to reduce; none given means all, and CANN wants them spelled out.
Shape all_or(const Dims& dim, int64_t count);

}  // namespace mindtorch::ascend
