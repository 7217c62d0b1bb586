// Steps of optimizers: one pass over lists of parameters, their gradients and their state.
#include "mindtorch/ops/definitions/definitions.h"
#include "mindtorch/ops/definitions/rules.h"

namespace mindtorch::ops {
namespace {

void check_lists(TensorList params, std::initializer_list<TensorList> others) {
  for (const TensorList& list : others) {
    MT_CHECK(list.size() == params.size(), RuntimeError,
             "Tensor lists must have the same number of tensors, got ", params.size(), " and ",
             list.size());
    for (size_t i = 0; i < params.size(); ++i) {
      MT_CHECK(list[i].sizes() == params[i].sizes() && list[i].dtype() == params[i].dtype() &&
                   list[i].device() == params[i].device(),
               RuntimeError, "params, grads and states must have same dtype, device, and layout");
    }
  }
  for (const Tensor& param : params) {
    MT_CHECK(is_floating_point(param.dtype()), RuntimeError,
             "the steps of optimizers are defined for parameters of floats, not of ",
             name(param.dtype()));
  }
}

void check_steps(TensorList params, TensorList steps) {
  MT_CHECK(steps.size() == params.size(), RuntimeError,
           "Tensor lists must have the same number of tensors, got ", params.size(), " and ",
           steps.size());
  for (const Tensor& step : steps) {
    MT_CHECK(step.numel() == 1 && step.dtype() == DType::kFloat32, RuntimeError,
             "state_steps must be float32 tensors of one element");
  }
}

template <typename Rate>
void adam(TensorList self,
          TensorList grads,
          TensorList exp_avgs,
          TensorList exp_avg_sqs,
          TensorList max_exp_avg_sqs,
          TensorList state_steps,
          Rate,
          double,
          double,
          double,
          double,
          bool amsgrad,
          bool,
          const Tensor&,
          const Tensor&) {
  check_lists(self, {grads, exp_avgs, exp_avg_sqs});
  if (amsgrad) check_lists(self, {max_exp_avg_sqs});
  check_steps(self, state_steps);
}

template <typename Rate>
void sgd(TensorList self,
         TensorList grads,
         TensorList momentum_buffer_list,
         double,
         double momentum,
         Rate,
         double,
         bool,
         bool,
         bool,
         const Tensor&,
         const Tensor&) {
  check_lists(self, {grads});
  if (momentum != 0) check_lists(self, {momentum_buffer_list});
}

template <typename Rate>
void adagrad(TensorList self,
             TensorList grads,
             TensorList state_sums,
             TensorList state_steps,
             Rate,
             double,
             double,
             double,
             bool,
             const Tensor&,
             const Tensor&) {
  check_lists(self, {grads, state_sums});
  check_steps(self, state_steps);
}

// functional/optimizer.cpp has looked at the tensors.
void unscale_list_(TensorList, TensorList, const Tensor&) {}

}  // namespace

void define_optimizer(Registry& ops) {
  ops.define<adam<double>>(
         "_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
         "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
         "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
         "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adam_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor(2.0)], lr=0.1, "
          "beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of Adam for a list of parameters, in one pass.");
  ops.define<adam<const Tensor&>>(
         "_fused_adam_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
         "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
         "Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
         "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adam_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor(2.0)], "
          "lr=torch.tensor(0.1), beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, "
          "maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of Adam whose rate is a tensor.");
  ops.define<adam<double>>(
         "_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
         "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
         "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
         "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adamw_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor(2.0)], lr=0.1, "
          "beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of AdamW for a list of parameters, in one pass.");
  ops.define<adam<const Tensor&>>(
         "_fused_adamw_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
         "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "
         "Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
         "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adamw_([x], [x + 1], [x / 2], [x * x], [], [torch.tensor(2.0)], "
          "lr=torch.tensor(0.1), beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, "
          "maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of AdamW whose rate is a tensor.");
  ops.define<sgd<double>>(
         "_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "
         "float weight_decay, float momentum, float lr, float dampening, bool nesterov, "
         "bool maximize, bool is_first_step, Tensor? grad_scale=None, "
         "Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_sgd_([x], [x + 1], [x * 2], weight_decay=0.1, momentum=0.9, lr=0.1, "
          "dampening=0.0, nesterov=True, maximize=False, is_first_step=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of gradient descent for a list of parameters, in one pass.");
  ops.define<sgd<const Tensor&>>(
         "_fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, "
         "Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, Tensor lr, "
         "float dampening, bool nesterov, bool maximize, bool is_first_step, "
         "Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_sgd_([x], [x + 1], [x * 2], weight_decay=0.1, momentum=0.9, "
          "lr=torch.tensor(0.1), dampening=0.0, nesterov=True, maximize=False, "
          "is_first_step=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of gradient descent whose rate is a tensor.");
  ops.define<adagrad<double>>(
         "_fused_adagrad_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, "
         "Tensor(d!)[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, "
         "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adagrad_([x], [x + 1], [x * x], [torch.tensor(2.0)], lr=0.1, lr_decay=0.0, "
          "weight_decay=0.1, eps=1e-8, maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of Adagrad for a list of parameters, in one pass.");
  ops.define<adagrad<const Tensor&>>(
         "_fused_adagrad_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, "
         "Tensor(c!)[] state_sums, Tensor[] state_steps, *, Tensor lr, float lr_decay, "
         "float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, "
         "Tensor? found_inf=None) -> ()")
      .device_example(
          "torch._fused_adagrad_([x], [x + 1], [x * x], [torch.tensor(2.0)], lr=torch.tensor(0.1), "
          "lr_decay=0.0, weight_decay=0.1, eps=1e-8, maximize=False)")
      .function_only()
      .not_differentiable()
      .doc("A step of Adagrad whose rate is a tensor.");

  ops.define(
         "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, "
         "Tensor inv_scale) -> ()")
      .function_only()
      .doc(
          "Multiplies each gradient of a list, in one pass, and sets `found_inf` to 1 if an "
          "element "
          "is infinite or NaN.",
          ">>> grad, found_inf = torch.tensor([2., 4.]), torch.zeros(())\n"
          ">>> _ = torch._amp_foreach_non_finite_check_and_unscale_([grad], found_inf, "
          "torch.tensor(0.5))\n>>> grad, found_inf\n(tensor([1., 2.]), tensor(0.))");
  ops.define(
         "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, "
         "float scale_growth_factor, float scale_backoff_factor, int growth_interval) "
         "-> Tensor(a!)")
      .function_only()
      .doc(
          "Shrinks the scale of a loss after an infinite gradient, lets it grow after as many "
          "steps "
          "without any as `growth_interval`, and counts these steps.",
          ">>> scale, steps = torch.tensor(8.), torch.tensor(0, dtype=torch.int32)\n"
          ">>> torch._amp_update_scale_(scale, steps, torch.tensor(1.), 2.0, 0.5, "
          "100)\ntensor(4.)");
  ops.define<unscale_list_>(
         "_unscale_list_(Tensor(a!)[] self, Tensor(b!)[] found_inf, Tensor inv_scale) -> ()")
      .device_example(
          "torch._amp_foreach_non_finite_check_and_unscale_([x], torch.zeros(1), "
          "torch.tensor(0.5))")
      .internal()
      .not_differentiable();
}

}  // namespace mindtorch::ops
