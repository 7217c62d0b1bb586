"""What a device's vendor library cannot compute: such a call must say so, and no other may fail."""

import re

from tests.ops import harness
from tests.ops.case import COMPLEX
from tests.support import library_devices

# Ops of CANN that take no float64.
NO_FLOAT64 = {
    "celu", "elu", "erfinv", "expm1", "gelu", "hardshrink", "hardsigmoid", "hardswish",
    "layer_norm", "leaky_relu", "logit", "logsigmoid", "mish", "nan_to_num", "prelu",
    "rms_norm", "selu", "sigmoid", "silu", "softplus", "softshrink", "tanh", "tanhshrink",
    "threshold",
}  # fmt: skip

# Products of matrices, which CANN has for these dtypes only; vectors and sums are another matter.
MATRIX_DTYPES = ("float16", "bfloat16", "float32")
MATRIX_PRODUCTS = {
    "addmm", "addmv", "baddbmm", "bmm", "inner", "mm", "mv", "scaled_dot_product_attention",
    "tensordot",
}  # fmt: skip

# Special functions that are loops, of which CANN has none.
SPECIAL = re.compile(r"igammac?|special_(zeta|airy_ai|bessel_[jy][01]|.*polynomial_.*)")

# Windows that move over images.
WINDOWS = re.compile(
    r"conv_tbc|convolution|(conv(_transpose)?|(adaptive_)?(avg|max)_pool|lp_pool)\dd"
)


# Decompositions that CANN lacks, and what is made of them.
DECOMPOSITIONS = {
    "geqrf", "linalg_cholesky", "linalg_eigvalsh", "linalg_lu", "linalg_lu_factor",
    "linalg_matrix_exp", "linalg_matrix_rank", "linalg_pinv", "linalg_solve", "linalg_svdvals",
    "linalg_tensorsolve", "pinverse",
}  # fmt: skip
OF_SINGULAR_VALUES = (2, -2, "nuc")

# Of Fourier transforms CANN has those of real lines to half spectra, along one dim.
FOURIER = re.compile(r"fft_i?[rh]?fft[2n]?")
FOURIER_OF_CANN = {"fft_rfft", "fft_ihfft"}

RECURRENT = re.compile(r"(lstm|gru|rnn_tanh|rnn_relu)(_cell)?")


def multiplies_matrices(case, sample):
    if case.name == "matmul":
        return any(len(tensor.shape) > 1 for tensor in sample.args)
    if case.name == "linear":
        tensors = [*sample.args, *sample.kwargs.values()]
        return any(len(tensor.shape) > 1 for tensor in tensors if tensor is not None)
    if case.name == "einsum":
        return "," in sample.args[0] and sample.args[0] != "i,j->ij"
    return case.name in MATRIX_PRODUCTS


# Functions of complex numbers that CANN lacks.
NO_COMPLEX = {
    "acos", "acosh", "addcdiv", "addcmul", "all", "any", "asin", "asinh", "atan", "atanh", "cosh",
    "exp2", "expm1", "isfinite", "isinf", "lerp", "linalg_vector_norm", "linspace", "log1p",
    "logical_not", "masked_select", "nonzero", "sigmoid", "sinc", "std", "tanh", "var", "vdot",
}  # fmt: skip


def decomposes(case, sample):
    if case.name in ("linalg_matrix_norm", "linalg_norm", "linalg_cond"):
        return len(sample.args) > 1 and sample.args[1] in OF_SINGULAR_VALUES
    return case.name in DECOMPOSITIONS


# Gradients made of what CANN lacks: transforms of complex numbers.
NO_GRADIENT = {"fft_ihfft", "fft_rfft"}


def lacks_gradient(case, device):
    """Whether the device refuses what the gradients of an op are made of."""
    return device.startswith("npu") and case.name in NO_GRADIENT


def is_unsupported(case, dtype, sample, device):
    """Whether the device refuses this call."""
    if device in library_devices.ALL:
        return library_devices.lacks(device, *harness.dtypes_of(case, sample, dtype))
    if not device.startswith("npu"):
        return False
    if FOURIER.fullmatch(case.name):
        return case.name not in FOURIER_OF_CANN or dtype == "float64"
    if dtype in COMPLEX:
        no_length = case.name == "abs" and dtype == "complex128"
        return case.name in NO_COMPLEX or no_length or multiplies_matrices(case, sample)
    if dtype == "float64" and case.name in NO_FLOAT64:
        return True
    if SPECIAL.fullmatch(case.name):
        return True
    if case.name == "special_polygamma":
        return sample.args[0] > 1
    if decomposes(case, sample):
        return True
    if case.name == "linalg_matrix_power" and dtype == "float64":
        return abs(sample.args[1]) > 1
    if dtype not in MATRIX_DTYPES and multiplies_matrices(case, sample):
        return True
    if dtype not in MATRIX_DTYPES and WINDOWS.fullmatch(case.name):
        return True
    if dtype not in MATRIX_DTYPES and RECURRENT.fullmatch(case.name):
        return True
    if case.name == "scatter_reduce":
        return sample.kwargs.get("reduce", sample.args[-1]) in ("amax", "amin")
    return False
