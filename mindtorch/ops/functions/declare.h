#pragma once

#include <optional>
#include <utility>

#include "mindtorch/ops/functions.h"
#include "mindtorch/ops/functions/formula.h"

namespace mindtorch::ops {

using formula::Expr;

// The operands and parameters of a formula.
struct Inputs {
  Expr a, b, c, p0, p1, p2;
};
// And what backward knows besides: the incoming gradient and the function's result.
struct GradientInputs : Inputs {
  Expr grad, result;
};

// Declares one function.
class MT_API Declaration {
 public:
  // One with an id of its own, or a new one.
  explicit Declaration(FunctionInfo& info) : info_(&info) {}

  Declaration& in(DTypeSet dtypes) {
    info_->dtypes = dtypes;
    return *this;
  }
  Declaration& torch_kernel(const char* name) {
    info_->torch_kernel = name;
    return *this;
  }
  Declaration& gives(Values values) {
    info_->values = values;
    return *this;
  }
  Declaration& cost(Cost cost) {
    info_->cost = cost;
    return *this;
  }
  template <typename Formula>
  Declaration& is(Formula formula) {
    info_->value = build(formula);
    return *this;
  }
  template <typename Formula>
  Declaration& of_integers(Formula formula) {
    info_->integer_value = build(formula);
    return *this;
  }
  // The gradients of the operands, in order: a formula, kGradient or kZero each.
  template <typename... Gradients>
  Declaration& gradients(Gradients... each) {
    int index = 0;
    (set_gradient(index++, each), ...);
    return *this;
  }

 private:
  template <typename Formula>
  static Expression build(Formula formula) {
    ExprBuilder builder;
    const Expr value = formula(make_inputs(builder));
    return builder.finish(value.node());
  }
  static Inputs make_inputs(ExprBuilder& builder);
  static GradientInputs make_gradient_inputs(ExprBuilder& builder);

  void set_gradient(int index, Derivative::Kind kind) { info_->derivatives[index].kind = kind; }
  template <typename Formula>
  void set_gradient(int index, Formula formula) {
    ExprBuilder builder;
    const Expr value = formula(make_gradient_inputs(builder));
    add_gradient(index, builder.finish(value.node()));
  }
  void add_gradient(int index, const Expression& expression);

  FunctionInfo* info_;
};

inline constexpr Derivative::Kind kGradient = Derivative::Kind::kGradient;
inline constexpr Derivative::Kind kZero = Derivative::Kind::kZero;

// The built-in functions, by family.
class Functions {
 public:
  explicit Functions(FunctionInfo* infos) : infos_(infos) {}
  Declaration define(Pointwise function) const {
    return Declaration(infos_[static_cast<int>(function)]);
  }

 private:
  FunctionInfo* infos_;
};

void declare_arithmetic(const Functions& functions);
void declare_comparisons(const Functions& functions);
void declare_bits(const Functions& functions);
void declare_rounding(const Functions& functions);
void declare_powers(const Functions& functions);
void declare_special(const Functions& functions);
void declare_trigonometry(const Functions& functions);
void declare_activations(const Functions& functions);
void declare_selections(const Functions& functions);
// After all others.
void declare_more_dtypes(FunctionInfo* infos);

}  // namespace mindtorch::ops
