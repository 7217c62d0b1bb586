# Written by tools/make_stubs.py: run `make stubs` after a change.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,misc"
import builtins
from collections.abc import Sequence
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any, TypeAlias, overload

from mindtorch_v2 import _VF as _VF
from mindtorch_v2 import __config__ as __config__
from mindtorch_v2 import _dynamo as _dynamo
from mindtorch_v2 import _higher_order_ops as _higher_order_ops
from mindtorch_v2 import _subclasses as _subclasses
from mindtorch_v2 import accelerator as accelerator
from mindtorch_v2 import amp as amp
from mindtorch_v2 import ao as ao
from mindtorch_v2 import autograd as autograd
from mindtorch_v2 import backends as backends
from mindtorch_v2 import compiler as compiler
from mindtorch_v2 import cpu as cpu
from mindtorch_v2 import cuda as cuda
from mindtorch_v2 import distributed as distributed
from mindtorch_v2 import distributions as distributions
from mindtorch_v2 import fft as fft
from mindtorch_v2 import func as func
from mindtorch_v2 import functional as functional
from mindtorch_v2 import futures as futures
from mindtorch_v2 import fx as fx
from mindtorch_v2 import hub as hub
from mindtorch_v2 import jit as jit
from mindtorch_v2 import library as library
from mindtorch_v2 import linalg as linalg
from mindtorch_v2 import memory as memory
from mindtorch_v2 import multiprocessing as multiprocessing
from mindtorch_v2 import nn as nn
from mindtorch_v2 import npu as npu
from mindtorch_v2 import onnx as onnx
from mindtorch_v2 import ops as ops
from mindtorch_v2 import optim as optim
from mindtorch_v2 import options as options
from mindtorch_v2 import overrides as overrides
from mindtorch_v2 import profiler as profiler
from mindtorch_v2 import quasirandom as quasirandom
from mindtorch_v2 import random as random
from mindtorch_v2 import return_types as return_types
from mindtorch_v2 import serialization as serialization
from mindtorch_v2 import signal as signal
from mindtorch_v2 import sparse as sparse
from mindtorch_v2 import special as special
from mindtorch_v2 import storage as storage
from mindtorch_v2 import testing as testing
from mindtorch_v2 import torch_npu as torch_npu
from mindtorch_v2 import torch_version as torch_version
from mindtorch_v2 import types as types
from mindtorch_v2 import utils as utils
from mindtorch_v2 import version as version
from mindtorch_v2 import xpu as xpu
from mindtorch_v2._array_functions import conj_physical_ as conj_physical_
from mindtorch_v2._array_functions import detach_ as detach_
from mindtorch_v2._array_functions import frexp as frexp
from mindtorch_v2._array_functions import index_reduce as index_reduce
from mindtorch_v2._array_functions import ldexp as ldexp
from mindtorch_v2._array_functions import ldexp_ as ldexp_
from mindtorch_v2._array_functions import mvlgamma as mvlgamma
from mindtorch_v2._array_functions import nonzero_static as nonzero_static
from mindtorch_v2._array_functions import renorm as renorm
from mindtorch_v2._array_functions import resize_as_ as resize_as_
from mindtorch_v2._array_functions import segment_reduce as segment_reduce
from mindtorch_v2._array_functions import unravel_index as unravel_index
from mindtorch_v2._C import AcceleratorError as AcceleratorError
from mindtorch_v2._C import Generator as Generator
from mindtorch_v2._C import OutOfMemoryError as OutOfMemoryError
from mindtorch_v2._C import Size as Size
from mindtorch_v2._C import Tensor as Tensor
from mindtorch_v2._C import UntypedStorage as UntypedStorage
from mindtorch_v2._C import as_tensor as as_tensor
from mindtorch_v2._C import asarray as asarray
from mindtorch_v2._C import autocast_decrement_nesting as autocast_decrement_nesting
from mindtorch_v2._C import autocast_increment_nesting as autocast_increment_nesting
from mindtorch_v2._C import bfloat16 as bfloat16
from mindtorch_v2._C import bool as bool
from mindtorch_v2._C import can_cast as can_cast
from mindtorch_v2._C import channels_last as channels_last
from mindtorch_v2._C import channels_last_3d as channels_last_3d
from mindtorch_v2._C import clear_autocast_cache as clear_autocast_cache
from mindtorch_v2._C import complex32 as complex32
from mindtorch_v2._C import complex64 as complex64
from mindtorch_v2._C import complex128 as complex128
from mindtorch_v2._C import contiguous_format as contiguous_format
from mindtorch_v2._C import device as device
from mindtorch_v2._C import dtype as dtype
from mindtorch_v2._C import float8_e4m3fn as float8_e4m3fn
from mindtorch_v2._C import float8_e4m3fnuz as float8_e4m3fnuz
from mindtorch_v2._C import float8_e5m2 as float8_e5m2
from mindtorch_v2._C import float8_e5m2fnuz as float8_e5m2fnuz
from mindtorch_v2._C import float8_e8m0fnu as float8_e8m0fnu
from mindtorch_v2._C import float16 as float16
from mindtorch_v2._C import float32 as float32
from mindtorch_v2._C import float64 as float64
from mindtorch_v2._C import from_dlpack as from_dlpack
from mindtorch_v2._C import from_numpy as from_numpy
from mindtorch_v2._C import frombuffer as frombuffer
from mindtorch_v2._C import get_default_dtype as get_default_dtype
from mindtorch_v2._C import get_num_threads as get_num_threads
from mindtorch_v2._C import int8 as int8
from mindtorch_v2._C import int16 as int16
from mindtorch_v2._C import int32 as int32
from mindtorch_v2._C import int64 as int64
from mindtorch_v2._C import is_autocast_cache_enabled as is_autocast_cache_enabled
from mindtorch_v2._C import layout as layout
from mindtorch_v2._C import memory_format as memory_format
from mindtorch_v2._C import preserve_format as preserve_format
from mindtorch_v2._C import promote_types as promote_types
from mindtorch_v2._C import result_type as result_type
from mindtorch_v2._C import set_autocast_cache_enabled as set_autocast_cache_enabled
from mindtorch_v2._C import set_default_dtype as set_default_dtype
from mindtorch_v2._C import set_num_threads as set_num_threads
from mindtorch_v2._C import sparse_bsc as sparse_bsc
from mindtorch_v2._C import sparse_bsr as sparse_bsr
from mindtorch_v2._C import sparse_coo as sparse_coo
from mindtorch_v2._C import sparse_csc as sparse_csc
from mindtorch_v2._C import sparse_csr as sparse_csr
from mindtorch_v2._C import strided as strided
from mindtorch_v2._C import tensor as tensor
from mindtorch_v2._C import to_dlpack as to_dlpack
from mindtorch_v2._C import uint8 as uint8
from mindtorch_v2._C import uint16 as uint16
from mindtorch_v2._C import uint32 as uint32
from mindtorch_v2._C import uint64 as uint64
from mindtorch_v2._checks import _assert as _assert
from mindtorch_v2._checks import _check as _check
from mindtorch_v2._checks import _check_index as _check_index
from mindtorch_v2._checks import _check_is_size as _check_is_size
from mindtorch_v2._checks import _check_not_implemented as _check_not_implemented
from mindtorch_v2._checks import _check_type as _check_type
from mindtorch_v2._checks import _check_value as _check_value
from mindtorch_v2._control_flow import cond as cond
from mindtorch_v2._control_flow import while_loop as while_loop
from mindtorch_v2._device_context import get_default_device as get_default_device
from mindtorch_v2._device_context import set_default_device as set_default_device
from mindtorch_v2._file_reader import PyTorchFileReader as PyTorchFileReader
from mindtorch_v2._grad_mode import enable_grad as enable_grad
from mindtorch_v2._grad_mode import inference_mode as inference_mode
from mindtorch_v2._grad_mode import is_grad_enabled as is_grad_enabled
from mindtorch_v2._grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from mindtorch_v2._grad_mode import no_grad as no_grad
from mindtorch_v2._grad_mode import set_grad_enabled as set_grad_enabled
from mindtorch_v2._install import install_as_torch as install_as_torch
from mindtorch_v2._integration import cumulative_trapezoid as cumulative_trapezoid
from mindtorch_v2._integration import gradient as gradient
from mindtorch_v2._integration import trapezoid as trapezoid
from mindtorch_v2._integration import trapz as trapz
from mindtorch_v2._introspection import get_device as get_device
from mindtorch_v2._introspection import get_device_module as get_device_module
from mindtorch_v2._introspection import get_num_interop_threads as get_num_interop_threads
from mindtorch_v2._introspection import is_complex as is_complex
from mindtorch_v2._introspection import is_conj as is_conj
from mindtorch_v2._introspection import is_floating_point as is_floating_point
from mindtorch_v2._introspection import is_inference as is_inference
from mindtorch_v2._introspection import is_neg as is_neg
from mindtorch_v2._introspection import is_nonzero as is_nonzero
from mindtorch_v2._introspection import is_same_size as is_same_size
from mindtorch_v2._introspection import is_signed as is_signed
from mindtorch_v2._introspection import is_storage as is_storage
from mindtorch_v2._introspection import is_tensor as is_tensor
from mindtorch_v2._introspection import numel as numel
from mindtorch_v2._introspection import set_flush_denormal as set_flush_denormal
from mindtorch_v2._introspection import set_num_interop_threads as set_num_interop_threads
from mindtorch_v2._introspection import typename as typename
from mindtorch_v2._library.tags import Tag as Tag
from mindtorch_v2._lobpcg import lobpcg as lobpcg
from mindtorch_v2._lowrank import lu as lu
from mindtorch_v2._lowrank import pca_lowrank as pca_lowrank
from mindtorch_v2._lowrank import svd_lowrank as svd_lowrank
from mindtorch_v2._math_settings import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from mindtorch_v2._math_settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from mindtorch_v2._math_settings import get_float32_matmul_precision as get_float32_matmul_precision
from mindtorch_v2._math_settings import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from mindtorch_v2._math_settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from mindtorch_v2._math_settings import set_float32_matmul_precision as set_float32_matmul_precision
from mindtorch_v2._math_settings import use_deterministic_algorithms as use_deterministic_algorithms
from mindtorch_v2._nn_ops import batch_norm as batch_norm
from mindtorch_v2._nn_ops import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from mindtorch_v2._nn_ops import cosine_embedding_loss as cosine_embedding_loss
from mindtorch_v2._nn_ops import group_norm as group_norm
from mindtorch_v2._nn_ops import hinge_embedding_loss as hinge_embedding_loss
from mindtorch_v2._nn_ops import instance_norm as instance_norm
from mindtorch_v2._nn_ops import kl_div as kl_div
from mindtorch_v2._nn_ops import margin_ranking_loss as margin_ranking_loss
from mindtorch_v2._nn_ops import poisson_nll_loss as poisson_nll_loss
from mindtorch_v2._nn_ops import triplet_margin_loss as triplet_margin_loss
from mindtorch_v2._pipeline import current_pipeline as current_pipeline
from mindtorch_v2._pipeline import get_pipeline_config as get_pipeline_config
from mindtorch_v2._pipeline import pipeline as pipeline
from mindtorch_v2._pipeline import pipeline_config as pipeline_config
from mindtorch_v2._pipeline import pipeline_context as pipeline_context
from mindtorch_v2._serialization import load as load
from mindtorch_v2._serialization import save as save
from mindtorch_v2._statistics import corrcoef as corrcoef
from mindtorch_v2._statistics import cov as cov
from mindtorch_v2._statistics import histogram as histogram
from mindtorch_v2._statistics import histogramdd as histogramdd
from mindtorch_v2._statistics import nanquantile as nanquantile
from mindtorch_v2._statistics import quantile as quantile
from mindtorch_v2._streams import Event as Event
from mindtorch_v2._streams import Stream as Stream
from mindtorch_v2._symbolic import SymBool as SymBool
from mindtorch_v2._symbolic import SymFloat as SymFloat
from mindtorch_v2._symbolic import SymInt as SymInt
from mindtorch_v2._symbolic import sym_float as sym_float
from mindtorch_v2._symbolic import sym_int as sym_int
from mindtorch_v2._symbolic import sym_ite as sym_ite
from mindtorch_v2._symbolic import sym_max as sym_max
from mindtorch_v2._symbolic import sym_min as sym_min
from mindtorch_v2._symbolic import sym_not as sym_not
from mindtorch_v2._symbolic import sym_sqrt as sym_sqrt
from mindtorch_v2._symbolic import sym_sum as sym_sum
from mindtorch_v2._tensor_str import get_printoptions as get_printoptions
from mindtorch_v2._tensor_str import set_printoptions as set_printoptions
from mindtorch_v2._type_info import finfo as finfo
from mindtorch_v2._type_info import iinfo as iinfo
from mindtorch_v2._view_copies import alias_copy as alias_copy
from mindtorch_v2._view_copies import as_strided_copy as as_strided_copy
from mindtorch_v2._view_copies import detach_copy as detach_copy
from mindtorch_v2._view_copies import diagonal_copy as diagonal_copy
from mindtorch_v2._view_copies import expand_copy as expand_copy
from mindtorch_v2._view_copies import permute_copy as permute_copy
from mindtorch_v2._view_copies import select_copy as select_copy
from mindtorch_v2._view_copies import slice_copy as slice_copy
from mindtorch_v2._view_copies import split_copy as split_copy
from mindtorch_v2._view_copies import split_with_sizes_copy as split_with_sizes_copy
from mindtorch_v2._view_copies import squeeze_copy as squeeze_copy
from mindtorch_v2._view_copies import t_copy as t_copy
from mindtorch_v2._view_copies import transpose_copy as transpose_copy
from mindtorch_v2._view_copies import unbind_copy as unbind_copy
from mindtorch_v2._view_copies import unfold_copy as unfold_copy
from mindtorch_v2._view_copies import unsafe_chunk as unsafe_chunk
from mindtorch_v2._view_copies import unsafe_split as unsafe_split
from mindtorch_v2._view_copies import unsafe_split_with_sizes as unsafe_split_with_sizes
from mindtorch_v2._view_copies import unsqueeze_copy as unsqueeze_copy
from mindtorch_v2._view_copies import view_copy as view_copy
from mindtorch_v2._windows import bartlett_window as bartlett_window
from mindtorch_v2._windows import blackman_window as blackman_window
from mindtorch_v2._windows import hamming_window as hamming_window
from mindtorch_v2._windows import hann_window as hann_window
from mindtorch_v2._windows import kaiser_window as kaiser_window
from mindtorch_v2.amp._state import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from mindtorch_v2.amp._state import get_autocast_dtype as get_autocast_dtype
from mindtorch_v2.amp._state import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from mindtorch_v2.amp._state import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from mindtorch_v2.amp._state import is_autocast_enabled as is_autocast_enabled
from mindtorch_v2.amp._state import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from mindtorch_v2.amp._state import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from mindtorch_v2.amp._state import set_autocast_dtype as set_autocast_dtype
from mindtorch_v2.amp._state import set_autocast_enabled as set_autocast_enabled
from mindtorch_v2.amp._state import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from mindtorch_v2.amp.autocast_mode import autocast as autocast
from mindtorch_v2.amp.grad_scaler import GradScaler as GradScaler
from mindtorch_v2.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from mindtorch_v2.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from mindtorch_v2.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from mindtorch_v2.compiler import compile as compile
from mindtorch_v2.func._vmap import vmap as vmap
from mindtorch_v2.functional import broadcast_shapes as broadcast_shapes
from mindtorch_v2.functional import cdist as cdist
from mindtorch_v2.functional import nonzero as nonzero
from mindtorch_v2.functional import norm as norm
from mindtorch_v2.functional import prelu as prelu
from mindtorch_v2.functional import stft as stft
from mindtorch_v2.functional import tensordot as tensordot
from mindtorch_v2.functional import unique as unique
from mindtorch_v2.functional import unique_consecutive as unique_consecutive
from mindtorch_v2.futures import Future as Future
from mindtorch_v2.jit import ScriptFunction as ScriptFunction
from mindtorch_v2.jit import ScriptModule as ScriptModule
from mindtorch_v2.jit.annotations import DeviceObjType as DeviceObjType
from mindtorch_v2.jit.annotations import TensorType as TensorType
from mindtorch_v2.nn._scaled_products import _scaled_mm as _scaled_mm
from mindtorch_v2.nn.functional import bilinear as bilinear
from mindtorch_v2.nn.functional import cosine_similarity as cosine_similarity
from mindtorch_v2.nn.functional import pairwise_distance as pairwise_distance
from mindtorch_v2.nn.functional import pdist as pdist
from mindtorch_v2.random import default_generator as default_generator
from mindtorch_v2.random import get_rng_state as get_rng_state
from mindtorch_v2.random import initial_seed as initial_seed
from mindtorch_v2.random import manual_seed as manual_seed
from mindtorch_v2.random import seed as seed
from mindtorch_v2.random import set_rng_state as set_rng_state
from mindtorch_v2.sparse._create import sparse_bsc_tensor as sparse_bsc_tensor
from mindtorch_v2.sparse._create import sparse_bsr_tensor as sparse_bsr_tensor
from mindtorch_v2.sparse._create import sparse_compressed_tensor as sparse_compressed_tensor
from mindtorch_v2.sparse._create import sparse_coo_tensor as sparse_coo_tensor
from mindtorch_v2.sparse._create import sparse_csc_tensor as sparse_csc_tensor
from mindtorch_v2.sparse._create import sparse_csr_tensor as sparse_csr_tensor
from mindtorch_v2.sparse._products import dsmm as dsmm
from mindtorch_v2.sparse._products import hsmm as hsmm
from mindtorch_v2.sparse._products import hspmm as hspmm
from mindtorch_v2.sparse._products import saddmm as saddmm
from mindtorch_v2.sparse._products import smm as smm
from mindtorch_v2.sparse._products import spmm as spmm
from mindtorch_v2.sparse._products import sspaddmm as sspaddmm
from mindtorch_v2.storage import TypedStorage as TypedStorage
from mindtorch_v2.version import __version__ as __version__

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool

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

def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> Sequence[Tensor]: ...
def _amp_update_scale_(
    input: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: _float,
    scale_backoff_factor: _float,
    growth_interval: _int,
) -> Tensor: ...
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor: ...
def _fft_c2c(
    input: Tensor,
    dim: Sequence[_int],
    normalization: _int,
    forward: _bool,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def _fft_c2r(
    input: Tensor,
    dim: Sequence[_int],
    normalization: _int,
    last_dim_size: _int,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def _fft_r2c(
    input: Tensor,
    dim: Sequence[_int],
    normalization: _int,
    onesided: _bool,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def _foreach_abs(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_abs_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_acos(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_acos_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_add(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_add(
    self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Number = 1
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_add(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_add(
    self: Sequence[Tensor], other: Tensor, *, alpha: _Number = 1
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_add_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_add_(
    self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Number = 1
) -> Sequence[Tensor]: ...
@overload
def _foreach_add_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_add_(
    self: Sequence[Tensor], other: Tensor, *, alpha: _Number = 1
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcdiv(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Number = 1
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcdiv(
    self: Sequence[Tensor],
    tensor1: Sequence[Tensor],
    tensor2: Sequence[Tensor],
    scalars: Sequence[_Number],
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcdiv(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcdiv_(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Number = 1
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcdiv_(
    self: Sequence[Tensor],
    tensor1: Sequence[Tensor],
    tensor2: Sequence[Tensor],
    scalars: Sequence[_Number],
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcdiv_(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcmul(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Number = 1
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcmul(
    self: Sequence[Tensor],
    tensor1: Sequence[Tensor],
    tensor2: Sequence[Tensor],
    scalars: Sequence[_Number],
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcmul(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_addcmul_(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Number = 1
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcmul_(
    self: Sequence[Tensor],
    tensor1: Sequence[Tensor],
    tensor2: Sequence[Tensor],
    scalars: Sequence[_Number],
) -> Sequence[Tensor]: ...
@overload
def _foreach_addcmul_(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> Sequence[Tensor]: ...
def _foreach_asin(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_asin_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_atan(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_atan_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_ceil(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_ceil_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_max(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_max(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_max(
    self: Sequence[Tensor], scalars: Sequence[_Number]
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_min(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_min(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_min(
    self: Sequence[Tensor], scalars: Sequence[_Number]
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
def _foreach_clone(
    self: Sequence[Tensor], *, memory_format: _memory_format | None = None
) -> tuple[Tensor, ...]: ...
def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: _bool = False
) -> Sequence[Tensor]: ...
def _foreach_cos(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_cos_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_cosh(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_cosh_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_div(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_div(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_div(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_div(self: Sequence[Tensor], other: Tensor) -> tuple[Tensor, ...]: ...
@overload
def _foreach_div_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_div_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_div_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_div_(self: Sequence[Tensor], other: Tensor) -> Sequence[Tensor]: ...
def _foreach_erf(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_erf_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_erfc(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_erfc_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_exp(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_exp_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_expm1(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_expm1_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_floor(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_floor_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_frac(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_frac_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_lerp(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_lerp(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Number
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_lerp(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Number]
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_lerp_(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]
) -> Sequence[Tensor]: ...
@overload
def _foreach_lerp_(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Number
) -> Sequence[Tensor]: ...
@overload
def _foreach_lerp_(
    self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Number]
) -> Sequence[Tensor]: ...
def _foreach_lgamma(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_lgamma_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_log(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_log10(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_log10_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_log1p(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_log1p_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_log2(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_log2_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_log_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_max(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_maximum(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_maximum(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_maximum(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_maximum_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_maximum_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_maximum_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_minimum(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_minimum(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_minimum(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_minimum_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_minimum_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_minimum_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_mul(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_mul(self: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_mul(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_mul(self: Sequence[Tensor], other: Tensor) -> tuple[Tensor, ...]: ...
@overload
def _foreach_mul_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_mul_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_mul_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
@overload
def _foreach_mul_(self: Sequence[Tensor], other: Tensor) -> Sequence[Tensor]: ...
def _foreach_neg(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_neg_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_norm(
    self: Sequence[Tensor], ord: _Number = 2, dtype: _dtype | None = None
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_pow(input: _Number, exponent: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: Sequence[_Number]) -> Sequence[Tensor]: ...
def _foreach_reciprocal(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_reciprocal_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_round(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_round_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_rsqrt(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_rsqrt_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_sigmoid(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_sigmoid_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_sign(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_sign_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_sin(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_sin_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_sinh(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_sinh_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_sqrt(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_sqrt_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _foreach_sub(self: Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]: ...
@overload
def _foreach_sub(
    self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Number = 1
) -> tuple[Tensor, ...]: ...
@overload
def _foreach_sub(self: Sequence[Tensor], scalars: Sequence[_Number]) -> tuple[Tensor, ...]: ...
@overload
def _foreach_sub_(self: Sequence[Tensor], scalar: _Number) -> Sequence[Tensor]: ...
@overload
def _foreach_sub_(
    self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Number = 1
) -> Sequence[Tensor]: ...
@overload
def _foreach_sub_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Sequence[Tensor]: ...
def _foreach_tan(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_tan_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_tanh(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_tanh_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_trunc(self: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def _foreach_trunc_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
def _foreach_zero_(self: Sequence[Tensor]) -> Sequence[Tensor]: ...
@overload
def _fused_adagrad_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: _float,
    lr_decay: _float,
    weight_decay: _float,
    eps: _float,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_adagrad_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: Tensor,
    lr_decay: _float,
    weight_decay: _float,
    eps: _float,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_adam_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: _float,
    beta1: _float,
    beta2: _float,
    weight_decay: _float,
    eps: _float,
    amsgrad: _bool,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_adam_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: Tensor,
    beta1: _float,
    beta2: _float,
    weight_decay: _float,
    eps: _float,
    amsgrad: _bool,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_adamw_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: _float,
    beta1: _float,
    beta2: _float,
    weight_decay: _float,
    eps: _float,
    amsgrad: _bool,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_adamw_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: Tensor,
    beta1: _float,
    beta2: _float,
    weight_decay: _float,
    eps: _float,
    amsgrad: _bool,
    maximize: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_sgd_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    *,
    weight_decay: _float,
    momentum: _float,
    lr: _float,
    dampening: _float,
    nesterov: _bool,
    maximize: _bool,
    is_first_step: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
@overload
def _fused_sgd_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    *,
    weight_decay: _float,
    momentum: _float,
    lr: Tensor,
    dampening: _float,
    nesterov: _bool,
    maximize: _bool,
    is_first_step: _bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Sequence[Tensor]: ...
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor: ...
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor: ...
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor: ...
def _tensordot(
    input: Tensor, other: Tensor, dims_self: Sequence[_int], dims_other: Sequence[_int]
) -> Tensor: ...
def _unique2(
    input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False
) -> tuple[Tensor, Tensor, Tensor]: ...
def _unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def abs_(input: Tensor) -> Tensor: ...
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def absolute_(input: Tensor) -> Tensor: ...
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acos_(input: Tensor) -> Tensor: ...
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acosh_(input: Tensor) -> Tensor: ...
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor: ...
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int]
) -> tuple[Tensor, Tensor]: ...
def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def add_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addbmm_(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor: ...
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor: ...
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor: ...
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addmm_(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor: ...
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addmv_(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor: ...
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def addr_(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor: ...
def adjoint(input: Tensor) -> Tensor: ...
def all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool: ...
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def amax(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def amin(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.aminmax: ...
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def any(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def arange(
    end: _Number,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def arange(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccos_(input: Tensor) -> Tensor: ...
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccosh_(input: Tensor) -> Tensor: ...
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsin_(input: Tensor) -> Tensor: ...
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsinh_(input: Tensor) -> Tensor: ...
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctan2_(input: Tensor, other: Tensor) -> Tensor: ...
def arctan_(input: Tensor) -> Tensor: ...
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctanh_(input: Tensor) -> Tensor: ...
def argmax(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def argmin(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False) -> Tensor: ...
@overload
def argsort(
    input: Tensor, *, stable: _bool, dim: _int = -1, descending: _bool = False
) -> Tensor: ...
def argwhere(input: Tensor) -> Tensor: ...
def as_strided(
    input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
) -> Tensor: ...
def as_strided_(
    input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
) -> Tensor: ...
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor: ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asin_(input: Tensor) -> Tensor: ...
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asinh_(input: Tensor) -> Tensor: ...
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atan2_(input: Tensor, other: Tensor) -> Tensor: ...
def atan_(input: Tensor) -> Tensor: ...
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atanh_(input: Tensor) -> Tensor: ...
@overload
def atleast_1d(input: Tensor) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor: ...
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def baddbmm_(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor: ...
@overload
def bernoulli(
    input: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor: ...
@overload
def bernoulli(input: Tensor, p: _float, *, generator: Generator | None = None) -> Tensor: ...
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor: ...
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor: ...
def bitwise_and(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def bitwise_and_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def bitwise_left_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def bitwise_left_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_not_(input: Tensor) -> Tensor: ...
def bitwise_or(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def bitwise_or_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def bitwise_right_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def bitwise_right_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def bitwise_xor(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def bitwise_xor_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def block_diag(tensors: Sequence[Tensor]) -> Tensor: ...
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor: ...
def bucketize(
    input: Tensor | _Number,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor: ...
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ceil_(input: Tensor) -> Tensor: ...
def celu(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
@overload
def chain_matmul(matrices: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def cholesky_inverse(
    input: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def cholesky_solve(
    input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def clamp(
    input: Tensor,
    min: _Number | None = None,
    max: _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clamp(
    input: Tensor,
    min: Tensor | None = None,
    max: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clamp_(input: Tensor, min: _Number | None = None, max: _Number | None = None) -> Tensor: ...
@overload
def clamp_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
@overload
def clamp_max(input: Tensor, max: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_max(input: Tensor, max: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_max_(input: Tensor, max: _Number) -> Tensor: ...
@overload
def clamp_max_(input: Tensor, max: Tensor) -> Tensor: ...
@overload
def clamp_min(input: Tensor, min: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_min(input: Tensor, min: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def clamp_min_(input: Tensor, min: _Number) -> Tensor: ...
@overload
def clamp_min_(input: Tensor, min: Tensor) -> Tensor: ...
@overload
def clip(
    input: Tensor,
    min: _Number | None = None,
    max: _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clip(
    input: Tensor,
    min: Tensor | None = None,
    max: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clip_(input: Tensor, min: _Number | None = None, max: _Number | None = None) -> Tensor: ...
@overload
def clip_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor: ...
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None
) -> Tensor: ...
def conj(input: Tensor) -> Tensor: ...
def conj_physical(input: Tensor) -> Tensor: ...
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _Number = 0) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[_int],
    padding: Sequence[_int],
    dilation: Sequence[_int],
    transposed: _bool,
    output_padding: Sequence[_int],
    groups: _int,
) -> Tensor: ...
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def copysign_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cos_(input: Tensor) -> Tensor: ...
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cosh_(input: Tensor) -> Tensor: ...
@overload
def count_nonzero(input: Tensor, dim: _int | None = None) -> Tensor: ...
@overload
def count_nonzero(input: Tensor, dim: Sequence[_int]) -> Tensor: ...
def cross(
    input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[_int],
    target_lengths: Sequence[_int],
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor: ...
@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor: ...
def cummax(
    input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None
) -> return_types.cummax: ...
def cummin(
    input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = None
) -> return_types.cummin: ...
def cumprod(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor: ...
def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
def cumsum(
    input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor: ...
def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def deg2rad_(input: Tensor) -> Tensor: ...
def det(input: Tensor) -> Tensor: ...
def detach(input: Tensor) -> Tensor: ...
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def diagflat(input: Tensor, offset: _int = 0) -> Tensor: ...
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: ...
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor: ...
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor: ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def digamma_(input: Tensor) -> Tensor: ...
def dist(input: Tensor, other: Tensor, p: _Number = 2) -> Tensor: ...
@overload
def div(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: str | None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def div_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def div_(
    input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: str | None
) -> Tensor: ...
@overload
def divide(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: str | None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def divide_(
    input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: str | None
) -> Tensor: ...
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def einsum(equation: str, tensors: Sequence[Tensor]) -> Tensor: ...
@overload
def einsum(equation: str, *tensors: Tensor) -> Tensor: ...
def elu_(
    input: Tensor, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1
) -> Tensor: ...
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor: ...
@overload
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
@overload
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool,
    mode: _int,
    sparse: _bool,
    per_sample_weights: Tensor | None,
    include_last_offset: _bool,
    padding_idx: _int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float
) -> Tensor: ...
@overload
def empty(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def empty(
    *size: _int,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def empty_strided(
    size: Sequence[_int],
    stride: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def eq_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def equal(input: Tensor, other: Tensor) -> _bool: ...
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erf_(input: Tensor) -> Tensor: ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erfc_(input: Tensor) -> Tensor: ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erfinv_(input: Tensor) -> Tensor: ...
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp2_(input: Tensor) -> Tensor: ...
def exp_(input: Tensor) -> Tensor: ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def expm1_(input: Tensor) -> Tensor: ...
@overload
def eye(
    n: _int,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def eye(
    n: _int,
    m: _int,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
@overload
def fill(input: Tensor, value: Tensor) -> Tensor: ...
@overload
def fill(input: Tensor, value: _Number) -> Tensor: ...
@overload
def fill_(input: Tensor, value: Tensor) -> Tensor: ...
@overload
def fill_(input: Tensor, value: _Number) -> Tensor: ...
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fix_(input: Tensor) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: ...
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def fliplr(input: Tensor) -> Tensor: ...
def flipud(input: Tensor) -> Tensor: ...
def float_power(
    input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def float_power_(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor: ...
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def floor_(input: Tensor) -> Tensor: ...
def floor_divide(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def floor_divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def fmod_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def frac_(input: Tensor) -> Tensor: ...
def full(
    size: Sequence[_int],
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def gcd_(input: Tensor, other: Tensor) -> Tensor: ...
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def ge_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def gelu_(input: Tensor, *, approximate: str = "none") -> Tensor: ...
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.geqrf: ...
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def greater_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def greater_equal(
    input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def greater_equal_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
@overload
def gru(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def gru(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def gt_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def hardsigmoid_(input: Tensor) -> Tensor: ...
def hardswish_(input: Tensor) -> Tensor: ...
def hardtanh_(input: Tensor, min_val: _Number = -1, max_val: _Number = 1) -> Tensor: ...
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def heaviside_(input: Tensor, values: Tensor) -> Tensor: ...
def histc(
    input: Tensor,
    bins: _int = 100,
    min: _Number = 0,
    max: _Number = 0,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def hypot_(input: Tensor, other: Tensor) -> Tensor: ...
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def i0_(input: Tensor) -> Tensor: ...
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def igamma_(input: Tensor, other: Tensor) -> Tensor: ...
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def igammac_(input: Tensor, other: Tensor) -> Tensor: ...
def imag(input: Tensor) -> Tensor: ...
def index_add(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1
) -> Tensor: ...
def index_add_(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1
) -> Tensor: ...
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor: ...
def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor: ...
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor: ...
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor: ...
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False
) -> Tensor: ...
def index_put_(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False
) -> Tensor: ...
def index_select(
    input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor: ...
def isfinite(input: Tensor) -> Tensor: ...
def isin(
    elements: Tensor | _Number,
    test_elements: Tensor | _Number,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def isinf(input: Tensor) -> Tensor: ...
def isnan(input: Tensor) -> Tensor: ...
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isreal(input: Tensor) -> Tensor: ...
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor: ...
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.kthvalue: ...
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor: ...
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def lcm_(input: Tensor, other: Tensor) -> Tensor: ...
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def le_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor: ...
@overload
def lerp(input: Tensor, end: Tensor, weight: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def lerp(input: Tensor, end: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def lerp_(input: Tensor, end: Tensor, weight: _Number) -> Tensor: ...
@overload
def lerp_(input: Tensor, end: Tensor, weight: Tensor) -> Tensor: ...
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def less_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def less_equal_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def lgamma_(input: Tensor) -> Tensor: ...
def linspace(
    start: _Number,
    end: _Number,
    steps: _int,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log10_(input: Tensor) -> Tensor: ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log1p_(input: Tensor) -> Tensor: ...
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log2_(input: Tensor) -> Tensor: ...
def log_(input: Tensor) -> Tensor: ...
def log_softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
def logdet(input: Tensor) -> Tensor: ...
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_and_(input: Tensor, other: Tensor) -> Tensor: ...
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_not_(input: Tensor) -> Tensor: ...
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_or_(input: Tensor, other: Tensor) -> Tensor: ...
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_xor_(input: Tensor, other: Tensor) -> Tensor: ...
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logit_(input: Tensor, eps: _float | None = None) -> Tensor: ...
def logspace(
    start: _Number,
    end: _Number,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def logsumexp(
    input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def lstm(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor, Tensor]: ...
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def lt_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor: ...
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.lu_unpack: ...
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor: ...
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(input: Tensor) -> Tensor: ...
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.max: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.median: ...
@overload
def meshgrid(tensors: Sequence[Tensor], *, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mish_(input: Tensor) -> Tensor: ...
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mode(
    input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.mode: ...
@overload
def moveaxis(input: Tensor, source: _int, destination: _int) -> Tensor: ...
@overload
def moveaxis(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor: ...
@overload
def movedim(input: Tensor, source: _int, destination: _int) -> Tensor: ...
@overload
def movedim(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor: ...
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mul(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def mul_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def multiply(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def multiply_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor: ...
def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor: ...
@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.nanmedian: ...
def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...
@overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int) -> Tensor: ...
def narrow_copy(
    input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None
) -> Tensor: ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def ne_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def neg_(input: Tensor) -> Tensor: ...
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def negative_(input: Tensor) -> Tensor: ...
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def nextafter_(input: Tensor, other: Tensor) -> Tensor: ...
@overload
def normal(
    mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor: ...
@overload
def normal(
    mean: Tensor,
    std: _float = 1.0,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def normal(
    mean: _float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor: ...
@overload
def normal(
    mean: _float,
    std: _float,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def not_equal_(input: Tensor, other: Tensor | _Number) -> Tensor: ...
@overload
def ones(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def ones(
    *size: _int,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor: ...
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def positive(input: Tensor) -> Tensor: ...
def pow(
    input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def pow_(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor: ...
def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: ...
def qr(
    input: Tensor, some: _bool = True, *, out: Sequence[Tensor] | None = None
) -> return_types.qr: ...
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rad2deg_(input: Tensor) -> Tensor: ...
@overload
def rand(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def rand(
    *size: _int,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randn(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def randn(
    *size: _int,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def range(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def ravel(input: Tensor) -> Tensor: ...
def real(input: Tensor) -> Tensor: ...
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def reciprocal_(input: Tensor) -> Tensor: ...
def relu(input: Tensor) -> Tensor: ...
def relu6_(input: Tensor) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def remainder(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def remainder_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor, repeats: Tensor, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor, repeats: _int, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor: ...
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor: ...
def resolve_conj(input: Tensor) -> Tensor: ...
def resolve_neg(input: Tensor) -> Tensor: ...
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor: ...
@overload
def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def rnn_relu(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
@overload
def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def rnn_tanh(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor: ...
def roll(
    input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] = ...
) -> Tensor: ...
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor: ...
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = None) -> Tensor: ...
@overload
def round_(input: Tensor) -> Tensor: ...
@overload
def round_(input: Tensor, *, decimals: _int) -> Tensor: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def rrelu(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
def rrelu_(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rsqrt_(input: Tensor) -> Tensor: ...
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
def scalar_tensor(
    s: _Number,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: str) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: str) -> Tensor: ...
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
def scatter_reduce(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
) -> Tensor: ...
def scatter_reduce_(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
) -> Tensor: ...
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _Number,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def select(input: Tensor, dim: _int, index: _int) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor: ...
def selu(input: Tensor) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sgn_(input: Tensor) -> Tensor: ...
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sigmoid_(input: Tensor) -> Tensor: ...
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sign_(input: Tensor) -> Tensor: ...
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def silu_(input: Tensor) -> Tensor: ...
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sin_(input: Tensor) -> Tensor: ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinc_(input: Tensor) -> Tensor: ...
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinh_(input: Tensor) -> Tensor: ...
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.slogdet: ...
def softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def sort(
    input: Tensor, dim: _int = -1, descending: _bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.sort: ...
@overload
def sort(
    input: Tensor,
    *,
    stable: _bool | None,
    dim: _int = -1,
    descending: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.sort: ...
@overload
def split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def split(input: Tensor, split_size: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]: ...
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sqrt_(input: Tensor) -> Tensor: ...
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def square_(input: Tensor) -> Tensor: ...
@overload
def squeeze(input: Tensor) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: _int) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: Sequence[_int]) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: _bool) -> Tensor: ...
@overload
def std(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool, keepdim: _bool = False
) -> Tensor: ...
@overload
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool, keepdim: _bool = False
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def sub_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
def subtract(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor: ...
def subtract_(
    input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1
) -> Tensor: ...
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def svd(
    input: Tensor,
    some: _bool = True,
    compute_uv: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.svd: ...
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor: ...
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def t(input: Tensor) -> Tensor: ...
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def take_along_dim(
    input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tan_(input: Tensor) -> Tensor: ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tanh_(input: Tensor) -> Tensor: ...
@overload
def tensor_split(
    input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = 0
) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def threshold(
    input: Tensor, threshold: _Number, value: _Number, *, out: Tensor | None = None
) -> Tensor: ...
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.topk: ...
def trace(input: Tensor) -> Tensor: ...
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.triangular_solve: ...
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def true_divide(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def true_divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def trunc_(input: Tensor) -> Tensor: ...
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor: ...
def unique_dim(
    input: Tensor,
    dim: _int,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
) -> tuple[Tensor, Tensor, Tensor]: ...
def unsqueeze(input: Tensor, dim: _int) -> Tensor: ...
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: _bool) -> Tensor: ...
@overload
def var(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool, keepdim: _bool = False
) -> Tensor: ...
@overload
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool, keepdim: _bool = False
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def view_as_complex(input: Tensor) -> Tensor: ...
def view_as_real(input: Tensor) -> Tensor: ...
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor,
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def xlogy(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
def zero_(input: Tensor) -> Tensor: ...
@overload
def zeros(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
@overload
def zeros(
    *size: _int,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _DeviceLike | None = None,
    memory_format: _memory_format | None = None,
    layout: _layout | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool | None = False,
) -> Tensor: ...

class FloatTensor(Tensor): ...
class FloatStorage(TypedStorage): ...
class DoubleTensor(Tensor): ...
class DoubleStorage(TypedStorage): ...
class HalfTensor(Tensor): ...
class HalfStorage(TypedStorage): ...
class BFloat16Tensor(Tensor): ...
class BFloat16Storage(TypedStorage): ...
class CharTensor(Tensor): ...
class CharStorage(TypedStorage): ...
class ShortTensor(Tensor): ...
class ShortStorage(TypedStorage): ...
class IntTensor(Tensor): ...
class IntStorage(TypedStorage): ...
class LongTensor(Tensor): ...
class LongStorage(TypedStorage): ...
class ByteTensor(Tensor): ...
class ByteStorage(TypedStorage): ...
class BoolTensor(Tensor): ...
class BoolStorage(TypedStorage): ...
