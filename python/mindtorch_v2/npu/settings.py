"""Settings of torch_npu under torch.npu. What has a meaning here acts; the rest is kept, can be
read back, and says once that it does nothing, unless it asks for what is done anyway."""

from mindtorch_v2 import _math_settings
from mindtorch_v2.backends import cuda as _attention

__all__ = [
    "aclnn",
    "are_compatible_impl_enabled",
    "config",
    "conv",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "get_mm_bmm_format_nd",
    "is_jit_compile_false",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
    "set_compile_mode",
    "set_mm_bmm_format_nd",
    "set_option",
    "use_compatible_impl",
]

# Which values an option may have; others may have any.
_VALUES = {
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_performance", "high_precision"),
    "ACL_AICORE_NUM": tuple(str(number) for number in range(1, 33)),
    "ACL_OP_DEBUG_LEVEL": ("0", "1", "2", "3", "4"),
    "ACL_OP_COMPILER_CACHE_MODE": ("disable", "enable", "force"),
}
# What is done anyway.
_DONE = {
    "ACL_PRECISION_MODE": "must_keep_origin_dtype",
    "ACL_OP_DEBUG_LEVEL": "0",
    "MM_BMM_ND_ENABLE": "enable",
    "jitCompile": "disable",
}
_options = {"MM_BMM_ND_ENABLE": "enable", "TORCH_NPU_USE_COMPATIBLE_IMPL": "0"}

flash_sdp_enabled = _attention.flash_sdp_enabled
enable_flash_sdp = _attention.enable_flash_sdp
mem_efficient_sdp_enabled = _attention.mem_efficient_sdp_enabled
enable_mem_efficient_sdp = _attention.enable_mem_efficient_sdp
math_sdp_enabled = _attention.math_sdp_enabled
enable_math_sdp = _attention.enable_math_sdp
sdp_kernel = _attention.sdp_kernel


def set_option(option):
    """Keeps options of CANN's compiler, which has nothing to do: kernels are compiled already.

    >>> torch.npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype"})
    """
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")
    given = {name: str(value) for name, value in option.items()}
    for name, value in given.items():
        known = _VALUES.get(name)
        if known is not None and value not in known:
            raise ValueError(f"value of {name} should be in {list(known)} but got {value}")
    for name, value in given.items():
        if value != _DONE.get(name):
            _math_settings.warn_once(
                f"torch.npu.set_option({{{name!r}: {value!r}}})", "kernels are compiled already"
            )
    _options.update(given)


def set_compile_mode(jit_compile=False):
    """Keeps whether CANN may compile kernels for the shapes it meets. None is here.

    >>> torch.npu.set_compile_mode(jit_compile=False)
    >>> torch.npu.is_jit_compile_false()
    True
    """
    if jit_compile:
        _math_settings.warn_once(
            "torch.npu.set_compile_mode(jit_compile=True)", "kernels are compiled already"
        )
    _options["jitCompile"] = "enable" if jit_compile else "disable"


def is_jit_compile_false():
    """Whether set_compile_mode(jit_compile=False) was the last that was said."""
    return _options.get("jitCompile", "disable") == "disable"


def use_compatible_impl(is_enable):
    """Keeps whether results shall be as other devices' where CANN's are not. They are here."""
    _options["TORCH_NPU_USE_COMPATIBLE_IMPL"] = "1" if is_enable else "0"


def are_compatible_impl_enabled():
    """What use_compatible_impl() was given.

    >>> torch.npu.are_compatible_impl_enabled()
    False
    """
    return _options["TORCH_NPU_USE_COMPATIBLE_IMPL"] == "1"


def set_mm_bmm_format_nd(is_nd=True):
    """Keeps whether matrices are multiplied in the plain layout, as they are."""
    set_option({"MM_BMM_ND_ENABLE": "enable" if is_nd else "disable"})


def get_mm_bmm_format_nd():
    """What set_mm_bmm_format_nd() was given: True at first.

    >>> torch.npu.get_mm_bmm_format_nd()
    True
    """
    return _options["MM_BMM_ND_ENABLE"] == "enable"


class _Flags:
    """Attributes that are True or False; `acts(name, value)` is told what is set."""

    def __init__(self, title, acts=None, **flags):
        self.__dict__.update(flags, _title=title, _acts=acts)

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name} of {self._title}")

    def __setattr__(self, name, value):
        if name[0] == "_" or name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name} of {self._title}")
        if not isinstance(value, bool):
            raise TypeError(f"{self._title}.{name} expects a bool, but got {type(value).__name__}")
        self.__dict__[name] = value
        if self._acts is not None:
            self._acts(f"{self._title}.{name} = {value}", value)


def _reduce_float32(setting, value):
    _math_settings.set_reduces_float32(setting, "high" if value else "highest")


def _say_nothing_changes(setting, value):
    if value:
        _math_settings.warn_once(setting, "tensors have the plain layout", 4)


config = _Flags("torch.npu.config", _say_nothing_changes, allow_internal_format=False)
matmul = _Flags("torch.npu.matmul", _reduce_float32, allow_hf32=False)
conv = _Flags("torch.npu.conv", allow_hf32=True)
aclnn = _Flags("torch.npu.aclnn", allow_hf32=True)
