#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "mindtorch/autograd/node.h"
#include "mindtorch/ops/registry.h"

namespace mindtorch::autograd {

using MetaList = std::span<const TensorMeta>;

// One call of a rule: the gradients that come in, and those it makes. Parameters are numbered as in
// the op's schema.
class MT_API Backward {
 public:
  Backward(const Node& node,
           std::span<const uint32_t> first,
           uint32_t column_major,
           Gradients& grads,
           Gradients& results)
      : node_(node), first_(first), column_major_(column_major), grads_(grads), results_(results) {}

  // Of an output of the op; undefined stands for zeros where the op has several.
  const Tensor& grad(size_t output = 0) const { return grads_[output]; }
  // The look of that output.
  const TensorMeta& output(size_t output = 0) const { return node_.outputs[output]; }
  bool needs(size_t param, size_t at = 0) const { return node_.should_compute(first_[param] + at); }
  bool needs_any(size_t param, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      if (needs(param, i)) return true;
    }
    return false;
  }
  // The parameter was a matrix whose columns are contiguous: so should its gradient be.
  bool is_column_major(size_t param) const { return (column_major_ >> param & 1) != 0; }
  void set(size_t param, Tensor gradient) { set(param, 0, std::move(gradient)); }
  void set(size_t param, size_t at, Tensor gradient) {
    results_[first_[param] + at] = std::move(gradient);
  }

 private:
  const Node& node_;
  std::span<const uint32_t> first_;  // by parameter: its first edge
  const uint32_t column_major_;      // a bit for each parameter
  Gradients& grads_;
  Gradients& results_;
};

// The arguments a rule gets, by parameter, then the op's outputs.
struct RuleCall {
  std::span<const ops::Value> values;
  std::span<const MetaList> metas;
};

// What a rule keeps of a tensor: decided by the type of its parameter.
enum class Saves : uint8_t { kNothing, kMeta, kTensor };

using BackwardFn = void (*)(Backward&, const RuleCall&);
// torch's name for the node of a call, by its arguments; without the tensors.
using NameFn = std::string (*)(ops::Args);

// The derivative of an op that is not pointwise.
struct BackwardRule {
  struct Param {
    Saves saves = Saves::kNothing;
    // A bit for each parameter whose gradient needs the tensor: others leave it undefined.
    uint32_t needed_for = ~0u;
  };

  BackwardFn apply = nullptr;
  std::vector<Param> params;
  std::vector<Saves> outputs;
  std::string name;          // of the node; empty: made of the op's name
  NameFn name_of = nullptr;  // where the name depends on the arguments
  int numbered_by = -1;      // the parameter that makes it Backward1 where it is given
  // Knows of conjugates. Of all others the derivative is that of a holomorphic function: see
  // conjugate_if_complex().
  bool knows_complex = false;
};

namespace detail {

template <typename T>
struct RuleParam {
  static constexpr ops::ParamRule kRule = ops::Unbox<T>::kRule;
  static constexpr Saves kSaves = std::is_same_v<T, const Tensor&> || std::is_same_v<T, TensorList>
                                      ? Saves::kTensor
                                      : Saves::kNothing;
  static decltype(auto) from(const RuleCall& call, size_t i) {
    return ops::Unbox<T>::from(call.values[i]);
  }
};
template <>
struct RuleParam<const TensorMeta&> {
  static constexpr ops::ParamRule kRule = ops::Unbox<const Tensor&>::kRule;
  static constexpr Saves kSaves = Saves::kMeta;
  static const TensorMeta& from(const RuleCall& call, size_t i) { return call.metas[i][0]; }
};
template <>
struct RuleParam<MetaList> {
  static constexpr ops::ParamRule kRule = ops::Unbox<TensorList>::kRule;
  static constexpr Saves kSaves = Saves::kMeta;
  static MetaList from(const RuleCall& call, size_t i) { return call.metas[i]; }
};

template <typename... Params>
inline constexpr std::array<ops::ParamRule, sizeof...(Params)> kRuleParams{
    RuleParam<Params>::kRule...};

template <auto Function, typename... Params>
struct BoxedRule {
  template <size_t... I>
  static void call(Backward& backward, const RuleCall& given, std::index_sequence<I...>) {
    Function(backward, RuleParam<Params>::from(given, I)...);
  }
  static void apply(Backward& backward, const RuleCall& given) {
    call(backward, given, std::make_index_sequence<sizeof...(Params)>{});
  }
  static std::vector<Saves> saves() { return {RuleParam<Params>::kSaves...}; }
  static constexpr ops::Signature signature() { return kRuleParams<Params...>; }
};
template <auto Function, typename... Params>
BoxedRule<Function, Params...> boxed_rule(void (*)(Backward&, Params...));

}  // namespace detail

// Adds the derivatives of a family: derivatives.define<mm>("mm"). A rule is an ordinary function of
// the op's arguments, then of as many of its outputs as it reads. A `const Tensor&` is saved for
// backward, of a `const TensorMeta&` only the look.
class MT_API Derivatives {
 public:
  explicit Derivatives(ops::Registry& registry) : registry_(registry) {}

  class Definition {
   public:
    Definition(const ops::Op& op, BackwardRule& rule) : op_(op), rule_(rule) {}
    // `tensor` is saved only where the gradient of one of `others` is wanted.
    Definition& only_for(std::string_view tensor, std::initializer_list<std::string_view> others);
    // torch has two overloads: Backward0 without this argument, Backward1 with it.
    Definition& numbered_by(std::string_view param) {
      rule_.numbered_by = static_cast<int>(index(param));
      return *this;
    }
    Definition& knows_complex() {
      rule_.knows_complex = true;
      return *this;
    }
    Definition& named(std::string name) {
      rule_.name = std::move(name);
      return *this;
    }
    Definition& named(NameFn name) {
      rule_.name_of = name;
      return *this;
    }

   private:
    uint32_t index(std::string_view param) const;
    const ops::Op& op_;
    BackwardRule& rule_;
  };

  template <auto Function>
  Definition define(std::string_view op, Location location = Location::here()) {
    using Boxed = decltype(detail::boxed_rule<Function>(Function));
    return add(op, &Boxed::apply, Boxed::signature(), Boxed::saves(), location);
  }

 private:
  Definition add(std::string_view op,
                 BackwardFn apply,
                 ops::Signature signature,
                 const std::vector<Saves>& saves,
                 Location location);

  ops::Registry& registry_;
};

}  // namespace mindtorch::autograd
