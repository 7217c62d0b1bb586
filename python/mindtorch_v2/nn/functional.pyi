# Written by tools/make_stubs.py: run `make stubs` after a change.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,misc"
import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from mindtorch_v2 import return_types as return_types
from mindtorch_v2._C import Generator as Generator
from mindtorch_v2._C import Tensor as Tensor
from mindtorch_v2._C import device as _device
from mindtorch_v2._C import dtype as _dtype
from mindtorch_v2._C import layout as _layout
from mindtorch_v2._C import memory_format as _memory_format
from mindtorch_v2.nn._scaled_products import ScalingType as ScalingType
from mindtorch_v2.nn._scaled_products import SwizzleType as SwizzleType

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_DeviceLike: TypeAlias = _device | str | builtins.int

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor: ...
def avg_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor: ...
def avg_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor: ...
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def elu_(
    input: Tensor, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1
) -> Tensor: ...
def gelu(input: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor: ...
def glu(input: Tensor, dim: _int = -1) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def hardsigmoid_(input: Tensor) -> Tensor: ...
def hardswish_(input: Tensor) -> Tensor: ...
def hardtanh_(input: Tensor, min_val: _Number = -1, max_val: _Number = 1) -> Tensor: ...
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor: ...
def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor: ...
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def log_sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mish_(input: Tensor) -> Tensor: ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def one_hot(input: Tensor, num_classes: _int = -1) -> Tensor: ...
def pad(
    input: Tensor, pad: Sequence[_int], mode: str = "constant", value: _float | None = None
) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def relu6_(input: Tensor) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor: ...
def rrelu_(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: _float = 0.0,
    is_causal: _bool = False,
    *,
    scale: _float | None = None,
    enable_gqa: _bool = False,
) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def silu_(input: Tensor) -> Tensor: ...
def softplus(
    input: Tensor, beta: _Number = 1, threshold: _Number = 20, *, out: Tensor | None = None
) -> Tensor: ...
def softshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor: ...
def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int | None]) -> Tensor: ...
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> Tensor: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d(
    input: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = False
) -> Tensor: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d(
    input: Tensor, output_size: _int | Sequence[_int | None], return_indices: _bool = False
) -> Tensor: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> tuple[Tensor, Tensor]: ...
def affine_grid(
    theta: Tensor, size: _int | Sequence[_int], align_corners: _bool | None = None
) -> Tensor: ...
def alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor: ...
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: _bool = False,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor: ...
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor: ...
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor: ...
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor: ...
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    ignore_index: _int = -100,
    reduce: _bool | None = None,
    reduction: str = "mean",
    label_smoothing: _float = 0.0,
) -> Tensor: ...
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: str = "mean",
    zero_infinity: _bool = False,
) -> Tensor: ...
def dropout(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout1d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout2d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout3d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: _int | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor: ...
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2,
    scale_grad_by_freq: _bool = False,
    mode: str = "mean",
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> Tensor: ...
def feature_alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor: ...
def fold(
    input: Tensor,
    output_size: _int | Sequence[_int],
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    stride: _int | Sequence[_int] = 1,
) -> Tensor: ...
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    output_size: _int | Sequence[_int] | None = None,
    output_ratio: _float | Sequence[_float] | None = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    output_size: _int | Sequence[_int] | None = None,
    output_ratio: _float | Sequence[_float] | None = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    output_size: _int | Sequence[_int] | None = None,
    output_ratio: _float | Sequence[_float] | None = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    output_size: _int | Sequence[_int] | None = None,
    output_ratio: _float | Sequence[_float] | None = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | _float,
    full: _bool = False,
    eps: _float = 1e-06,
    reduction: str = "mean",
) -> Tensor: ...
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: _bool | None = None,
) -> Tensor: ...
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor: ...
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None | None = None,
    bias: Tensor | None = None,
    out_dtype: _dtype | None | None = None,
) -> Tensor: ...
def gumbel_softmax(
    logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1
) -> Tensor: ...
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor: ...
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor: ...
def hardtanh(
    input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False
) -> Tensor: ...
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: _float = 1.0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: _float = 1.0,
    weight: Tensor | None = None,
) -> Tensor: ...
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: _bool = True,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor: ...
def interpolate(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: str = "nearest",
    align_corners: _bool | None = None,
    recompute_scale_factor: _bool | None = None,
    antialias: _bool = False,
) -> Tensor: ...
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    log_target: _bool = False,
) -> Tensor: ...
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor: ...
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor: ...
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: _int | None = None,
    label_smoothing: _float = 0.0,
    options: Any | None = None,
) -> Tensor: ...
def local_response_norm(
    input: Tensor,
    size: _int | Sequence[_int],
    alpha: _float = 0.0001,
    beta: _float = 0.75,
    k: _float = 1.0,
) -> Tensor: ...
def log_softmax(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor: ...
def lp_pool1d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor: ...
def lp_pool2d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor: ...
def lp_pool3d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor: ...
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor: ...
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor: ...
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor: ...
def mish(input: Tensor, inplace: _bool = False) -> Tensor: ...
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor: ...
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: _int,
    num_heads: _int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: _bool,
    dropout_p: _float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: _bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: _bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: _bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: _bool = True,
    is_causal: _bool = False,
) -> tuple[Tensor, Tensor | None]: ...
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: _float = 1,
    margin: _float = 1.0,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: _bool | None = None,
    ignore_index: _int = -100,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def normalize(
    input: Tensor, p: _float = 2.0, dim: _int = 1, eps: _float = 1e-12, out: Tensor | None = None
) -> Tensor: ...
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor: ...
def pdist(input: Tensor, p: _float = 2.0) -> Tensor: ...
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = True,
    full: _bool = False,
    size_average: _bool | None = None,
    eps: _float = 1e-08,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
def relu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def relu6(input: Tensor, inplace: _bool = False) -> Tensor: ...
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor: ...
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: _dtype | None = ...,
    contraction_dim: Sequence[_int] = (),
    use_fast_accum: _bool = False,
) -> Tensor: ...
def selu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def silu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
    beta: _float = 1.0,
) -> Tensor: ...
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def softmax(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor: ...
def softmin(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor: ...
def softsign(input: Tensor) -> Tensor: ...
def tanhshrink(input: Tensor) -> Tensor: ...
def threshold(
    input: Tensor, threshold: _float, value: _float, inplace: _bool = False
) -> Tensor: ...
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    size_average: _bool | None = None,
    reduce: _bool | None = None,
    reduction: str = "mean",
) -> Tensor: ...
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: _float = 1.0,
    swap: _bool = False,
    reduction: str = "mean",
) -> Tensor: ...
def unfold(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    stride: _int | Sequence[_int] = 1,
) -> Tensor: ...
def upsample(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: str = "nearest",
    align_corners: _bool | None = None,
) -> Tensor: ...
def upsample_bilinear(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor: ...
def upsample_nearest(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor: ...
