// Ops over a batch of images: samples become more images, or more channels.
#include "mindtorch/batching/rule.h"
#include "mindtorch/dispatch/dispatcher.h"
#include "mindtorch/dispatch/eager/eager.h"
#include "mindtorch/functional/functions.h"

namespace mindtorch::batching {
namespace {

using ops::Outputs;
using ops::ValueKind;

// [samples, images, ...] as [samples * images, ...], and back. Kernels take what other kernels made
// for them (indices, statistics) to be contiguous, which an expanded tensor is not.
Tensor fold_images(const Tensor& value) { return contiguous(flatten(value, 0, 1)); }
Tensor unfold_images(const Call& call, const Tensor& value) {
  return unflatten(value, 0, {call.size(), call.size() == 0 ? 0 : value.size(0) / call.size()});
}
// [samples, images, channels, ...] as [images, samples * channels, ...], and back.
Tensor fold_channels(const Tensor& value) {
  return contiguous(flatten(movedim(value, 0, 1), 1, 2));
}
Tensor unfold_channels(const Call& call, const Tensor& value) {
  return movedim(unflatten(value, 1, {call.size(), value.size(1) / call.size()}), 1, 0);
}

// A bias for the channels of each sample's images.
Tensor add_bias(const Call& call, const Tensor& result, const Tensor& bias, int64_t rank) {
  Tensor value = call.expanded(bias);
  Shape sizes(static_cast<size_t>(rank) + 1, 1);
  sizes[0] = call.size();
  sizes[2] = value.size(1);
  return add(result, view(contiguous(value), sizes));
}

void convolution(Call& call) {
  if (call.size() == 0) return run_samples(call);
  const Tensor& bias = call.tensor(2);
  const int64_t rank = call.tensor(0).dim();
  NewArguments args(call.args);
  const bool weight_differs = call.is_batched(1);
  if (call.is_batched(2) || weight_differs) args.set(2, Tensor());
  Outputs made;
  Tensor result;
  if (weight_differs) {
    args.set(0, fold_channels(call.expanded(0)));
    args.set(1, fold_images(call.value(1)));
    args.set(8, call.args[8].to_int() * call.size());
    dispatch::call(call.op, args.get(), made);
    result = unfold_channels(call, made.tensors[0]);
  } else {
    args.set(0, fold_images(call.expanded(0)));
    dispatch::call(call.op, args.get(), made);
    result = unfold_images(call, made.tensors[0]);
  }
  if (bias.defined() && (call.is_batched(2) || weight_differs)) {
    result = add_bias(call, result, bias, rank);
  }
  call.give(result);
}

void convolution_backward(Call& call) {
  if (call.size() == 0) return run_samples(call);
  NewArguments args(call.args);
  args.set(0, fold_channels(call.expanded(0)));
  args.set(1, fold_channels(call.expanded(1)));
  args.set(2, fold_images(call.expanded(2)));
  args.set(8, call.args[8].to_int() * call.size());
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  const auto give = [&](size_t i, bool needed, const auto& unfold) {
    if (needed) {
      call.give(unfold(call, made.tensors[i]));
    } else {
      call.give_same(made.tensors[i]);
    }
  };
  give(0, call.args[9].to_bool(), unfold_channels);
  give(1, call.args[10].to_bool(), unfold_images);
  give(2, call.args[11].to_bool(), unfold_images);
}

// Pools and grids of `kSpatial` dims: each image by itself. A sample may be one image, unless
// kSpatial is kAnyDims.
constexpr int64_t kAnyDims = -1;
template <int64_t kSpatial>
void each_image(Call& call) {
  const bool is_one = kSpatial != kAnyDims && call.tensor(0).dim() == kSpatial + 1;
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() != ValueKind::kTensor) continue;
    args.set(i, is_one ? contiguous(call.expanded(i)) : fold_images(call.expanded(i)));
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  for (const Tensor& result : made.tensors) {
    if (result.numel() == 0 && call.size() != 0) {  // a gradient that nobody asked for
      call.give_same(result);
    } else {
      call.give(is_one ? result : unfold_images(call, result));
    }
  }
}

// query, key and value are [images, heads, ...], or [heads, ...]; a mask is broadcast to them. So
// are the statistics of rows, where the device keeps any.
void attention(Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    const bool is_dropped = call.op.schema.params[i].name == "dropped";
    if (is_dropped && call.tensor(i).defined()) return run_samples(call);  // as each was drawn
  }
  const auto is_nothing = [](const Tensor& tensor) {
    return tensor.dim() == 1 && tensor.numel() == 0;
  };
  const Tensor& query = call.tensor(call.op.schema.params[0].name == "query" ? 0 : 1);
  const bool folds = query.dim() > 3;
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() != ValueKind::kTensor || is_nothing(call.tensor(i))) continue;
    Tensor value = call.expanded(i);
    if (call.op.schema.params[i].name == "attn_mask") {
      while (value.dim() <= query.dim()) value = unsqueeze(value, 1);
      Shape sizes = value.sizes();
      if (folds) sizes[1] = query.size(0);
      value = expand(value, sizes);
    }
    args.set(i, folds ? fold_images(value) : contiguous(value));
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  for (const Tensor& result : made.tensors) {
    if (is_nothing(result)) {
      call.give_same(result);
    } else {
      call.give(folds ? unfold_images(call, result) : result);
    }
  }
}

// All statistics are those of channels.
void batch_norm(Call& call) {
  if (call.size() == 0) return run_samples(call);
  NewArguments args(call.args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].kind() != ValueKind::kTensor) continue;
    const Tensor value = call.expanded(i);
    args.set(i, call.tensor(i).dim() == 1 ? fold_images(value) : fold_channels(value));
  }
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  for (const Tensor& result : made.tensors) {
    if (!result.defined() || result.numel() == 0) {
      call.give_same(result);
    } else if (result.dim() == 1) {
      call.give(unfold_images(call, result));
    } else {
      call.give(unfold_channels(call, result));
    }
  }
}

// Samples are more images, along the first dim.
void columns(Call& call) {
  NewArguments args(call.args);
  args.set(0, fold_images(call.value(0)));
  Outputs made;
  dispatch::call(call.op, args.get(), made);
  call.give(unfold_images(call, made.tensors[0]));
}
// What leads an image does not matter.
void max_unpool(Call& call) {
  call.give(_max_unpool(call.expanded(0), call.expanded(1), call.args[2].int_list()));
}

// Running statistics are written: by all samples, if they are one tensor.
void batch_norm_module(Call& call) {
  const bool training = call.args[5].to_bool();
  for (const size_t i : {size_t{3}, size_t{4}}) {
    MT_CHECK(
        !training || !call.tensor(i).defined() || call.is_batched(i) || !call.is_batched(0),
        RuntimeError,
        "Batch norm got a batched tensor as input while the running_mean or running_var, which "
        "will be updated in place, were not batched.\nIf you are using a module and do not "
        "need eval mode, please set `track_running_stats` to be False.If you are using a "
        "prebuilt module and do not need eval mode, please see the functorch website for "
        "resources on how to patch your module to work with vmap");
  }
  dispatch::run_eager(call.op, call.args, call.outputs);
}

}  // namespace

void define_convolution(Rules& rules) {
  rules.define("convolution", &convolution);
  rules.define("convolution_backward", &convolution_backward);
  rules.define({"max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d",
                "avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward",
                "adaptive_max_pool2d", "adaptive_max_pool2d_backward", "grid_sampler_2d",
                "grid_sampler_2d_backward"},
               &each_image<2>);
  rules.define({"max_pool3d_with_indices", "max_pool3d_with_indices_backward", "avg_pool3d",
                "avg_pool3d_backward", "_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward",
                "adaptive_max_pool3d", "adaptive_max_pool3d_backward", "grid_sampler_3d",
                "grid_sampler_3d_backward"},
               &each_image<3>);
  rules.define({"_im2col", "_col2im"}, &columns);
  rules.define("_max_unpool", &max_unpool);
  rules.define({"_interpolate", "_interpolate_backward"}, &each_image<kAnyDims>);
  rules.define(
      {"_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_backward"},
      &attention);
  rules.define({"_batch_norm", "_batch_norm_backward"}, &batch_norm);
  rules.define("batch_norm", &batch_norm_module);
}

}  // namespace mindtorch::batching
