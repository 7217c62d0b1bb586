"""Functions of torch_npu that are layers or parts of them, under torch's names for them."""

import mindtorch_v2 as torch

F = torch.nn.functional


def npu_linear(input, weight, bias=None):
    """torch.nn.functional.linear."""
    return F.linear(input, weight, bias)


def npu_bmmV2(self, mat2, output_sizes):
    """The product of matrices, in the shape `output_sizes` if it names one."""
    product = torch.matmul(self, mat2)
    return product.reshape(output_sizes) if len(output_sizes) else product


def npu_conv2d(input, weight, bias, stride, padding, dilation, groups):
    """torch.conv2d."""
    return torch.conv2d(input, weight, bias, stride, padding, dilation, groups)


def npu_conv3d(input, weight, bias, stride, padding, dilation, groups):
    """torch.conv3d."""
    return torch.conv3d(input, weight, bias, stride, padding, dilation, groups)


def npu_convolution(input, weight, bias, stride, padding, dilation, groups):
    """torch.conv2d or torch.conv3d, as the weight has dimensions."""
    arguments = (stride, padding, dilation, False, [0] * (weight.dim() - 2), groups)
    return torch.convolution(input, weight, bias, *arguments)


def npu_convolution_transpose(
    input, weight, bias, padding, output_padding, stride, dilation, groups
):
    """torch.conv_transpose2d or torch.conv_transpose3d, as the weight has dimensions."""
    arguments = (stride, padding, dilation, True, output_padding, groups)
    return torch.convolution(input, weight, bias, *arguments)


npu_conv_transpose2d = npu_convolution_transpose


def npu_silu(self):
    """torch.nn.functional.silu."""
    return F.silu(self)


def npu_silu_(self):
    """torch.nn.functional.silu, in place."""
    return F.silu(self, inplace=True)


def npu_mish(self):
    """torch.nn.functional.mish."""
    return F.mish(self)


def npu_gelu(self, *, approximate="none"):
    """torch.nn.functional.gelu."""
    return F.gelu(self, approximate=approximate)


def fast_gelu(self):
    """x * sigmoid(1.702 * x)."""
    return self * torch.sigmoid(1.702 * self)


npu_fast_gelu = fast_gelu

_ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "fastgelu": fast_gelu,
    "silu": F.silu,
}
_GATES = {"geglu": F.gelu, "swiglu": F.silu, "reglu": F.relu}


def npu_ffn(
    x,
    weight1,
    weight2,
    activation,
    *,
    expert_tokens=None,
    expert_tokens_index=None,
    bias1=None,
    bias2=None,
    inner_precise=None,
    output_dtype=None,
    **quantized,
):
    """Two linear layers with an activation between them; with `expert_tokens`, which many rows of x
    go through each of several experts' layers.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_ffn(torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1), "relu")
    tensor([[6.]])
    """
    given = [name for name, value in quantized.items() if value is not None]
    if given:
        raise NotImplementedError(f"npu_ffn: {given[0]} is not supported")
    if expert_tokens is not None and expert_tokens_index is not None:
        raise RuntimeError("npu_ffn: expert_tokens and expert_tokens_index exclude each other")
    if expert_tokens_index is not None:
        ends = list(expert_tokens_index)
        expert_tokens = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    if expert_tokens is None:
        result = _feed_forward(x, weight1, weight2, activation, bias1, bias2)
    else:
        biases = [bias if bias is not None else [None] * len(weight1) for bias in (bias1, bias2)]
        parts = zip(x.split(list(expert_tokens)), weight1, weight2, *biases, strict=True)
        result = torch.cat(
            [_feed_forward(rows, w1, w2, activation, b1, b2) for rows, w1, w2, b1, b2 in parts]
        )
    return result if output_dtype is None else result.to(output_dtype)


def _feed_forward(x, weight1, weight2, activation, bias1, bias2):
    inner = torch.matmul(x, weight1)
    if bias1 is not None:
        inner = inner + bias1
    name = activation.lower()
    if name in _GATES:
        gate, value = inner.chunk(2, -1)
        inner = _GATES[name](gate) * value
    elif name in _ACTIVATIONS:
        inner = _ACTIVATIONS[name](inner)
    else:
        known = sorted((*_ACTIVATIONS, *_GATES))
        raise RuntimeError(f"npu_ffn: activation should be one of {known}, but got {activation!r}")
    result = torch.matmul(inner.to(x.dtype), weight2)
    return result if bias2 is None else result + bias2


def npu_layer_norm_eval(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """torch.nn.functional.layer_norm."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_deep_norm(x, gx, beta, gamma, alpha=0.3, epsilon=1e-6):
    """(mean, 1 / deviation, norm) of x * alpha + gx, over gamma's dimensions."""
    return _normalized((x.float() * alpha + gx.float()), beta, gamma, epsilon, x.dtype)


def npu_add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    """(norm, mean, 1 / deviation, sum) of x1 + x2, over gamma's dimensions."""
    total = x1 + x2
    mean, scale, norm = _normalized(total.float(), beta, gamma, epsilon, total.dtype)
    return norm, mean, scale, total if additional_output else torch.empty_like(total[:0])


def _normalized(x, beta, gamma, epsilon, dtype):
    dims = tuple(range(-gamma.dim(), 0))
    mean = x.mean(dims, keepdim=True)
    scale = torch.rsqrt(x.var(dims, correction=0, keepdim=True) + epsilon)
    return mean, scale, ((x - mean) * scale * gamma.float() + beta.float()).to(dtype)


def npu_group_norm_silu(input, weight, bias, group, eps=1e-5):
    """(silu of the group norm, means, 1 / deviations)."""
    norm, mean, scale = torch.native_group_norm(
        input, weight, bias, input.shape[0], input.shape[1], input[0, 0].numel(), group, eps
    )
    return F.silu(norm), mean, scale


def npu_softmax_cross_entropy_with_logits(self, labels):
    """The cross entropy of each row with probabilities.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_softmax_cross_entropy_with_logits(torch.zeros(1, 2), torch.ones(1, 2) / 2)
    tensor([0.6931])
    """
    return -(labels * torch.log_softmax(self, -1)).sum(-1)


def batch_norm_reduce(input, eps):
    """(sums, sums of squares) of each channel, in float32."""
    dims = [dim for dim in range(input.dim()) if dim != 1]
    exact = input.float()
    return exact.sum(dims), exact.square().sum(dims)


def dropout_with_byte_mask(self, p, train):
    """torch.dropout."""
    return torch.dropout(self, p, train)
