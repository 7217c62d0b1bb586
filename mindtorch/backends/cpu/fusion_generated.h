#pragma once

#include <memory>
#include <vector>

#include "mindtorch/backends/cpu/fusion_loop.h"
#include "mindtorch/backends/cpu/jit/kernel.h"

namespace mindtorch::cpu {

// Several steps of a group as machine code, for one action to run.
struct GeneratedSteps {
  struct Line {
    uint16_t slot;  // as in an action: a value until buffers are given
    uint8_t element_size = 0;
    Width width = Width::kWhole;
  };

  std::unique_ptr<jit::Kernel> kernel;
  std::vector<Line> in;
  std::vector<Line> out;
  bool by_rows = false;  // an input has one element for each of a tile's rows
};

}  // namespace mindtorch::cpu
