#pragma once

#include <string>
#include <vector>

#include "mindtorch/ops/schema.h"

namespace mindtorch::python {

// One op of ours often stands for several signatures of torch: sum() with dims and without, eq() of
// a tensor and of a number. Users see torch's signatures in messages, and which message a mistake
// gets depends on them. All are without a method's self, and with out= where that is taken.
struct TorchSignatures {
  std::vector<ops::Schema> shown;
  std::vector<ops::Schema> deprecated;  // still accepted, never shown
};

// `ours`: the schemas of our ops of that name, for names about which there is nothing else to say.
TorchSignatures torch_signatures(const std::string& name,
                                 bool is_method,
                                 std::vector<ops::Schema> ours);

// Factories take layout=, for which schemas have no type.
inline bool is_layout_option(const ops::Param& param) { return param.name == "layout"; }

}  // namespace mindtorch::python
