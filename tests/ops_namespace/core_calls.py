"""A call of each operator of torch's Core ATen IR, and of others: the arguments as text, evaluated
with the tensors of `tensors` and the library as `torch`.
"""

import numpy as np

_UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor isinf isnan log
log10 log1p log2 neg reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"""
_BINARY = "atan2 logical_and logical_or logical_xor maximum minimum"
_OPERATORS = "add div eq fmod ge gt le lt mul ne remainder sub"
_BITS = "bitwise_and bitwise_or bitwise_xor"

CALLS = {
    **{name: "positive" if name == "acosh" else "unit" for name in _UNARY.split()},
    **{name: "x, y" for name in _BINARY.split()},
    **{f"{name}.Tensor": "x, y" for name in _OPERATORS.split()},
    **{f"{name}.Scalar": "x, 1.5" for name in _OPERATORS.split()},
    **{f"{name}.Tensor": "integers, integers + 1" for name in _BITS.split()},
    **{f"{name}.Scalar": "integers, 3" for name in _BITS.split()},
    "_adaptive_avg_pool2d": "image, [2, 3]",
    "_adaptive_avg_pool2d_backward": "image[:, :, :2, :3], image",
    "_adaptive_avg_pool3d": "volume, [2, 2, 2]",
    "_cdist_forward": "x, square, 2.0, None",
    "_embedding_bag": "square, torch.tensor([0, 2, 1]), torch.tensor([0, 2])",
    "_fft_c2r": "spectrum, [1], 0, 4",
    "_fft_r2c": "x, [1], 0, True",
    "_local_scalar_dense": "x[0, 1]",
    "_log_softmax": "x, 1, False",
    "_native_batch_norm_legit": "image, ones2, ones2, mean2, mean2 + 1, True, 0.1, 1e-5",
    "_native_batch_norm_legit.no_stats": "image, ones2, None, True, 0.1, 1e-5",
    "_native_batch_norm_legit_no_training": "image, ones2, ones2, mean2, mean2 + 1, 0.1, 1e-5",
    "_pdist_forward": "square, 2.0",
    "_softmax": "x, 1, False",
    "_to_copy": "x, dtype=torch.float64",
    "adaptive_avg_pool1d": "x[None], [2]",
    "addmm": "x, x, square, beta=0.5, alpha=2",
    "alias": "x",
    "amax": "x, [1]",
    "amin": "x, [0], True",
    "any": "x",
    "any.dim": "x, 1",
    "any.dims": "x, [0, 1]",
    "arange.start_step": "1, 9, 2",
    "argmax": "x, 1",
    "argmin": "x",
    "as_strided": "x, [2, 2], [3, 1], 1",
    "atan2.out": "x, y, out=torch.empty(2, 3)",
    "avg_pool1d": "x[None], [2], [1], [1]",
    "avg_pool2d": "image, [2, 2], [1, 1], [1, 1]",
    "avg_pool2d_backward": "image, image, [1, 1], [1, 1], [0, 0], False, True, None",
    "avg_pool3d": "volume, [2, 2, 2]",
    "bitwise_not": "integers",
    "bmm": "image[0], image[0].transpose(1, 2)",
    "cat": "[x, y], 1",
    "clamp": "x, -0.5, 0.5",
    "clamp.Tensor": "x, y, None",
    "clone": "x, memory_format=torch.contiguous_format",
    "col2im": "columns, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]",
    "constant_pad_nd": "x, [1, 2], 3",
    "convolution": "image, kernel, ones2, [1, 1], [1, 0], [1, 1], False, [0, 0], 1",
    "convolution_backward": (
        "image[:, :, :3, :3], image, kernel, [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, "
        "[True, True, True]"
    ),
    "copy": "x, y",
    "cumsum": "x, 1, dtype=torch.float64",
    "diagonal": "square, 1",
    "div.Tensor_mode": "x, y, rounding_mode='floor'",
    "div.Scalar_mode": "x, 0.3, rounding_mode='trunc'",
    "elu": "x, 1.5, 2.0, 0.5",
    "embedding": "square, torch.tensor([2, 0])",
    "embedding_dense_backward": "x, torch.tensor([2, 0]), 3, -1, False",
    "empty.memory_format": "[2, 3], dtype=torch.float64",
    "empty_strided": "[2, 3], [1, 2]",
    "expand": "x[None], [4, -1, 3]",
    "fill.Scalar": "x, 2",
    "flip": "x, [0, 1]",
    "full": "[2, 2], 1.5",
    "full_like": "x, 3, dtype=torch.int64",
    "gather": "x, 1, torch.tensor([[0], [2]])",
    "gelu": "x, approximate='tanh'",
    "grid_sampler_2d": "image, grid, 0, 0, False",
    "hardtanh": "x, -0.5, 0.5",
    "index.Tensor": "x, [None, torch.tensor([2, 0])]",
    "index_put": "x, [torch.tensor([0, 1]), torch.tensor([2, 0])], torch.ones(2), True",
    "index_select": "x, 1, torch.tensor([2, 0])",
    "leaky_relu": "x, 0.2",
    "logical_not": "x",
    "masked_scatter": "x, x > 0, y",
    "max.dim": "x, 1",
    "max_pool2d_with_indices": "image, [2, 2], [1, 1]",
    "max_pool2d_with_indices_backward": (
        "image[:, :, :2, :2], image, [2, 2], [2, 2], [0, 0], [1, 1], False, pooled"
    ),
    "max_pool3d_with_indices": "volume, [2, 2, 2]",
    "mean": "x, dtype=torch.float64",
    "mean.dim": "x, [1], True",
    "min.dim": "x, 0, True",
    "mm": "x, square",
    "native_dropout": "x, 0.0, True",
    "native_group_norm": "image, ones2, ones2, 1, 2, 20, 2, 1e-5",
    "native_group_norm_backward": (
        "image, image, mean2.reshape(1, 2), ones2.reshape(1, 2), ones2, 1, 2, 20, 2, "
        "[True, True, True]"
    ),
    "native_layer_norm": "x, [3], None, None, 1e-5",
    "native_layer_norm_backward": (
        "y, x, [3], x.mean(1, True), 1 / x.std(1, keepdim=True), square[0], square[1], "
        "[True, True, True]"
    ),
    "nonzero": "x > 0",
    "permute": "image, [0, 2, 3, 1]",
    "pow.Tensor_Tensor": "positive, y",
    "pow.Tensor_Scalar": "x, 2",
    "pow.Scalar": "2, x",
    "prod": "x",
    "prod.dim_int": "x, 1",
    "rand": "[2, 3], dtype=torch.float64",
    "randn": "[2, 3]",
    "randperm": "5",
    "reflection_pad1d": "x, [1, 2]",
    "reflection_pad2d": "image, [1, 2, 0, 1]",
    "reflection_pad3d": "volume, [1, 1, 0, 1, 1, 0]",
    "repeat": "x, [2, 1, 3]",
    "replication_pad2d": "image, [1, 2, 0, 1]",
    "replication_pad3d": "volume, [1, 1, 0, 1, 1, 0]",
    "resize_": "x.clone(), [2, 2]",
    "scalar_tensor": "2.5, dtype=torch.float64",
    "scatter.src": "x, 1, torch.tensor([[2], [0]]), y",
    "scatter.value": "x, 1, torch.tensor([[2], [0]]), 9",
    "scatter_add": "x, 1, torch.tensor([[2, 2], [0, 1]]), y",
    "scatter_reduce.two": "x, 1, torch.tensor([[2, 2], [0, 1]]), y, 'prod', include_self=False",
    "select.int": "x, 1, -1",
    "select_scatter": "x, y[:, 0], 1, 2",
    "slice.Tensor": "x, 1, 0, 9223372036854775807, 2",
    "slice_scatter": "x, y[:, :2], 1, 1, 3",
    "sort": "x, 1, True",
    "split_with_sizes": "x, [1, 2], 1",
    "squeeze.dim": "x[None], 0",
    "squeeze.dims": "x[None, None], [0, 1]",
    "sum.dim_IntList": "x, [1], dtype=torch.float64",
    "sym_is_contiguous": "x",
    "sym_numel": "x",
    "sym_size.int": "x, 1",
    "sym_storage_offset": "x[1]",
    "sym_stride.int": "x, 0",
    "topk": "x, 2, 1, False",
    "unsqueeze": "x, -1",
    "upsample_bilinear2d.vec": "image, [6, 7], True, None",
    "upsample_nearest2d.vec": "image, None, [2.0, 1.5]",
    "var.dim": "x, [1], False, True",
    "var.correction": "x, [0], correction=0",
    "view": "x, [3, 2]",
    "where.self": "x > 0, x, y",
}
# Others that only torch.ops.aten has: derivatives, and what torch makes of its functions.
MORE_CALLS = {
    "_aminmax": "x",
    "_conj": "spectrum",
    "_convolution": (
        "image, kernel, None, [1, 1], [1, 0], [1, 1], False, [0, 0], 1, False, False, True, True"
    ),
    "_index_put_impl_": "x.clone(), [torch.tensor([1])], torch.ones(3)",
    "_prelu_kernel_backward": "y, x, square[:2]",
    "_reshape_alias": "x, [3, 2], [2, 1]",
    "_safe_softmax": "x, 1",
    "_scaled_dot_product_attention_math": "image, image, image, is_causal=True",
    "_scaled_dot_product_flash_attention_for_cpu": "image, image, image",
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        "image, image, image, image, attended, attended_sums, 0.0, False"
    ),
    "_softmax_backward_data": "y, x, 1, torch.float32",
    "_log_softmax_backward_data": "y, x, 1, torch.float32",
    "_softmax.out": "x, 1, False, out=torch.empty(2, 3)",
    "_stack": "[x, y], 1",
    "_unsafe_index.Tensor": "x, [torch.tensor([1])]",
    "_unsafe_view": "x, [3, 2]",
    "_upsample_nearest_exact2d.vec": "image, None, [2.0, 1.5]",
    "affine_grid_generator": "image[:, 0, :2, :3], [1, 1, 2, 2], False",
    "binary_cross_entropy": "unit, unit, None, 2",
    "binary_cross_entropy_backward": "unit[0, 0], unit, 1 - unit, None, 1",
    "diagonal_backward": "x[0, :2], [3, 3], 1, 0, 1",
    "elu_backward": "y, 1.5, 2.0, 0.5, False, x",
    "embedding_bag": "square, torch.tensor([0, 2, 1]), torch.tensor([0, 2]), False, 2",
    "gelu_backward": "y, x, approximate='tanh'",
    "glu_backward": "y[:, :1], x[:, :2], 1",
    "grid_sampler_2d_backward": "image[:, :, :3, :2], image, grid, 0, 0, False, [True, True]",
    "hardshrink_backward": "y, x, 0.5",
    "hardsigmoid_backward": "y, x",
    "hardswish_backward": "y, x",
    "hardtanh_backward": "y, x, -0.5, 0.5",
    "huber_loss_backward": "y, x, y + 1, 0, 0.5",
    "im2col": "image, [2, 2], [1, 1], [0, 0], [1, 1]",
    "index_select_backward": "x, [2, 5], 1, torch.tensor([4, 0, 4])",
    "kl_div": "x, unit, 0",
    "l1_loss": "x, y",
    "leaky_relu_backward": "y, x, 0.2, False",
    "lift_fresh": "x",
    "logit_backward": "y, unit",
    "masked_select_backward": "x[0, :2], x, torch.tensor([[True, False, True], [False] * 3])",
    "max_unpool2d": "image[:, :, :2, :2], pooled, [4, 5]",
    "mish_backward": "y, x",
    "mse_loss": "x, y, 2",
    "mse_loss_backward": "y[0, 0], x, y, 1",
    "native_batch_norm": "image, ones2, ones2, mean2, mean2 + 1, False, 0.1, 1e-5",
    "native_batch_norm_backward": (
        "image * image, image, ones2, None, None, mean2, ones2, True, 1e-5, [False, False, True]"
    ),
    "native_dropout_backward": "x, y > 0, 2.0",
    "nll_loss_forward": "x, torch.tensor([2, 0]), None, 1, -100",
    "reflection_pad1d_backward": "torch.cat([x, x], 1), x, [1, 2]",
    "replication_pad2d_backward": "image[:, :, :, :], image[:, :, 1:, 1:], [1, 0, 0, 1]",
    "select_backward": "x[0], [3, 2], 1, 0",
    "sigmoid_backward": "y, unit",
    "silu_backward": "y, x",
    "slice_backward": "x, [2, 6], 1, 0, 6, 2",
    "smooth_l1_loss_backward": "y, x, y + 1, 0, 0.5",
    "soft_margin_loss_backward": "y, x, y, 0",
    "softplus_backward": "y, x, 1, 20",
    "softshrink_backward": "y, x, 0.5",
    "sym_size": "x",
    "tanh_backward": "y, unit",
    "tensordot": "x, square, [1], [0]",
    "threshold_backward": "y, x, 0.2",
    "trace_backward": "x[0, 0], [2, 3]",
    "unfold_backward": "square[None].reshape(3, 3), [5], 0, 3, 1",
    "unique_consecutive": "torch.tensor([1, 1, 2, 1]), True",
    "upsample_bicubic2d": "image, [6, 7], False, 1.5, 1.4",
    "upsample_bilinear2d_backward": "image, [4, 5], [1, 2, 3, 3], True",
    "upsample_nearest2d": "image, [6, 7]",
    "upsample_nearest2d_backward": "image, [4, 5], [1, 2, 2, 3]",
    "value_selecting_reduction_backward": "x[0], 0, torch.tensor([1, 0, 1]), [2, 3], False",
}
UNKNOWN_STRIDES = [name for name in MORE_CALLS if "flash_attention" in name]
UNKNOWN_VALUES = ("empty.memory_format", "empty_strided", "rand", "randn", "randperm")


def tensors(torch):
    """What the calls name, the same numbers in every library."""

    def numbers(*shape, dtype="float32"):
        count = int(np.prod(shape))
        steps = (np.arange(count) * 7 % 11 - 5) / 3 + 0.05
        return torch.from_numpy(steps.reshape(shape).astype(dtype))

    image = numbers(1, 2, 4, 5)
    unit = (numbers(2, 3) / 4).abs() + 0.1
    return {
        "torch": torch,
        "x": numbers(2, 3),
        "y": numbers(3, 2).t().contiguous() + 0.25,
        "square": numbers(3, 3),
        "unit": unit,
        "positive": unit + 1,
        "integers": torch.arange(6).reshape(2, 3),
        "image": image,
        "volume": numbers(1, 2, 3, 4, 5),
        "kernel": numbers(2, 2, 2, 3),
        "columns": numbers(1, 4, 4),
        "ones2": torch.ones(2) * 1.5,
        "mean2": torch.tensor([0.5, -0.25]),
        "grid": (numbers(1, 3, 2, 2) / 4),
        "spectrum": torch.complex(numbers(2, 3), numbers(2, 3)),
        "attended": torch.nn.functional.scaled_dot_product_attention(image, image, image),
        "attended_sums": torch.logsumexp(image @ image.mT / 5**0.5, -1),
        "pooled": torch.tensor([[[[0, 8], [15, 8]], [[6, 3], [16, 18]]]]),
    }


def call(torch, name, rest):
    """The result of one call."""
    operator, _, overload = name.partition(".")
    chosen = getattr(getattr(torch.ops.aten, operator), overload or "default")
    return eval(f"chosen({rest})", {**tensors(torch), "chosen": chosen})


def described(result):
    """A result as plain data: dtype, sizes and values of tensors."""
    if isinstance(result, (tuple, list)):
        return [type(result).__name__, [described(each) for each in result]]
    if not hasattr(result, "dtype"):
        return result
    is_complex = "complex" in str(result.dtype)
    values = (result.real, result.imag) if is_complex else (result,)
    return {
        "dtype": str(result.dtype).rpartition(".")[2],
        "shape": list(result.shape),
        "stride": list(result.stride()),
        "values": [[round(float(x), 5) for x in part.reshape(-1).tolist()] for part in values],
    }
