#include "mindtorch/autograd/backward_rule.h"

#include <algorithm>

namespace mindtorch::autograd {

uint32_t Derivatives::Definition::index(std::string_view param) const {
  const auto& params = op_.schema.params;
  const auto found = std::ranges::find(params, param, &ops::Param::name);
  MT_CHECK(found != params.end(), RuntimeError, op_.schema.str(), " has no parameter ", param);
  return static_cast<uint32_t>(found - params.begin());
}

Derivatives::Definition& Derivatives::Definition::only_for(
    std::string_view tensor, std::initializer_list<std::string_view> others) {
  uint32_t mask = 0;
  for (const std::string_view other : others) mask |= 1u << index(other);
  rule_.params[index(tensor)].needed_for = mask;
  return *this;
}

Derivatives::Definition Derivatives::add(std::string_view name,
                                         BackwardFn apply,
                                         ops::Signature signature,
                                         const std::vector<Saves>& saves,
                                         Location location) {
  const ops::Op& op = registry_.at(name);
  const size_t count = op.schema.params.size();
  MT_CHECK(signature.size() >= count, RuntimeError, "the rule at ", location.file, ":",
           location.line, " does not take the arguments of ", op.schema.str());
  // Never freed: ops point to their rules as long as the process lives.
  auto& rule = *new BackwardRule;
  rule.apply = apply;
  for (size_t i = 0; i < count; ++i) rule.params.push_back({saves[i]});
  rule.outputs.assign(saves.begin() + static_cast<std::ptrdiff_t>(count), saves.end());
  registry_.backward(name, rule, signature.first(count), location);
  return {op, rule};
}

}  // namespace mindtorch::autograd
