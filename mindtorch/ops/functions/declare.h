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
  Declaration& loops() {
    info_->loops = true;
    return *this;
  }
  Declaration& within(double ulp32, double ulp64) {
    info_->tolerance.ulp32 = ulp32;
    info_->tolerance.ulp64 = ulp64;
    return *this;
  }
  Declaration& above(double floor32, double floor64) {
    info_->tolerance.floor32 = floor32;
    info_->tolerance.floor64 = floor64;
    return *this;
  }
  Declaration& moderate() {
    info_->tolerance.moderate = true;
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
  // Of complex operands: what backward adds, conjugates written out. `x.grad` may be real.
  template <typename... Gradients>
  Declaration& complex_gradients(Gradients... each) {
    int index = 0;
    (add_gradient(index++, build_gradient(each), true), ...);
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
    add_gradient(index, build_gradient(formula), false);
  }
  template <typename Formula>
  static Expression build_gradient(Formula formula) {
    ExprBuilder builder;
    const Expr value = formula(make_gradient_inputs(builder));
    return builder.finish(value.node());
  }
  void add_gradient(int index, const Expression& expression, bool is_complex);

  FunctionInfo* info_;
};

inline constexpr Derivative::Kind kGradient = Derivative::Kind::kGradient;
inline constexpr Derivative::Kind kZero = Derivative::Kind::kZero;

// The functions of this library, by family.
class MT_API Functions {
 public:
  explicit Functions(FunctionInfo* infos) : infos_(infos) {}
  Declaration define(Pointwise function) const {
    return Declaration(infos_[static_cast<int>(function)]);
  }
  // One that has no number of its own; function_named() finds it.
  template <typename Declare>
  void add(const char* name, int arity, Declare declare) const {
    FunctionInfo info;
    info.name = info.torch_kernel = name;
    info.arity = static_cast<uint8_t>(arity);
    Declaration declaration(info);
    declare(declaration);
    enter(std::move(info));
  }

 private:
  static void enter(FunctionInfo info);

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
void declare_losses(const Functions& functions);
// After all others.
void declare_more_dtypes(FunctionInfo* infos);

}  // namespace mindtorch::ops
