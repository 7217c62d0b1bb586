#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace sim {

using Attribute = std::variant<int64_t,
                               double,
                               std::string,
                               std::vector<int64_t>,
                               std::vector<double>,
                               std::vector<std::string>,
                               std::vector<std::vector<int64_t>>>;

}  // namespace sim

// What an op of the older path takes beside its tensors. Opaque to programs.
struct aclopAttr {
  std::map<std::string, sim::Attribute> values;
};
