// Steps of optimizers: ApplyAdamWV2 for each parameter; the others in terms of CANN's Foreach ops.
#include "mindtorch/backends/ascend/aclnn.h"
#include "mindtorch/backends/ascend/kernels/compose.h"
#include "mindtorch/backends/ascend/kernels/dtypes.h"
#include "mindtorch/backends/ascend/kernels/foreach.h"
#include "mindtorch/backends/ascend/kernels/kernels.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::ascend {
namespace {

using ops::Pointwise;

// Waits for a number that the device has: CANN's ops take rates from the host.
double number(ops::Launch& on, const Tensor& tensor) {
  const Scalar value =
      tensor.device().is_cpu() ? read_element(tensor.data_ptr(), tensor.dtype()) : item(on, tensor);
  return value.to_double();
}
double number(ops::Launch&, double value) { return value; }

std::vector<Tensor> make_like_each(const ops::Launch& on, TensorList list) {
  std::vector<Tensor> made;
  made.reserve(list.size());
  for (const Tensor& tensor : list) made.push_back(make_like(on, tensor.sizes(), tensor.dtype()));
  return made;
}

// Gradients without the scale of the loss. True: they are not finite, and the step is left out.
bool unscale(ops::Launch& on, TensorList grads, const Tensor& grad_scale, const Tensor& found_inf) {
  if (found_inf.defined() && number(on, found_inf) != 0) return true;
  if (grad_scale.defined()) {
    const Tensor scale = on_device(on, grad_scale, grads[0].dtype());
    run_on_lists(on, Pointwise::kDiv, grads, {grads, TensorList(std::span(&scale, 1))});
  }
  return false;
}

// The direction that parameters are to go against, with weight decay in it. `made` holds it where
// it is not the gradients.
TensorList slopes_of(ops::Launch& on,
                     TensorList params,
                     TensorList grads,
                     double weight_decay,
                     bool maximize,
                     std::vector<Tensor>& made) {
  if (weight_decay == 0 && !maximize) return grads;
  made = make_like_each(on, params);
  TensorList slopes = grads;
  if (maximize) {
    run_on_lists(on, Pointwise::kNeg, made, {grads});
    slopes = made;
  }
  if (weight_decay != 0) {
    run_on_lists(on, Pointwise::kAddScaled, made, {slopes, params}, weight_decay);
  }
  return made;
}

template <bool kDecoupled, typename Rate>
void adam(ops::Launch& on,
          TensorList self,
          TensorList grads,
          TensorList exp_avgs,
          TensorList exp_avg_sqs,
          TensorList max_exp_avg_sqs,
          TensorList state_steps,
          Rate lr,
          double beta1,
          double beta2,
          double weight_decay,
          double eps,
          bool amsgrad,
          bool maximize,
          const Tensor& grad_scale,
          const Tensor& found_inf) {
  if (unscale(on, grads, grad_scale, found_inf)) return;
  const auto rate = static_cast<float>(number(on, lr));
  const bool has_l2 = !kDecoupled && weight_decay != 0;
  std::vector<Tensor> made;
  const TensorList slopes =
      has_l2 ? slopes_of(on, self, grads, weight_decay, maximize, made) : grads;
  const Tensor none;
  Tensor step;  // on the device; mostly the same for all
  double counted = -1;
  for (size_t i = 0; i < self.size(); ++i) {
    if (self[i].numel() == 0) continue;
    const bool is_on_host = state_steps[i].device().is_cpu();
    if (const double count = is_on_host ? number(on, state_steps[i]) : -1;
        !is_on_host || count != counted) {
      step = on_device(on, state_steps[i], DType::kFloat32);
      counted = count;
    }
    call(on, MT_ACLNN(aclnnApplyAdamWV2), self[i], exp_avgs[i], exp_avg_sqs[i],
         amsgrad ? max_exp_avg_sqs[i] : none, slopes[i], step, rate, static_cast<float>(beta1),
         static_cast<float>(beta2), static_cast<float>(kDecoupled ? weight_decay : 0),
         static_cast<float>(eps), amsgrad, maximize && !has_l2);
  }
}

template <typename Rate>
void sgd(ops::Launch& on,
         TensorList self,
         TensorList grads,
         TensorList momentum_buffer_list,
         double weight_decay,
         double momentum,
         Rate lr,
         double dampening,
         bool nesterov,
         bool maximize,
         bool is_first_step,
         const Tensor& grad_scale,
         const Tensor& found_inf) {
  if (unscale(on, grads, grad_scale, found_inf)) return;
  std::vector<Tensor> made;
  TensorList slopes = slopes_of(on, self, grads, weight_decay, maximize, made);
  if (momentum != 0) {
    const TensorList buffers = momentum_buffer_list;
    if (is_first_step) {
      copy_lists(on, slopes, buffers);
    } else {
      const Tensor factor = Tensor::wrapped_number(Scalar(momentum));
      run_on_lists(on, Pointwise::kMul, buffers, {buffers, TensorList(std::span(&factor, 1))});
      run_on_lists(on, Pointwise::kAddScaled, buffers, {buffers, slopes}, 1 - dampening);
    }
    if (nesterov) {
      if (made.empty()) made = make_like_each(on, self);
      run_on_lists(on, Pointwise::kAddScaled, made, {slopes, buffers}, momentum);
      slopes = made;
    } else {
      slopes = buffers;
    }
  }
  run_on_lists(on, Pointwise::kAddScaled, self, {self, slopes}, -number(on, lr));
}

template <typename Rate>
void adagrad(ops::Launch& on,
             TensorList self,
             TensorList grads,
             TensorList state_sums,
             TensorList state_steps,
             Rate lr,
             double lr_decay,
             double weight_decay,
             double eps,
             bool maximize,
             const Tensor& grad_scale,
             const Tensor& found_inf) {
  if (unscale(on, grads, grad_scale, found_inf)) return;
  std::vector<Tensor> made;
  const TensorList slopes = slopes_of(on, self, grads, weight_decay, maximize, made);
  run_on_lists(on, Pointwise::kAddcmul, state_sums, {state_sums, slopes, slopes}, 1);
  const std::vector<Tensor> sizes = make_like_each(on, self);
  const Tensor least = Tensor::wrapped_number(Scalar(eps));
  run_on_lists(on, Pointwise::kSqrt, sizes, {state_sums});
  run_on_lists(on, Pointwise::kAdd, sizes, {sizes, TensorList(std::span(&least, 1))});
  const double rate = number(on, lr);
  // As many parameters at once as have taken the same number of steps.
  for (size_t begin = 0, end = 0; begin < self.size(); begin = end) {
    const double step = lr_decay == 0 ? 1 : number(on, state_steps[begin]);
    for (end = begin + 1; end < self.size(); ++end) {
      if (lr_decay != 0 && number(on, state_steps[end]) != step) break;
    }
    const auto part = [&](TensorList list) { return TensorList(list.subspan(begin, end - begin)); };
    run_on_lists(on, Pointwise::kAddcdiv, part(self), {part(self), part(slopes), part(sizes)},
                 -rate / (1 + (step - 1) * lr_decay));
  }
}

// CANN has no such op: one launch multiplies all, two look at each tensor.
void unscale_list_(ops::Launch& on,
                   TensorList self,
                   TensorList found_inf,
                   const Tensor& inv_scale) {
  const auto count = static_cast<int64_t>(self.size());
  const int64_t dim = 0;
  const Tensor are_finite = make_like(on, {count}, DType::kBool);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor flat = flattened(on, self[static_cast<size_t>(i)]);
    call(on, MT_ACLNN(aclnnAll), computed(on, Pointwise::kIsFinite, flat), IntList(&dim, 1), false,
         are_finite.alias({}, {}, i));
  }
  const Tensor all_finite = make_like(on, {}, DType::kBool);
  call(on, MT_ACLNN(aclnnAll), are_finite, IntList(&dim, 1), false, all_finite);
  const Tensor failed =
      on_device(on, computed(on, Pointwise::kLogicalNot, all_finite), DType::kFloat32);
  const Tensor& found = found_inf[0];
  call(on, MT_ACLNN(aclnnInplaceCopy), found, computed(on, Pointwise::kMaximum, found, failed));
  const Tensor scale = on_device(on, inv_scale, self[0].dtype());
  const Tensor inverse = scale.alias({}, {}, scale.storage_offset());
  run_on_lists(on, Pointwise::kMul, self, {self, TensorList(std::span(&inverse, 1))});
}

}  // namespace

void register_optimizer(ops::Registry& registry) {
  constexpr DeviceType kNpu = DeviceType::kNpu;
  registry.kernel<adam<false, double>>(kNpu, "_fused_adam_").takes(kFloats);
  registry.kernel<adam<false, const Tensor&>>(kNpu, "_fused_adam_.tensor_lr").takes(kFloats);
  registry.kernel<adam<true, double>>(kNpu, "_fused_adamw_").takes(kFloats);
  registry.kernel<adam<true, const Tensor&>>(kNpu, "_fused_adamw_.tensor_lr").takes(kFloats);
  registry.kernel<sgd<double>>(kNpu, "_fused_sgd_");
  registry.kernel<sgd<const Tensor&>>(kNpu, "_fused_sgd_.tensor_lr");
  registry.kernel<adagrad<double>>(kNpu, "_fused_adagrad_");
  registry.kernel<adagrad<const Tensor&>>(kNpu, "_fused_adagrad_.tensor_lr");
  registry.kernel<unscale_list_>(kNpu, "_unscale_list_");
}

}  // namespace mindtorch::ascend
