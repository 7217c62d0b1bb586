"""The parts of the type stubs that no op describes. Read by make_stubs.py."""

import re

import mindtorch_v2

_NOTE = """# Written by tools/make_stubs.py: run `make stubs` after a change.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,misc"
"""

_ALIASES = """
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool
"""

NATIVE_HEAD = (
    _NOTE
    + """import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, overload

import numpy

from mindtorch_v2 import return_types
from mindtorch_v2.storage import TypedStorage
from mindtorch_v2.utils.hooks import RemovableHandle
"""
    + _ALIASES
    + """
class dtype:
    is_floating_point: _bool
    is_complex: _bool
    is_signed: _bool
    itemsize: _int
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class device:
    type: str
    index: _int | None
    def __init__(self, device: device | str | _int, index: _int | None = None) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *exc_info: object) -> None: ...

class memory_format: ...
class layout: ...

class Size(tuple[_int, ...]):
    def numel(self) -> _int: ...

_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
_DeviceLike: TypeAlias = device | str | builtins.int

class LinAlgError(RuntimeError): ...
class AcceleratorError(RuntimeError):
    error_code: int

class OutOfMemoryError(RuntimeError): ...

class UntypedStorage:
    device: _device
    is_cuda: _bool
    def __init__(
        self, size: _int | Sequence[_int] = 0, /, *, device: _DeviceLike | None = None
    ) -> None: ...
    def nbytes(self) -> _int: ...
    def size(self) -> _int: ...
    def element_size(self) -> _int: ...
    def data_ptr(self) -> _int: ...
    def resizable(self) -> _bool: ...
    def resize_(self, size: _int, /) -> UntypedStorage: ...
    def tolist(self) -> list[_int]: ...
    def clone(self) -> UntypedStorage: ...
    def cpu(self) -> UntypedStorage: ...
    def fill_(self, value: _int, /) -> UntypedStorage: ...
    def copy_(self, source: UntypedStorage, non_blocking: _bool = False) -> UntypedStorage: ...
    def untyped(self) -> UntypedStorage: ...
    def is_shared(self) -> _bool: ...
    def share_memory_(self) -> UntypedStorage: ...
    @staticmethod
    def from_file(filename: str, shared: _bool = False, nbytes: _int = 0) -> UntypedStorage: ...
    def is_pinned(self, device: _DeviceLike | None = None) -> _bool: ...
    def pin_memory(self, device: _DeviceLike | None = None) -> UntypedStorage: ...
    def __len__(self) -> _int: ...
    @overload
    def __getitem__(self, index: _int) -> _int: ...
    @overload
    def __getitem__(self, index: slice) -> UntypedStorage: ...
    def __setitem__(self, index: _int | slice, value: _int) -> None: ...
    def __buffer__(self, flags: _int, /) -> memoryview: ...

class Generator:
    device: _device
    def __init__(self, device: _DeviceLike | None = None) -> None: ...
    def manual_seed(self, seed: _int) -> Generator: ...
    def seed(self) -> _int: ...
    def initial_seed(self) -> _int: ...
    def clone_state(self) -> Generator: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, new_state: Tensor) -> Generator: ...

class _TensorMeta(type): ...

_TensorClass = TypeVar("_TensorClass", bound=Tensor)

"""
)

_DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 "
    "complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu"
).split()

NATIVE_TAIL = (
    "\n"
    + "".join(f"{name}: dtype\n" for name in _DTYPES)
    + """strided: layout
sparse_coo: layout
sparse_csr: layout
sparse_csc: layout
sparse_bsr: layout
sparse_bsc: layout
def _disabled_torch_function_impl(
    func: Any, types: Any, args: Any = ..., kwargs: Any = ..., /
) -> Any: ...
contiguous_format: memory_format
preserve_format: memory_format
channels_last: memory_format
channels_last_3d: memory_format

_functions: dict[str, Callable[..., Any]]
_nn_functions: dict[str, Callable[..., Any]]
_internal_functions: dict[str, Callable[..., Any]]

def tensor(
    data: Any,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def as_tensor(
    data: Any, dtype: _dtype | None = None, device: _DeviceLike | None = None
) -> Tensor: ...
def asarray(
    obj: Any,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    copy: _bool | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...
def from_numpy(ndarray: numpy.ndarray, /) -> Tensor: ...
def from_dlpack(
    ext_tensor: Any, *, device: _DeviceLike | None = None, copy: _bool | None = None
) -> Tensor: ...
def to_dlpack(tensor: Tensor, /) -> Any: ...
def frombuffer(
    buffer: Any,
    *,
    dtype: _dtype,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor: ...
def set_num_threads(count: _int) -> None: ...
def get_default_dtype() -> _dtype: ...
def set_default_dtype(d: _dtype) -> None: ...
def promote_types(type1: _dtype, type2: _dtype) -> _dtype: ...
def can_cast(from_: _dtype, to: _dtype) -> _bool: ...
def result_type(tensor1: Tensor | _Number, tensor2: Tensor | _Number) -> _dtype: ...
def _rebuild_tensor(
    storage: UntypedStorage,
    dtype: _dtype,
    offset: _int,
    size: Sequence[_int],
    stride: Sequence[_int],
    /,
) -> Tensor: ...
def _return_type(name: str, /) -> Any: ...

class _DeviceUnavailableError(RuntimeError): ...

class _Node:
    next_functions: tuple[tuple[_Node | None, _int], ...]
    metadata: dict[Any, Any]
    def name(self) -> str: ...
    def register_hook(self, fn: Callable[..., Any], /) -> RemovableHandle: ...
    def register_prehook(self, fn: Callable[..., Any], /) -> RemovableHandle: ...
    def _sequence_nr(self) -> _int: ...
    def __getattr__(self, name: str) -> Any: ...

class _FunctionBase(_Node):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[_bool, ...]
    to_save: tuple[Tensor | None, ...] | None
    non_differentiable: tuple[Tensor, ...] | None
    dirty_tensors: tuple[Tensor, ...] | None
    materialize_grads: _bool
    @staticmethod
    def _apply(
        function: Any, ctx: _FunctionBase, args: tuple[Any, ...], has_setup_context: _bool
    ) -> Any: ...
"""
)

_IMPORTED = """
from mindtorch_v2._C import Generator as Generator
from mindtorch_v2._C import Tensor as Tensor
from mindtorch_v2._C import device as _device
from mindtorch_v2._C import dtype as _dtype
from mindtorch_v2._C import layout as _layout
from mindtorch_v2._C import memory_format as _memory_format
"""
_HEAD = (
    _NOTE
    + """import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from mindtorch_v2 import return_types as return_types"""
    + _IMPORTED
    + _ALIASES
    + "_DeviceLike: TypeAlias = _device | str | builtins.int\n\n"
)


def _exports(module, names):
    return "".join(f"from mindtorch_v2.{module} import {n} as {n}\n" for n in names.split())


def _package_exports(native):
    """What the package has of its own modules: at once, or when it is first asked for."""
    names = (
        {name: "_C" for name in native.split()} | mindtorch_v2._LAZY | {"__version__": "version"}
    )
    # torch.einsum's arguments are those of the op.
    pairs = [(module, name) for name, module in names.items() if name != "einsum"]
    # As the linter sorts imports: int8 before int16.
    pairs.sort(key=lambda pair: (pair[0].lower(), re.sub(r"\d+", lambda n: n[0].zfill(3), pair[1])))
    return "".join(_exports(module, name) for module, name in pairs)


PACKAGE_HEAD = (
    _NOTE
    + """import builtins
from collections.abc import Sequence
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any, TypeAlias, overload

"""
    + "".join(
        f"from mindtorch_v2 import {name} as {name}\n" for name in sorted(mindtorch_v2._SUBMODULES)
    )
    + _package_exports(
        "AcceleratorError "
        "Generator OutOfMemoryError Size Tensor UntypedStorage as_tensor asarray bfloat16 bool "
        "can_cast channels_last channels_last_3d complex128 complex32 complex64 "
        "contiguous_format device dtype float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
        "float8_e5m2fnuz float8_e8m0fnu float16 float32 float64 from_dlpack from_numpy "
        "frombuffer get_default_dtype get_num_threads int8 int16 int32 int64 layout "
        "memory_format preserve_format promote_types result_type set_default_dtype "
        "set_num_threads sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr strided tensor "
        "to_dlpack uint16 uint32 uint64 uint8"
    )
    + _ALIASES
    + """
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
_DeviceLike: TypeAlias = device | str | builtins.int

newaxis: None
half: dtype
chalf: dtype
cfloat: dtype
cdouble: dtype
float: dtype
double: dtype
char: dtype
short: dtype
int: dtype
long: dtype
byte: dtype

"""
)

_PREFIXES = "Float Double Half BFloat16 Char Short Int Long Byte Bool".split()
PACKAGE_TAIL = "\n" + "".join(
    f"class {prefix}Tensor(Tensor): ...\nclass {prefix}Storage(TypedStorage): ...\n"
    for prefix in _PREFIXES
)

FUNCTIONAL_HEAD = _HEAD.replace("import Sequence", "import Callable, Sequence").replace(
    "from mindtorch_v2._C import memory_format as _memory_format\n",
    "from mindtorch_v2._C import memory_format as _memory_format\n"
    "from mindtorch_v2.nn._scaled_products import ScalingType as ScalingType\n"
    "from mindtorch_v2.nn._scaled_products import SwizzleType as SwizzleType\n",
)
SPECIAL_HEAD = _HEAD
FFT_HEAD = _HEAD
LINALG_HEAD = (
    _HEAD.replace(
        "from mindtorch_v2._C import Tensor as Tensor",
        "from mindtorch_v2._C import LinAlgError as LinAlgError\n"
        "from mindtorch_v2._C import Tensor as Tensor",
    )
    + """
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
"""
)
RETURN_TYPES_HEAD = """# Written by tools/make_stubs.py: run `make stubs` after a change.
from typing import NamedTuple

from mindtorch_v2._C import Tensor
"""

# Parameters of the functions in nn/functional.py that are written in Python.
PARAMETERS = {
    "scale_a": "Tensor | list[Tensor]",
    "scale_b": "Tensor | list[Tensor]",
    "scale_recipe_a": "ScalingType | list[ScalingType]",
    "scale_recipe_b": "ScalingType | list[ScalingType]",
    "swizzle_a": "SwizzleType | list[SwizzleType]",
    "swizzle_b": "SwizzleType | list[SwizzleType]",
    "output_dtype": "_dtype | None",
    "contraction_dim": "Sequence[_int]",
    "use_fast_accum": "_bool",
    "out_dtype": "_dtype | None",
    "offs": "Tensor | None",
    "mat_b": "Tensor",
    "mat_a": "Tensor",
    "_random_samples": "Tensor",
    "_stacklevel": "_int",
    "add_zero_attn": "_bool",
    "align_corners": "_bool",
    "alpha": "_float",
    "anchor": "Tensor",
    "antialias": "_bool",
    "attn_mask": "Tensor",
    "average_attn_weights": "_bool",
    "beta": "_float",
    "bias": "Tensor",
    "bias_k": "Tensor",
    "bias_v": "Tensor",
    "blank": "_int",
    "ceil_mode": "_bool",
    "delta": "_float",
    "dilation": "_int | Sequence[_int]",
    "dim": "_int",
    "distance_function": "Callable[[Tensor, Tensor], Tensor]",
    "downscale_factor": "_int",
    "dropout_p": "_float",
    "dtype": "_dtype",
    "embed_dim_to_check": "_int",
    "eps": "_float",
    "full": "_bool",
    "grid": "Tensor",
    "groups": "_int",
    "hard": "_bool",
    "ignore_index": "_int",
    "in_proj_bias": "Tensor",
    "in_proj_weight": "Tensor",
    "include_last_offset": "_bool",
    "indices": "Tensor",
    "inplace": "_bool",
    "input": "Tensor",
    "input1": "Tensor",
    "input2": "Tensor",
    "input_lengths": "Tensor | Sequence[_int]",
    "is_causal": "_bool",
    "k": "_float",
    "k_proj_weight": "Tensor",
    "keepdim": "_bool",
    "kernel_size": "_int | Sequence[_int]",
    "key": "Tensor",
    "key_padding_mask": "Tensor",
    "label_smoothing": "_float",
    "linear_bias": "Tensor",
    "linear_weight": "Tensor",
    "log_input": "_bool",
    "log_probs": "Tensor",
    "log_target": "_bool",
    "logits": "Tensor",
    "lower": "_float",
    "margin": "_float",
    "max_norm": "_float",
    "max_val": "_float",
    "min_val": "_float",
    "mode": "str",
    "momentum": "_float",
    "need_weights": "_bool",
    "negative": "Tensor",
    "negative_slope": "_float",
    "norm_type": "_float",
    "num_classes": "_int",
    "num_groups": "_int",
    "num_heads": "_int",
    "offsets": "Tensor",
    "options": "Any",
    "out": "Tensor",
    "out_proj_bias": "Tensor",
    "out_proj_weight": "Tensor",
    "output_ratio": "_float | Sequence[_float]",
    "output_size": "_int | Sequence[_int]",
    "p": "_float",
    "pad": "Sequence[_int]",
    "padding": "_int | Sequence[_int]",
    "padding_idx": "_int",
    "padding_mode": "str",
    "per_sample_weights": "Tensor",
    "pos_weight": "Tensor",
    "positive": "Tensor",
    "q_proj_weight": "Tensor",
    "query": "Tensor",
    "recompute_scale_factor": "_bool",
    "reduce": "_bool",
    "reduction": "str",
    "return_indices": "_bool",
    "running_mean": "Tensor",
    "running_var": "Tensor",
    "scale_factor": "_float | Sequence[_float]",
    "scale_grad_by_freq": "_bool",
    "size": "_int | Sequence[_int]",
    "size_average": "_bool",
    "sparse": "_bool",
    "static_k": "Tensor",
    "static_v": "Tensor",
    "stride": "_int | Sequence[_int]",
    "swap": "_bool",
    "target": "Tensor",
    "target_lengths": "Tensor | Sequence[_int]",
    "targets": "Tensor",
    "tau": "_float",
    "tensor": "Tensor",
    "theta": "Tensor",
    "threshold": "_float",
    "training": "_bool",
    "upper": "_float",
    "upscale_factor": "_int",
    "use_input_stats": "_bool",
    "use_separate_proj_weight": "_bool",
    "v_proj_weight": "Tensor",
    "value": "_float",
    "var": "Tensor | _float",
    "weight": "Tensor",
    "x1": "Tensor",
    "x2": "Tensor",
    "zero_infinity": "_bool",
}
# Where a name means something else in one function, and results that are not one tensor.
SPECIAL_PARAMETERS = {
    **{
        (f"adaptive_{kind}_pool{n}d", "output_size"): "_int | Sequence[_int | None]"
        for kind in ("avg", "max")
        for n in (2, 3)
    },
    ("batch_norm", "running_mean"): "Tensor | None",
    ("batch_norm", "running_var"): "Tensor | None",
    ("multi_head_attention_forward", "bias_k"): "Tensor | None",
    ("multi_head_attention_forward", "bias_v"): "Tensor | None",
    ("multi_head_attention_forward", "in_proj_bias"): "Tensor | None",
    ("multi_head_attention_forward", "in_proj_weight"): "Tensor | None",
    ("multi_head_attention_forward", "out_proj_bias"): "Tensor | None",
    ("multi_head_attention_forward", "value"): "Tensor",
}
RESULTS = {
    "multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
    **{
        f"{kind}max_pool{n}d_with_indices": "tuple[Tensor, Tensor]"
        for kind in ("", "adaptive_", "fractional_")
        for n in (1, 2, 3)
    },
}

OPS_HEAD = """# Ops

Written by `tools/make_stubs.py` from the op registry; run `make stubs` after a change. One row per
definition, by family: the file is `mindtorch/ops/definitions/<family>.cpp`. In-place, `out=` and
functional forms, and other names of the same op, are named in the first column. `Operand` is a
tensor or a Python number. Views and composites run wherever the ops they are made of run. Dtypes
are those of the op's cases in `tests/ops/cases/`, which the tests go through on every device; a row
without any has no case of its own.
"""

FUNCTIONS_HEAD = """
## Functions of numbers

What pointwise ops apply to each element, from `mindtorch/ops/functions/`. `a`, `b`, `c` are the
operands, `p0`, `p1`, `p2` the op's numbers (`mindtorch/ops/pointwise.h` says which), and
`where(x, y, z)` is `y` where `x` holds, else `z`. A gradient is what the backward pass adds for an
operand, given `g`, the gradient of the result, and `r`, the result. Other dtypes than those named
are refused on every device.

| function | dtypes | value | gradients |
| --- | --- | --- | --- |
"""
