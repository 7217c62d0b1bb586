"""mindtorch: torch-compatible tensors on the CPU and on Ascend NPUs.

>>> import mindtorch_v2 as torch
>>> torch.tensor([1.0, 2.0]) + 1
tensor([2., 3.])

What every program needs is here; the rest is imported when it is first asked for, so that the
import itself is quick.
"""

from mindtorch_v2 import _load_library  # before all others

# isort: split
from mindtorch_v2 import _C, _storage, _tensor
from mindtorch_v2._C import (
    AcceleratorError,
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
    complex32,
    complex64,
    complex128,
    contiguous_format,
    device,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
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
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    tensor,
    to_dlpack,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mindtorch_v2.version import __version__

# Name: the module it comes from.
_LAZY = {
    name: module
    for module, names in {
        "_array_functions": (
            "conj_physical_ detach_ frexp index_reduce ldexp ldexp_ mvlgamma nonzero_static renorm "
            "resize_as_ segment_reduce unravel_index"
        ),
        "_checks": (
            "_assert _check _check_index _check_is_size _check_not_implemented _check_type "
            "_check_value"
        ),
        "_control_flow": "cond while_loop",
        "_device_context": "get_default_device set_default_device",
        "_grad_mode": (
            "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad "
            "set_grad_enabled"
        ),
        "_integration": "cumulative_trapezoid gradient trapezoid trapz",
        "_install": "install_as_torch",
        "_introspection": (
            "get_device get_device_module get_num_interop_threads is_complex is_conj "
            "is_floating_point "
            "is_inference is_neg is_nonzero is_same_size is_signed is_storage is_tensor "
            "numel set_flush_denormal set_num_interop_threads "
            "typename"
        ),
        "_nn_ops": (
            "batch_norm binary_cross_entropy_with_logits cosine_embedding_loss "
            "group_norm hinge_embedding_loss instance_norm kl_div margin_ranking_loss "
            "poisson_nll_loss triplet_margin_loss"
        ),
        "_library.tags": "Tag",
        "_lobpcg": "lobpcg",
        "_lowrank": "lu pca_lowrank svd_lowrank",
        "_pipeline": (
            "current_pipeline get_pipeline_config pipeline pipeline_config pipeline_context"
        ),
        "_serialization": "load save",
        "sparse._create": (
            "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
            "sparse_csc_tensor sparse_csr_tensor"
        ),
        "sparse._products": "dsmm hsmm hspmm saddmm smm spmm sspaddmm",
        "_statistics": "corrcoef cov histogram histogramdd nanquantile quantile",
        "_symbolic": (
            "SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt "
            "sym_sum"
        ),
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
        "_view_copies": (
            "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy "
            "select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy "
            "transpose_copy unbind_copy unfold_copy unsafe_chunk unsafe_split "
            "unsafe_split_with_sizes unsqueeze_copy view_copy"
        ),
        "_windows": ("bartlett_window blackman_window hamming_window hann_window kaiser_window"),
        "amp._state": (
            "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
            "is_autocast_cpu_enabled is_autocast_enabled set_autocast_cpu_dtype "
            "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled "
            "set_autocast_gpu_dtype"
        ),
        "amp.autocast_mode": "autocast",
        "amp.grad_scaler": "GradScaler",
        "nn._scaled_products": "_scaled_mm",
        "autograd.anomaly_mode": (
            "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled"
        ),
        "compiler": "compile",
        "func._vmap": "vmap",
        "functional": (
            "broadcast_shapes cdist einsum nonzero norm prelu stft tensordot unique "
            "unique_consecutive"
        ),
        "nn.functional": ("bilinear cosine_similarity pairwise_distance pdist"),
        "random": "default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
        "_streams": "Event Stream",
        "futures": "Future",
        "jit": "ScriptFunction ScriptModule",
        "jit.annotations": "DeviceObjType TensorType",
        "_file_reader": "PyTorchFileReader",
        "storage": "TypedStorage",
    }.items()
    for name in names.split()
}
_SUBMODULES = frozenset(
    "_VF __config__ _dynamo _higher_order_ops _subclasses accelerator amp ao autograd backends "
    "compiler cpu cuda distributed distributions fft func functional futures fx hub jit library "
    "linalg memory multiprocessing nn npu onnx ops optim options overrides profiler quasirandom "
    "random return_types serialization sparse special signal storage testing torch_npu "
    "torch_version types utils version xpu".split()
)
_SUBMODULE_PREFIXES = ("fft_", "linalg_", "special_")  # ops that are functions of a submodule
# Functions that are called by other names here: those of torch.ops.aten.
_OF_ATEN = frozenset(
    "affine_grid_generator frobenius_norm native_batch_norm native_dropout native_group_norm "
    "native_layer_norm".split()
)
_CLASS_PREFIXES = "Float Double Half BFloat16 Char Short Int Long Byte Bool".split()


def __getattr__(name):
    import importlib

    if name == "torch":
        return importlib.import_module(__name__)  # torch has itself as an attribute
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
    elif name in _OF_ATEN or (name[0] == "_" and name[:2] != "__" and not _is_file(name)):
        # torch's private functions are those of its operators that begin with "_".
        value = getattr(importlib.import_module(f"{__name__}._library.aten").aten, name, None)
        if value is None or not hasattr(value, "overloads"):
            _no_attribute(name)
    else:
        _no_attribute(name)
    if name not in _OF_ATEN:  # dir() has names that the stubs have
        globals()[name] = value
    return value


def _is_file(name):
    import os

    path = os.path.join(__path__[0], name)  # of a module that is about to be imported
    return os.path.exists(path) or os.path.exists(f"{path}.py")


def _no_attribute(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    classes = [prefix + kind for prefix in _CLASS_PREFIXES for kind in ("Tensor", "Storage")]
    return [*globals(), *_LAZY, *_SUBMODULES, *classes]


def _name_of_c(name):
    from mindtorch_v2 import _c_names

    if name in _c_names.NAMES:
        return getattr(_c_names, name)
    raise AttributeError(f"module {_C.__name__!r} has no attribute {name!r}")


_C.__getattr__ = _name_of_c
_C._warn_about_options()

# From here on builtins such as float, int, bool, abs, all and sum are torch's: no code below.
globals().update(
    item
    for item in _C._functions.items()
    if item[0] not in _LAZY and not item[0].startswith(_SUBMODULE_PREFIXES)
)
from mindtorch_v2._C import bool as bool  # noqa: E402 - torch.bool is a dtype

half, float, double = float16, float32, float64
chalf, cfloat, cdouble = complex32, complex64, complex128
char, short, int, long = int8, int16, int32, int64
byte = uint8
from math import e, inf, nan, pi  # noqa: E402

newaxis = None
