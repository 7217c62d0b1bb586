#include "mindtorch/ops/call_pattern.h"

#include <algorithm>

namespace mindtorch::ops {
namespace {

using PatternsFn = CallPatterns (*)();
PatternsFn g_patterns[kDeviceTypeCount] = {};

}  // namespace

const Tensor& PatternCall::operator[](std::string_view name) const {
  static const Tensor none;
  const auto found = std::ranges::find(tensors_, name, &std::pair<std::string_view, Tensor>::first);
  return found == tensors_.end() ? none : found->second;
}

double PatternCall::number(std::string_view name) const {
  const auto found = std::ranges::find(numbers_, name, &std::pair<std::string_view, double>::first);
  MT_CHECK(found != numbers_.end(), RuntimeError, "the pattern has no number '", name, "'");
  return found->second;
}

void set_call_patterns(DeviceType device, CallPatterns (*patterns)()) {
  g_patterns[static_cast<int>(device)] = patterns;
}

CallPatterns call_patterns(DeviceType device) {
  const PatternsFn patterns = g_patterns[static_cast<int>(device)];
  return patterns == nullptr ? CallPatterns() : patterns();
}

}  // namespace mindtorch::ops
