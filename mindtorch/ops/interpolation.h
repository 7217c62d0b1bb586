#pragma once

#include <cstdint>

namespace mindtorch::ops {

// How the elements of an image in another size are found.
enum class Interpolation : int64_t { kLinear, kNearest, kCubic, kNearestExact };

}  // namespace mindtorch::ops
