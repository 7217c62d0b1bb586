"""torch.backends.cuda: settings for NVIDIA GPUs. They can be set and read; what holds for other
devices, too, is told to them, and what does nothing says so, once."""

import contextlib

from mindtorch_v2 import _math_settings
from mindtorch_v2.backends._precision import keep, precision_of, set_precision

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


def _as_bool(name, value, which=None):
    if not isinstance(value, bool):
        expected = "a bool or a tuple/list of bools" if which is None else f"a bool for {which}"
        raise TypeError(f"{name} expects {expected}, but got {type(value)!r}")
    return value


def _reduction_pair(name, value):
    """(whether sums may be less exact, whether products may be split along the sum)."""
    if not isinstance(value, (list, tuple)):
        return _as_bool(name, value), True
    if not 1 <= len(value) <= 2:
        count = "at most two boolean arguments" if value else "at least one boolean argument"
        raise TypeError(f"{name} expects {count}")
    parts = ("allow_reduced_precision", "allow_splitk")
    reduced, split = (
        _as_bool(name, each, which) for each, which in zip((*value, True)[:2], parts, strict=True)
    )
    if reduced and not split:
        raise RuntimeError(
            "allow_splitk=False is not supported when reduced precision reductions are enabled"
        )
    return reduced, split


class _Matmul:
    """Settings of products of matrices. `allow_tf32` and `fp32_precision` are
    torch.set_float32_matmul_precision under other names."""

    _REDUCTIONS = (
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
    )

    def __init__(self):
        kept = {name: True for name in self._REDUCTIONS}
        kept |= {f"{name}_split_k": True for name in self._REDUCTIONS}
        self.__dict__.update(kept, allow_fp16_accumulation=False)

    @property
    def allow_tf32(self):
        return _math_settings.get_float32_matmul_precision() != "highest"

    @property
    def fp32_precision(self):
        return precision_of("cuda", "matmul")

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        setting = f"torch.backends.cuda.matmul.{name} = {value!r}"
        if name in self._REDUCTIONS:
            pair = _reduction_pair(name, value)
            self.__dict__.update({name: pair[0], f"{name}_split_k": pair[1]})
        elif name == "fp32_precision":
            set_precision("torch.backends.cuda.matmul", "cuda", "matmul", value)
        elif name in ("allow_tf32", "allow_fp16_accumulation"):
            if not isinstance(value, bool):
                function = f"set_{name}_cublas"
                raise RuntimeError(f"{function} expects a bool, but got {type(value).__name__}")
            if name == "allow_tf32":
                keep("cuda", "matmul", "tf32" if value else "ieee")
                _math_settings.set_reduces_float32(setting, "high" if value else "highest")
            else:
                if value:
                    _math_settings.warn_once(setting, "no device here knows it", 2)
                self.__dict__[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


matmul = _Matmul()
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
        if backend != "default":
            _math_settings.warn_once(
                f"torch.backends.cuda.preferred_{kind}_library({backend!r})",
                "no library of NVIDIA's computes here",
            )
        _libraries[kind] = backend
    return _libraries[kind]
