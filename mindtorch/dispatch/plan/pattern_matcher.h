#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mindtorch/dispatch/plan/liveness.h"
#include "mindtorch/dispatch/plan/pattern.h"
#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// Ops of a trace that run as one: a pattern of their device. It runs in the place of its last op.
struct PatternMatch {
  const ops::CallPattern* pattern = nullptr;
  std::vector<uint32_t> ops;      // in order
  std::vector<uint32_t> numbers;  // of the trace: it was found for these values only
  std::vector<std::pair<std::string_view, uint32_t>> tensors;  // variables and results
  std::vector<std::pair<std::string_view, double>> values;
};

// Looks for patterns: Note [Call patterns] in ops/call_pattern.h.
class PatternMatcher {
 public:
  // `varying`: as in make_plan().
  PatternMatcher(const Trace& trace, const Liveness& liveness, std::span<const uint8_t> varying);

  // The matches of all patterns among ops of the device, of earlier patterns first. None share an
  // op.
  std::vector<PatternMatch> find(std::span<const ParsedPattern> patterns, DeviceType device);

 private:
  // What the nodes of a pattern stand for.
  struct Binding;
  // How a tensor that is read may differ from what was written there.
  enum class Look : uint8_t { kSame, kReshaped, kAny };

  std::optional<PatternMatch> find_at(const ParsedPattern& pattern, uint32_t root) const;
  bool match(Binding& binding, uint16_t node, uint32_t tensor, uint32_t reader, Look look) const;
  bool match_tensor(Binding& binding, uint16_t node, uint32_t tensor, uint32_t reader) const;
  bool match_number(Binding& binding, uint16_t node, uint32_t tensor) const;
  bool match_writer(
      Binding& binding, uint16_t node, uint32_t tensor, uint32_t reader, Look look) const;
  bool match_op(Binding& binding, uint16_t node, uint32_t op) const;
  bool match_operands(Binding& binding, uint16_t node, uint32_t op) const;
  bool match_arguments(Binding& binding, uint16_t node, uint32_t op) const;
  bool match_value(Binding& binding,
                   const PatternNode& node,
                   const ops::Param& param,
                   const Argument& argument,
                   int64_t rank) const;
  // Nobody misses what is not written, nothing is read after it has changed.
  bool is_sound(const Binding& binding) const;
  bool is_private(uint32_t tensor, const Binding& binding, bool is_result) const;
  bool is_stable(uint32_t tensor, uint32_t reader, const Binding& binding) const;
  // What the pattern's contract knows of it then.
  std::optional<ops::PatternCall> accepted(const Binding& binding) const;
  PatternMatch result(const Binding& binding, const ops::PatternCall& call) const;

  bool is_seen_as(uint32_t written, uint32_t read, Look look) const;
  bool is_same(uint32_t a, uint32_t b) const;
  bool is_reshaped(uint32_t a, uint32_t b) const;
  uint32_t storage_of(uint32_t tensor) const { return trace_.tensors[tensor].storage; }

  const Trace& trace_;
  const Liveness& liveness_;
  std::vector<uint8_t> is_taken_;               // by op: dead, varying, or part of a match
  std::vector<std::vector<uint32_t>> users_;    // by storage: live ops that use it, in order
  std::vector<std::vector<uint32_t>> writers_;  // and those that write it
};

}  // namespace mindtorch::dispatch
