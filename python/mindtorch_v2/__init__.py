"""mindtorch: torch-compatible tensors on the CPU and on Ascend NPUs.

>>> import mindtorch_v2 as torch
>>> torch.tensor([1.0, 2.0]) + 1
tensor([2., 3.])

What every program needs is here; the rest is imported when it is first asked for, so that the
import itself is quick.
"""

from mindtorch_v2 import _C, _storage, _tensor
from mindtorch_v2._C import (
    Generator,
    OutOfMemoryError,
    Size,
    Tensor,
    UntypedStorage,
    as_tensor,
    asarray,
    bfloat16,
    can_cast,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_default_dtype,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    layout,
    memory_format,
    preserve_format,
    promote_types,
    result_type,
    set_default_dtype,
    set_num_threads,
    strided,
    tensor,
    to_dlpack,
    uint8,
)
from mindtorch_v2.version import __version__

# Name: the module it comes from.
_LAZY = {
    name: module
    for module, names in {
        "_device_context": "get_default_device set_default_device",
        "_grad_mode": (
            "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad "
            "set_grad_enabled"
        ),
        "_introspection": (
            "conj get_device get_device_module get_num_interop_threads is_complex is_conj "
            "is_floating_point "
            "is_inference is_neg is_nonzero is_same_size is_signed is_storage is_tensor isreal "
            "numel real resolve_conj resolve_neg set_flush_denormal set_num_interop_threads "
            "typename"
        ),
        "_pipeline": (
            "current_pipeline get_pipeline_config pipeline pipeline_config pipeline_context"
        ),
        "_serialization": "load save",
        "_tensor_str": "get_printoptions set_printoptions",
        "_type_info": "finfo iinfo",
        "_C": (
            "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
            "is_autocast_cache_enabled set_autocast_cache_enabled"
        ),
        "_math_settings": (
            "are_deterministic_algorithms_enabled get_deterministic_debug_mode "
            "get_float32_matmul_precision is_deterministic_algorithms_warn_only_enabled "
            "set_deterministic_debug_mode set_float32_matmul_precision use_deterministic_algorithms"
        ),
        "amp._state": (
            "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
            "is_autocast_cpu_enabled is_autocast_enabled set_autocast_cpu_dtype "
            "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled "
            "set_autocast_gpu_dtype"
        ),
        "amp.autocast_mode": "autocast",
        "autograd.anomaly_mode": (
            "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled"
        ),
        "functional": (
            "broadcast_shapes einsum nonzero norm prelu tensordot unique unique_consecutive"
        ),
        "nn.functional": (
            "bilinear channel_shuffle cosine_similarity pairwise_distance pdist pixel_shuffle "
            "pixel_unshuffle rrelu rrelu_"
        ),
        "random": "default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
        "_streams": "Event Stream",
        "storage": "TypedStorage",
    }.items()
    for name in names.split()
}
_SUBMODULES = frozenset(
    "accelerator amp autograd compiler cpu cuda functional hub library linalg memory "
    "multiprocessing nn npu ops optim options overrides random return_types serialization special "
    "storage testing types utils version".split()
)
_CLASS_PREFIXES = "Float Double Half BFloat16 Char Short Int Long Byte Bool".split()


def __getattr__(name):
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY:
        value = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    elif name.endswith("Tensor") and name[:-6] in _CLASS_PREFIXES:
        from mindtorch_v2._legacy import tensor_class

        value = tensor_class(name)
    elif name.endswith("Storage") and name[:-7] in _CLASS_PREFIXES:
        from mindtorch_v2.storage import storage_class

        value = storage_class(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    classes = [prefix + kind for prefix in _CLASS_PREFIXES for kind in ("Tensor", "Storage")]
    return [*globals(), *_LAZY, *_SUBMODULES, *classes]


_C._warn_about_options()

# From here on builtins such as float, int, bool, abs, all and sum are torch's: no code below.
globals().update(item for item in _C._functions.items() if item[0] not in _LAZY)
from mindtorch_v2._C import bool as bool  # noqa: E402 - torch.bool is a dtype

half, float, double = float16, float32, float64
char, short, int, long = int8, int16, int32, int64
byte = uint8
from math import e, inf, nan, pi  # noqa: E402

newaxis = None
