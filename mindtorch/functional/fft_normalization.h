#pragma once

#include <cstdint>

namespace mindtorch::functional {

// What a transform is divided by: nothing, the root of the count of elements, or the count.
enum Normalization : int64_t { kNone = 0, kByRoot = 1, kByCount = 2 };

}  // namespace mindtorch::functional
