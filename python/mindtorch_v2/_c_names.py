"""Names of torch._C that libraries use and that need no C++."""

import types

from mindtorch_v2 import _C

NAMES = (
    "DispatchKey",
    "DispatchKeySet",
    "_ExcludeDispatchKeyGuard",
    "_are_functorch_transforms_active",
    "_get_tracing_state",
    "_log_api_usage_once",
    "_nn",
)


# Functions of torch._C._nn that are called by other names here: those of torch.ops.aten.
_OF_ATEN = frozenset(
    """
    _pad_circular _pad_enum _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
    binary_cross_entropy col2im cross_entropy_loss elu_ fractional_max_pool2d fractional_max_pool3d
    gelu_ hardsigmoid_ hardswish_ hardtanh_ huber_loss im2col l1_loss leaky_relu_
    max_pool2d_with_indices max_pool3d_with_indices max_unpool2d max_unpool3d mish_ mse_loss
    multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd one_hot
    reflection_pad1d reflection_pad2d reflection_pad3d relu6_ replication_pad1d replication_pad2d
    replication_pad3d rrelu_with_noise rrelu_with_noise_ silu_ smooth_l1_loss soft_margin_loss
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
    upsample_nearest3d upsample_trilinear3d
    """.split()
)


class _Functions(types.ModuleType):
    """torch._C._nn: the functions of neural networks as torch's C++ has them."""

    @staticmethod
    def _parse_to(*args, **kwargs):
        """(device, dtype, non_blocking, memory_format) of the arguments of Tensor.to."""
        from mindtorch_v2.nn.modules._convert import _parse_to

        return _parse_to(args, kwargs)

    def __getattr__(self, name):
        if name in _C._nn_functions:
            return _C._nn_functions[name]
        if name in _OF_ATEN:
            import mindtorch_v2 as torch

            return getattr(torch.ops.aten, name)
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")


_nn = _Functions("torch._C._nn")


def _are_functorch_transforms_active():
    """Whether vmap is at work: values of tensors cannot be read then."""
    return _C._vmap_level() > 0


def _log_api_usage_once(*names):
    """Nobody counts which functions are used: it does nothing."""


def _get_tracing_state():
    """None: torch.jit.trace does not trace."""
    return None


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mindtorch_v2._library import dispatch_keys  # it needs much of the library

    return getattr(dispatch_keys, name)
