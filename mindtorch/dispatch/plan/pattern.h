#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mindtorch/ops/call_pattern.h"
#include "mindtorch/ops/pointwise.h"

namespace mindtorch::dispatch {

// A pattern's expression as a graph. Nodes come after what they are made of, but for names that
// stand for another node: a name is one node, wherever it is written.
struct PatternNode {
  enum class Kind : uint8_t { kCall, kCast, kView, kAlias, kTensor, kNumber };
  // An argument of a call that is not a tensor.
  struct Argument {
    std::string_view name;
    std::string_view text;  // as a schema writes it, "$name" to keep it, or "*"
  };

  Kind kind = Kind::kTensor;
  bool is_optional = false;   // may be left out
  bool in_any_order = false;  // the first two operands
  bool is_result = false;     // others may use it
  std::string_view name{};    // of the value; empty: it has none
  std::string_view op{};      // of a call
  double number = 0;          // of a number without a name
  std::vector<uint16_t> operands{};
  std::vector<Argument> arguments{};
};

struct ParsedPattern {
  const ops::CallPattern* pattern;
  std::vector<PatternNode> nodes;
  uint16_t root;
};

// Throws RuntimeError where the expression is malformed.
ParsedPattern parse_pattern(const ops::CallPattern& pattern);
// Of the device, parsed once.
const std::vector<ParsedPattern>& patterns_of(DeviceType device);

}  // namespace mindtorch::dispatch
