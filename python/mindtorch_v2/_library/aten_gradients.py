"""The operators of torch.ops.aten that are derivatives: tanh_backward, convolution_backward and
their like. Those with a kernel of their own call it; the others differentiate the operator that
they belong to, so that they can be differentiated again.
"""

import mindtorch_v2 as torch
from mindtorch_v2 import _C

_F = torch.nn.functional
_internal = _C._internal_functions


def _gradients(function, inputs, grad, mask=None):
    """The gradients of function(*inputs) for those inputs whose entry in `mask` is true; None for
    the others and for inputs that are None.
    """
    mask = [True] * len(inputs) if mask is None else mask
    wanted = [i for i, x in enumerate(inputs) if x is not None and mask[i]]
    again = torch.is_grad_enabled() and (
        grad.requires_grad or any(x is not None and x.requires_grad for x in inputs)
    )
    given = list(inputs)
    for i in wanted:
        if not given[i].requires_grad:
            given[i] = given[i].detach().requires_grad_()
    with torch.enable_grad():
        result = function(*given)
    found = torch.autograd.grad(result, [given[i] for i in wanted], grad, create_graph=again)
    by_input = dict(zip(wanted, found, strict=True))
    return tuple(by_input.get(i) for i in range(len(inputs)))


def _of(function):
    """The derivative by self: (grad_output, self, the other arguments of the function)."""

    def call(grad_output, self, *args, **kwargs):
        return _gradients(lambda x: function(x, *args, **kwargs), [self], grad_output)[0]

    return call


def _of_view(view):
    """The derivative of a view: the gradient where the view's elements are, zero elsewhere."""

    def call(grad_output, input_sizes, *args):
        whole = grad_output.new_zeros(tuple(input_sizes))
        return _gradients(lambda x: view(x, *args), [whole], grad_output)[0]

    return call


def _reduced(name):
    """The derivative of a loss of two tensors, with the number of its reduction."""

    def call(grad_output, self, target, *args):
        operator = getattr(torch.ops.aten, name)
        return _gradients(lambda x: operator(x, target, *args), [self], grad_output)[0]

    return call


def _elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    x = self_or_result
    slope = (x + alpha * scale) if is_result else (x * input_scale).exp() * (alpha * scale)
    return grad_output * torch.where(x <= 0, slope * input_scale, scale)


def _convolution_backward(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
):
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    results = _internal["convolution_backward"](grad_output, input, weight, *geometry, *output_mask)
    return _masked(results, output_mask)


def _masked(results, mask):
    return tuple(r if wanted else None for r, wanted in zip(results, mask, strict=True))


def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    mask = [output_mask[0], *(m and weight is not None for m in output_mask[1:])]
    results = _internal["native_layer_norm_backward"](
        grad_out, input, normalized_shape, mean, rstd, weight, *mask
    )
    return _masked(results, mask)


def _group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    results = _internal["native_group_norm_backward"](
        grad_out, input, mean, rstd, weight, N, C, HxW, group, *output_mask
    )
    return _masked(results, output_mask)


def _batch_norm_backward(
    grad_out,
    input,
    weight,
    running_mean,
    running_var,
    save_mean,
    save_invstd,
    train,
    eps,
    output_mask,
):
    if train:
        running_mean = running_var = None
    size = input.size(1)
    weight = input.new_ones(size) if weight is None else weight
    bias = input.new_zeros(size)

    def run(x, w, b):
        return _F.batch_norm(x, running_mean, running_var, w, b, train, 0.0, eps)

    return _gradients(run, [input, weight, bias], grad_out, output_mask)


def _attention_backward(grad, query, key, value, is_causal, scale, attn_mask=None, mask=None):
    def run(q, k, v, *bias):
        return _F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias[0] if bias else attn_mask, is_causal=is_causal, scale=scale
        )

    inputs = [query, key, value]
    if mask is not None and mask[3] and attn_mask is not None:
        inputs.append(attn_mask)
    found = _gradients(run, inputs, grad, None if mask is None else mask[: len(inputs)])
    return found if mask is None else (*found, *[None] * (4 - len(found)))


def _flash_attention_for_cpu_backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    dropout_p,
    is_causal,
    *,
    attn_mask=None,
    scale=None,
):
    return _attention_backward(grad_out, query, key, value, is_causal, scale, attn_mask)


def _flash_attention_backward(grad_out, query, key, value, *rest, scale=None):
    is_causal = rest[7]
    return _attention_backward(grad_out, query, key, value, is_causal, scale)


def _efficient_attention_backward(
    grad_out_,
    query,
    key,
    value,
    attn_bias,
    out,
    logsumexp,
    philox_seed,
    philox_offset,
    dropout_p,
    grad_input_mask,
    is_causal=False,
    *,
    scale=None,
):
    return _attention_backward(
        grad_out_, query, key, value, is_causal, scale, attn_bias, grad_input_mask
    )


def _grid_sampler_backward(name):
    def call(grad_output, input, grid, interpolation, padding, align_corners, output_mask):
        results = _internal[name](
            grad_output, input, grid, interpolation, padding, align_corners, *output_mask
        )
        return _masked(results, output_mask)

    return call


def _rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    mask = [output_mask[0], output_mask[1] and weight is not None]
    results = _internal["_fused_rms_norm_backward"](
        grad_out, input, normalized_shape, rstd, weight, *mask
    )
    return _masked(results, mask)


def _value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    if not keepdim and len(sizes) > 0:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(tuple(sizes)).scatter(dim, indices, grad)


FUNCTIONS = {
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output).conj(),
    "sigmoid_backward": lambda grad_output, output: grad_output * (output * (1 - output)).conj(),
    "threshold_backward": lambda grad_output, self, threshold: torch.where(
        self <= threshold, 0, grad_output
    ),
    "elu_backward": _elu_backward,
    "gelu_backward": _of(lambda x, *, approximate="none": _F.gelu(x, approximate=approximate)),
    "glu_backward": _of(_F.glu),
    "hardshrink_backward": lambda grad_out, self, lambd: torch.where(
        (self >= -lambd) & (self <= lambd), 0, grad_out
    ),
    "hardsigmoid_backward": _of(_F.hardsigmoid),
    "hardswish_backward": _of(_F.hardswish),
    "hardtanh_backward": lambda grad_output, self, min_val, max_val: torch.where(
        (self <= min_val) | (self >= max_val), 0, grad_output
    ),
    "leaky_relu_backward": lambda grad_output, self, negative_slope, self_is_result: torch.where(
        self > 0, grad_output, grad_output * negative_slope
    ),
    "log_sigmoid_backward": lambda grad_output, self, buffer: grad_output * torch.sigmoid(-self),
    "logit_backward": _of(torch.logit),
    "mish_backward": _of(_F.mish),
    "silu_backward": _of(_F.silu),
    "softplus_backward": _of(_F.softplus),
    "softshrink_backward": lambda grad_output, self, lambd: torch.where(
        (self >= -lambd) & (self <= lambd), 0, grad_output
    ),
    "_prelu_kernel_backward": lambda grad_output, self, weight: (
        torch.where(self > 0, grad_output, weight * grad_output),
        torch.where(self > 0, 0, self * grad_output),
    ),
    "_cdist_backward": lambda grad, x1, x2, p, cdist: _gradients(
        lambda x: torch.cdist(x, x2, p), [x1], grad
    )[0],
    "_pdist_backward": lambda grad, self, p, pdist: _gradients(
        lambda x: torch.pdist(x, p), [self], grad
    )[0],
    # losses
    "binary_cross_entropy_backward": _reduced("binary_cross_entropy"),
    "huber_loss_backward": _reduced("huber_loss"),
    "mse_loss_backward": _reduced("mse_loss"),
    "smooth_l1_loss_backward": _reduced("smooth_l1_loss"),
    "soft_margin_loss_backward": _reduced("soft_margin_loss"),
    # convolution, normalisation, attention, images
    "_fused_rms_norm_backward": _rms_norm_backward,
    "_scaled_dot_product_efficient_attention_backward": _efficient_attention_backward,
    "_scaled_dot_product_flash_attention_backward": _flash_attention_backward,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _flash_attention_for_cpu_backward,
    "convolution_backward": _convolution_backward,
    "native_batch_norm_backward": _batch_norm_backward,
    "native_group_norm_backward": _group_norm_backward,
    "native_layer_norm_backward": _layer_norm_backward,
    "grid_sampler_2d_backward": _grid_sampler_backward("grid_sampler_2d_backward"),
    "grid_sampler_3d_backward": _grid_sampler_backward("grid_sampler_3d_backward"),
    # views and indices
    "diagonal_backward": _of_view(torch.diagonal),
    "index_select_backward": lambda grad, self_sizes, dim, index: grad.new_zeros(
        tuple(self_sizes)
    ).index_add(dim, index, grad),
    "select_backward": _of_view(torch.select),
    "slice_backward": _of_view(_internal["slice"]),
    "trace_backward": lambda grad, sizes: (
        torch.eye(*sizes, dtype=grad.dtype, device=grad.device) * grad
    ),
    "unfold_backward": _of_view(torch.Tensor.unfold),
    "masked_select_backward": lambda grad, input, mask: (
        torch.zeros_like(input.expand(torch.broadcast_shapes(input.shape, mask.shape)))
        .masked_scatter(mask, grad)
        .sum_to_size(input.shape)
    ),
    "value_selecting_reduction_backward": _value_selecting_reduction_backward,
}
