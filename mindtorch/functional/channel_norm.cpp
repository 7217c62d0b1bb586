// batch_norm, instance_norm and group_norm: torch's rules around the ops that compute them.
#include "mindtorch/functional/composites.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::functional {
namespace {

// Moves a running statistic towards that of a batch.
void move(const Tensor& running, const Tensor& found, double momentum) {
  if (!running.defined()) return;
  const Tensor target = detach(found);
  lerp_(running, target.dtype() == running.dtype() ? target : _to_copy(target, running.dtype()),
        Scalar(momentum));
}

void check_count(const char* name, const Tensor& values, int64_t channels) {
  MT_CHECK(!values.defined() || values.numel() == channels, RuntimeError, name, " should contain ",
           channels, " elements not ", values.numel());
}

Tensor batch_norm(const Tensor& input,
                  const Tensor& weight,
                  const Tensor& bias,
                  const Tensor& running_mean,
                  const Tensor& running_var,
                  bool training,
                  double momentum,
                  double eps) {
  MT_CHECK(training || running_mean.defined(), RuntimeError,
           "running_mean must be defined in evaluation mode");
  MT_CHECK(training || running_var.defined(), RuntimeError,
           "running_var must be defined in evaluation mode");
  const int64_t channels = input.size(1);
  check_count("running_mean", running_mean, channels);
  check_count("running_var", running_var, channels);
  check_count("weight", weight, channels);
  check_count("bias", bias, channels);
  if (!training) {
    return std::get<0>(_batch_norm(input, weight, bias, running_mean, running_var, eps, false));
  }
  const auto [out, mean, invstd, variance] =
      _batch_norm(input, weight, bias, {}, {}, eps, running_var.defined());
  if (input.numel() != 0) {
    move(running_mean, mean, momentum);
    move(running_var, variance, momentum);
  }
  return out;
}

// batch_norm of every sample on its own: groups of one channel.
Tensor instance_norm(const Tensor& input,
                     const Tensor& weight,
                     const Tensor& bias,
                     const Tensor& running_mean,
                     const Tensor& running_var,
                     bool use_input_stats,
                     double momentum,
                     double eps) {
  if (!use_input_stats) {
    MT_CHECK(running_mean.defined() && running_var.defined(), RuntimeError,
             "Expected running_mean and running_var to be defined when use_input_stats is false");
    return mindtorch::batch_norm(input, weight, bias, running_mean, running_var, false, momentum,
                                 eps);
  }
  const int64_t samples = input.size(0);
  const int64_t channels = input.size(1);
  check_count("running_mean", running_mean, channels);
  check_count("running_var", running_var, channels);
  check_count("weight", weight, channels);
  check_count("bias", bias, channels);
  const int64_t inner = samples * channels == 0 ? 0 : input.numel() / (samples * channels);
  const auto [out, mean, rstd] =
      native_group_norm(contiguous(input), weight, bias, samples, channels, inner, channels, eps);
  if ((running_mean.defined() || running_var.defined()) && input.numel() != 0) {
    const Tensor rows = reshape(detach(input), {samples, channels, inner});
    const Scalar correction(inner > 1 ? 1 : 0);
    const Tensor variances = std::get<0>(var_mean(rows, IntList{2}, correction, false));
    move(running_mean, mindtorch::mean(detach(mean), IntList{0}), momentum);
    move(running_var, mindtorch::mean(variances, IntList{0}), momentum);
  }
  return out;
}

void check_param(const char* name, const Tensor& param, const Tensor& input) {
  MT_CHECK(!param.defined() || (param.dim() == 1 && param.numel() == input.size(1)), RuntimeError,
           "Expected ", name,
           " to be a vector of size equal to the number of channels in input, but got ", name,
           " of shape ", to_string(param.sizes()), " and input of shape ",
           to_string(input.sizes()));
}

Tensor group_norm(
    const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  const int64_t samples = input.size(0);
  const int64_t channels = input.size(1);
  MT_CHECK(num_groups > 0, RuntimeError, "Expected num groups to be greater than 0, got ",
           num_groups);
  MT_CHECK(channels % num_groups == 0, RuntimeError,
           "Expected number of channels in input to be divisible by num_groups, but got input of "
           "shape ",
           to_string(input.sizes()), " and num_groups=", num_groups);
  check_param("weight", weight, input);
  check_param("bias", bias, input);
  const int64_t inner = numel(IntList(input.sizes()).subspan(2));
  return std::get<0>(
      native_group_norm(input, weight, bias, samples, channels, inner, num_groups, eps));
}

}  // namespace

void compose_channel_norm(ops::Registry& registry) {
  registry.composite<batch_norm>("batch_norm");
  registry.composite<instance_norm>("instance_norm");
  registry.composite<group_norm>("group_norm");
}

}  // namespace mindtorch::functional
