// Steps of optimizers: one loop over the elements of all parameters.
#include <atomic>
#include <cmath>

#include "mindtorch/backends/cpu/kernels/kernels.h"
#include "mindtorch/backends/cpu/kernels/list_ranges.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tiles/optimizer.h"
#include "mindtorch/tensor/element.h"

namespace mindtorch::cpu {
namespace {

double number(const Tensor& tensor) {
  return read_element(tensor.data_ptr(), tensor.dtype()).to_double();
}
double number(double value) { return value; }

bool is_set(const Tensor& found_inf) { return found_inf.defined() && number(found_inf) != 0; }

// Tensors whose elements lie in the same order as those of the parameters of the same index: the
// tensors themselves, or copies that are written back in the end.
class AlignedList {
 public:
  AlignedList(TensorList list, TensorList params) : list_(list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_contiguous() && (params[i].is_contiguous() || !is_dense(params[i]))) continue;
      if (is_dense(params[i]) && list[i].strides() == params[i].strides()) continue;
      if (copies_.empty()) copies_.resize(list.size());
      // As a dense parameter; others are worked on in a contiguous copy.
      copies_[i] = is_dense(params[i]) ? Tensor::make_strided(params[i].sizes(),
                                                              params[i].strides(), list[i].dtype())
                                       : Tensor::make(params[i].sizes(), list[i].dtype());
      copy(list[i], copies_[i]);
    }
  }
  void* at(size_t index, int64_t element) const {
    const Tensor& tensor = is_copied(index) ? copies_[index] : list_[index];
    return tensor.data<char>() + element * tensor.element_size();
  }
  void write_back() const {
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (is_copied(i)) copy(copies_[i], list_[i]);
    }
  }

 private:
  // Its elements fill the memory between its first and its last.
  static bool is_dense(const Tensor& tensor) {
    if (MT_LIKELY(tensor.is_contiguous())) return true;
    int64_t span = 1;
    for (size_t d = 0; d < tensor.sizes().size(); ++d) {
      span += (tensor.sizes()[d] - 1) * tensor.strides()[d];
    }
    return span == tensor.numel();
  }
  bool is_copied(size_t index) const { return !copies_.empty() && copies_[index].defined(); }

  const TensorList list_;
  std::vector<Tensor> copies_;
};

// Runs step(index, begin, end) over all parameters. With a scale, gradients are divided by it
// first.
template <typename Step>
void run_steps(TensorList params,
               const AlignedList& grads,
               const Tensor& grad_scale,
               const Step& step) {
  const double scale = grad_scale.defined() ? number(grad_scale) : 1;
  ListRanges(params).parallel_for_each([&](size_t i, int64_t begin, int64_t end) {
    if (grad_scale.defined()) {
      unscale_tile(params[i].dtype(), grads.at(i, begin), end - begin, scale);
    }
    step(i, begin, end);
  });
  if (grad_scale.defined()) grads.write_back();
}

template <bool kDecoupled, typename Rate>
void adam(ops::Launch&,
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
  if (is_set(found_inf)) return;
  const double rate = number(lr);
  std::vector<AdamStep> steps(self.size());
  for (size_t i = 0; i < self.size(); ++i) {
    const double step = number(state_steps[i]);
    if (i > 0 && step == number(state_steps[i - 1])) {  // powers take longer than small parameters
      steps[i] = steps[i - 1];
      continue;
    }
    steps[i] = {.beta1 = beta1,
                .beta2 = beta2,
                .eps = eps,
                .l2 = kDecoupled ? 0 : weight_decay,
                .decay = kDecoupled ? 1 - rate * weight_decay : 1,
                .step_size = rate / (1 - std::pow(beta1, step)),
                .inverse_second = 1 / std::sqrt(1 - std::pow(beta2, step)),
                .sign = maximize ? -1.0 : 1.0};
  }
  const AlignedList params(self, self), slopes(grads, self), means(exp_avgs, self),
      squares(exp_avg_sqs, self), largest(amsgrad ? max_exp_avg_sqs : TensorList(), self);
  run_steps(self, slopes, grad_scale, [&](size_t i, int64_t begin, int64_t end) {
    const AdamArrays arrays = {params.at(i, begin), slopes.at(i, begin), means.at(i, begin),
                               squares.at(i, begin), amsgrad ? largest.at(i, begin) : nullptr};
    adam_tile(self[i].dtype(), arrays, end - begin, steps[i]);
  });
  for (const AlignedList* list : {&params, &means, &squares, &largest}) list->write_back();
}

template <typename Rate>
void sgd(ops::Launch&,
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
  if (is_set(found_inf)) return;
  const bool has_buffer = momentum != 0;
  const SgdStep step = {.lr = number(lr),
                        .l2 = weight_decay,
                        .momentum = momentum,
                        .dampening = dampening,
                        .sign = maximize ? -1.0 : 1.0,
                        .nesterov = nesterov,
                        .is_first = is_first_step};
  const AlignedList params(self, self), slopes(grads, self),
      buffers(has_buffer ? momentum_buffer_list : TensorList(), self);
  run_steps(self, slopes, grad_scale, [&](size_t i, int64_t begin, int64_t end) {
    const SgdArrays arrays = {params.at(i, begin), slopes.at(i, begin),
                              has_buffer ? buffers.at(i, begin) : nullptr};
    sgd_tile(self[i].dtype(), arrays, end - begin, step);
  });
  for (const AlignedList* list : {&params, &buffers}) list->write_back();
}

template <typename Rate>
void adagrad(ops::Launch&,
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
  if (is_set(found_inf)) return;
  const double rate = number(lr);
  const AlignedList params(self, self), slopes(grads, self), sums(state_sums, self);
  run_steps(self, slopes, grad_scale, [&](size_t i, int64_t begin, int64_t end) {
    const AdagradStep step = {.rate = rate / (1 + (number(state_steps[i]) - 1) * lr_decay),
                              .l2 = weight_decay,
                              .eps = eps,
                              .sign = maximize ? -1.0 : 1.0};
    const AdagradArrays arrays = {params.at(i, begin), slopes.at(i, begin), sums.at(i, begin)};
    adagrad_tile(self[i].dtype(), arrays, end - begin, step);
  });
  for (const AlignedList* list : {&params, &sums}) list->write_back();
}

void unscale_list_(ops::Launch&, TensorList self, TensorList found_inf, const Tensor& inv_scale) {
  const double inverse = number(inv_scale);
  const AlignedList grads(self, self);
  std::atomic<bool> is_finite = true;
  ListRanges(self).parallel_for_each([&](size_t i, int64_t begin, int64_t end) {
    if (!unscale_and_check_tile(self[i].dtype(), grads.at(i, begin), end - begin, inverse)) {
      is_finite.store(false, std::memory_order_relaxed);
    }
  });
  grads.write_back();
  if (!is_finite) *found_inf[0].data<float>() = 1;
}

}  // namespace

void register_optimizer(ops::Registry& registry) {
  constexpr DeviceType kCpu = DeviceType::kCpu;
  registry.kernel<adam<false, double>>(kCpu, "_fused_adam_");
  registry.kernel<adam<false, const Tensor&>>(kCpu, "_fused_adam_.tensor_lr");
  registry.kernel<adam<true, double>>(kCpu, "_fused_adamw_");
  registry.kernel<adam<true, const Tensor&>>(kCpu, "_fused_adamw_.tensor_lr");
  registry.kernel<sgd<double>>(kCpu, "_fused_sgd_");
  registry.kernel<sgd<const Tensor&>>(kCpu, "_fused_sgd_.tensor_lr");
  registry.kernel<adagrad<double>>(kCpu, "_fused_adagrad_");
  registry.kernel<adagrad<const Tensor&>>(kCpu, "_fused_adagrad_.tensor_lr");
  registry.kernel<unscale_list_>(kCpu, "_unscale_list_");
}

}  // namespace mindtorch::cpu
