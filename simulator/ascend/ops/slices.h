#pragma once

#include <string>
#include <vector>

#include "simulator/ascend/nnopbase/planner.h"

namespace sim {

// A part of a tensor as begin, end and step of each dim say, and five masks of their bits.
struct SliceMasks {
  int64_t begin = 0;     // bits of the dims whose begin does not count
  int64_t end = 0;       // the same for end
  int64_t ellipsis = 0;  // the place that stands for all dims that are not named
  int64_t new_axis = 0;  // places that add a dim of one element
  int64_t shrink = 0;    // dims of which only the element at begin is taken
};

struct Slice {
  View view;           // without data
  int64_t offset = 0;  // of its first element, in elements
};

// Throws Rejected.
Slice slice_of(const View& whole,
               const std::vector<int64_t>& begin,
               const std::vector<int64_t>& end,
               const std::vector<int64_t>& steps,
               const SliceMasks& masks);

}  // namespace sim
