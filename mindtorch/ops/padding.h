#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace mindtorch::ops {

// What a border is made of, by torch's numbers.
enum class Padding : int64_t { kReflect, kReplicate, kCircular, kConstant };

// Which element of a line of `size` each element of the padded line shows. Negative numbers take
// elements away; those that are left go round where a border is circular.
inline std::vector<int64_t> shown_elements(Padding kind,
                                           int64_t size,
                                           int64_t before,
                                           int64_t after) {
  const int64_t last = size - 1;
  const int64_t first = std::min(std::max<int64_t>(-before, 0), last);
  const int64_t kept = std::max<int64_t>(size - first - std::max<int64_t>(-after, 0), 1);
  const auto shown = [&](int64_t i) {
    const int64_t place = i - before;
    switch (kind) {
      case Padding::kReplicate:
        return std::min(std::max<int64_t>(place, 0), last);
      case Padding::kCircular:
        return first + ((i - std::max<int64_t>(before, 0)) % kept + kept) % kept;
      default:
        return last - std::abs(last - std::abs(place));
    }
  };
  std::vector<int64_t> result(static_cast<size_t>(std::max<int64_t>(size + before + after, 0)));
  for (size_t i = 0; i < result.size(); ++i) result[i] = shown(static_cast<int64_t>(i));
  return result;
}

}  // namespace mindtorch::ops
