"""torch.nn.attention: which kind of attention is allowed, and flex_attention."""

import contextlib
import enum

from mindtorch_v2.backends import cuda as _cuda

__all__ = ["SDPBackend", "flex_attention", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The kinds of scaled_dot_product_attention that torch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SWITCHES = {
    SDPBackend.MATH: (_cuda.math_sdp_enabled, _cuda.enable_math_sdp),
    SDPBackend.FLASH_ATTENTION: (_cuda.flash_sdp_enabled, _cuda.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (
        _cuda.mem_efficient_sdp_enabled,
        _cuda.enable_mem_efficient_sdp,
    ),
    SDPBackend.CUDNN_ATTENTION: (_cuda.cudnn_sdp_enabled, _cuda.enable_cudnn_sdp),
}


def _cur_sdpa_kernel_backends(with_priority=False):
    """The kinds that are allowed."""
    return [kind for kind, (enabled, _) in _SWITCHES.items() if enabled()]


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Only these kinds are allowed inside. mindtorch has one kind for each device, which computes
    whatever is allowed.

    >>> from mindtorch_v2.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, (list, tuple)) or not all(
        isinstance(kind, SDPBackend) for kind in backends
    ):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend")
    before = _cur_sdpa_kernel_backends()
    _allow(backends)
    try:
        yield {}
    finally:
        _allow(before)


def _allow(kinds):
    for kind, (_, enable) in _SWITCHES.items():
        enable(kind in kinds)


def __getattr__(name):
    if name == "flex_attention":
        import importlib

        return importlib.import_module("mindtorch_v2.nn.attention.flex_attention")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
