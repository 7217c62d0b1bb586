"""torch.backends.cuda: settings for NVIDIA GPUs. They can be set and read."""

import contextlib
import types

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]

matmul = types.SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
_enabled = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_libraries = {"linalg": "default", "blas": "default"}


def is_built():
    """False: CUDA's libraries are not needed to build.

    >>> torch.backends.cuda.is_built()
    False
    """
    return False


def is_flash_attention_available():
    """False: that is a kernel for NVIDIA GPUs."""
    return False


def flash_sdp_enabled():
    """Whether scaled_dot_product_attention may use flash attention."""
    return _enabled["flash"]


def enable_flash_sdp(enabled):
    """Allows flash attention or not."""
    _enabled["flash"] = bool(enabled)


def mem_efficient_sdp_enabled():
    """Whether scaled_dot_product_attention may use memory-efficient attention."""
    return _enabled["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Allows memory-efficient attention or not."""
    _enabled["mem_efficient"] = bool(enabled)


def math_sdp_enabled():
    """Whether scaled_dot_product_attention may use its plain form."""
    return _enabled["math"]


def enable_math_sdp(enabled):
    """Allows the plain form of attention or not."""
    _enabled["math"] = bool(enabled)


def cudnn_sdp_enabled():
    """Whether scaled_dot_product_attention may use cuDNN."""
    return _enabled["cudnn"]


def enable_cudnn_sdp(enabled):
    """Allows cuDNN's attention or not."""
    _enabled["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Which kinds of attention are allowed inside.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    before = dict(_enabled)
    _enabled.update(
        flash=bool(enable_flash),
        math=bool(enable_math),
        mem_efficient=bool(enable_mem_efficient),
        cudnn=bool(enable_cudnn),
    )
    try:
        yield
    finally:
        _enabled.update(before)


def preferred_linalg_library(backend=None):
    """Sets which library factorizes matrices on NVIDIA GPUs, or gives it."""
    return _preferred("linalg", backend, ("default", "cusolver", "magma"))


def preferred_blas_library(backend=None):
    """Sets which library multiplies matrices on NVIDIA GPUs, or gives it."""
    return _preferred("blas", backend, ("default", "cublas", "cublaslt", "hipblaslt", "ck"))


def _preferred(kind, backend, known):
    if backend is not None:
        if backend not in known:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(known)}.")
        _libraries[kind] = backend
    return _libraries[kind]
