"""A batch norm folded into the layer before it, for inference."""

import copy

import mindtorch_v2 as torch

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what the convolution and then the batch norm do."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def _fused(weight, bias, mean, var, eps, scale, shift, dim):
    with torch.no_grad():
        bias = torch.zeros_like(mean) if bias is None else bias
        scale = torch.ones_like(mean) if scale is None else scale
        shift = torch.zeros_like(mean) if shift is None else shift
        factor = scale * torch.rsqrt(var + eps)
        shape = [1] * weight.dim()
        shape[dim] = -1
        made = (weight * factor.reshape(shape)).to(weight.dtype)
        return made, ((bias - mean) * factor + shift).to(weight.dtype)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of the convolution that does both.

    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(
    ...     torch.ones(1, 1, 1), None, torch.ones(1), torch.ones(1), 0.0, None, None)
    >>> bias.data
    tensor([-1.])
    """
    dim = 1 if transpose else 0
    weight, bias = _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, dim)
    requires = [getattr(p, "requires_grad", False) for p in (conv_w, conv_b)]
    Parameter = torch.nn.Parameter
    return Parameter(weight, requires[0]), Parameter(bias, requires[1] or conv_b is None)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that does what the layer and then the batch norm do."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of the linear layer that does both.

    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(
    ...     torch.ones(1, 2), torch.ones(1), torch.zeros(1), torch.ones(1), 0.0, None, None)
    >>> weight.data
    tensor([[1., 1.]])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
