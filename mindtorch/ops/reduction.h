#pragma once

#include <cstdint>

namespace mindtorch::ops {

// What becomes of the losses of all elements: torch's numbers.
enum class Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

}  // namespace mindtorch::ops
