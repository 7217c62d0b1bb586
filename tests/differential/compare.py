"""What differs between two outcomes of the same call."""

import math
import re

import numpy as np

TRANSCENDENTAL = set(
    """
    acos acosh addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin
    asinh atan atan2 atanh celu cos cosh cosine_similarity deg2rad digamma elu erf erfc
    erfinv exp exp2 expit expm1 float_power gammaln gelu glu hardsigmoid hardswish hypot
    lerp lgamma linspace log log10 log1p log2 log_sigmoid log_softmax logaddexp logaddexp2
    logcumsumexp logit logsigmoid logspace logsumexp mish multigammaln normalize pow psi
    rad2deg rsqrt selu sigmoid silu sin sinc sinh softmax softmin softplus softsign sqrt tan
    tanh tanhshrink vander xlogy
    """.split()
)
SUMS = set(
    """
    addbmm addmm addmv addr airy_ai allclose angle baddbmm bessel_j0 bessel_j1 bessel_y0
    bessel_y1 bincount bmm cdist chain_matmul chebyshev_polynomial_t
    chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w cholesky
    cholesky_inverse cholesky_solve corrcoef cosine_similarity cov cross cumprod cumsum
    det digamma dist dot einsum embedding_renorm entr erfcx gammainc gammaincc gammaln
    gelu ger hermite_polynomial_h hermite_polynomial_he histc i0 i0e i1 i1e igamma
    igammac index_add index_put inner isclose kron laguerre_polynomial_l layer_norm
    legendre_polynomial_p lgamma linalg_vector_norm linear log_ndtr log_softmax
    logaddexp logaddexp2 logcumsumexp logsumexp matmul matrix_norm matrix_power mean mm
    modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
    multi_dot mv mvlgamma nanmean nanquantile nansum ndtr ndtri norm normalize
    nuclear_norm outer polar polygamma prod psi put quantile renorm rms_norm
    scaled_dot_product_attention scaled_modified_bessel_k0 scaled_modified_bessel_k1
    scatter scatter_add scatter_reduce shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w softmax spherical_bessel_j0 std std_mean sum
    sum_to_size tensordot trace var var_mean vdot vecdot vector_norm xlog1py zeta
    """.split()
)
# Ops that round more than once with these arguments only.
WITH_ARGUMENT = {"add": "alpha=", "sub": "alpha=", "rsub": "alpha=", "subtract": "alpha="}
WITH_ARGUMENT |= {"round": "decimals=", "embedding": "max_norm="}
# How far results may be apart: one rounding of a half type after float32, or a sum of many.
RELATIVE = {"float64": 1e-12, "float32": 4e-6, "float16": 1e-3, "bfloat16": 8e-3}
RELATIVE_OF_SUMS = {**RELATIVE, "float16": 4e-3, "bfloat16": 3e-2}
TIES = {"kthvalue", "topk", "median", "nanmedian", "mode", "argsort", "sort"}
LARGE = 1 << 22  # elements of a tensor whose values are not looked at
INEXACT_OPERATORS = {"a ** b", "a **= b", "a @ b", "pow", "float_power"}


def plain_name(op):
    """An op's name without its form: "add" of "Tensor.add_"; expressions stay what they are."""
    if not re.fullmatch(r"[\w.]+", op) or op.startswith("a."):
        return op
    return op.rpartition(".")[2].removesuffix("_").removeprefix("special_")


def tolerance(op, action=""):
    """The kind of rounding that two right implementations may differ by: "", "few" or "sum"."""
    name = plain_name(op)
    if name in WITH_ARGUMENT:
        return "few" if WITH_ARGUMENT[name] in action else ""
    if name in SUMS or op in ("a @ b", "a[i] += b"):
        return "sum"
    if name in TRANSCENDENTAL or op in INEXACT_OPERATORS:
        return "few"
    return ""


class Snapshot:
    """A tensor's dtype, shape, strides and values, taken out of its library."""

    def __init__(self, tensor, module):
        self.dtype = str(tensor.dtype).removeprefix("torch.")
        self.shape = tuple(tensor.shape)
        self.stride = tuple(tensor.stride())
        self.offset = tensor.storage_offset()
        tensor = tensor.detach()
        if math.prod(self.shape) > LARGE or 0 in self.shape:
            tensor = tensor.as_strided((0,), (1,))
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        tensor = tensor.contiguous()
        self.raw = None
        if self.dtype == "bfloat16":
            bits = tensor.view(module.int16).numpy()
            self.raw = bits.copy()
            wide = bits.astype(np.int32) << 16
            self.values = np.ascontiguousarray(wide).view(np.float32).reshape(bits.shape)
        else:
            self.values = tensor.numpy().copy()

    def text(self):
        values = self.values.tolist()
        return f"{self.dtype}{list(self.shape)} {str(values)[:160]}"


def capture(value, module):
    """The value with every tensor replaced by a snapshot."""
    if isinstance(value, module.Tensor):
        return Snapshot(value, module)
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [type(value).__name__, [capture(item, module) for item in value]]
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return value
    return type(value).__name__, str(value)


def scale_of(snapshots):
    """How large sums of products of the inputs may get."""
    scale, count = 1.0, 1
    for each in snapshots:
        if not isinstance(each, Snapshot) or each.values.size == 0:
            continue
        values = np.abs(each.values.astype(np.float64))
        finite = values[np.isfinite(values)]
        if finite.size:
            scale *= max(1.0, float(finite.max()))
            count = max(count, finite.size)
    return scale * count


def values_differ(want, got, kind, scale=1.0, limits=()):
    """ "" or what is wrong with the values of two snapshots of one dtype and shape."""
    a, b = want.values, got.values
    if a.dtype.kind not in "fc":
        return "" if np.array_equal(a, b) else "value"
    largest = {"float16": 65504, "bfloat16": 3.38e38, "float32": 3.4e38}.get(want.dtype, 1.7e308)
    if kind == "sum" and scale > largest / 16:
        # Whether a sum overflows on its way depends on its order.
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(finite, a, 0), np.where(finite, b, 0)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    if not np.array_equal(nan_a, nan_b):
        return "nan"
    same = (a == b) | nan_a
    if not same.all():
        if not kind:
            return "value"
        table = RELATIVE_OF_SUMS if kind == "sum" else RELATIVE
        relative = max(table[name] for name in (want.dtype, *limits))
        with np.errstate(all="ignore"):
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            near = np.abs(wide_a - wide_b) <= relative * (
                np.abs(wide_a) + (scale if kind == "sum" else 1e-3)
            )
            near &= np.isfinite(wide_a) & np.isfinite(wide_b)
            tiny = np.maximum(np.abs(wide_a), np.abs(wide_b)) < 1e-37
            # A sum may pass the largest number or not, by its order.
            edge = np.minimum(np.abs(wide_a), np.abs(wide_b)) >= largest * 0.99
        if not (same | near | tiny | edge).all():
            return "value"
    if kind != "sum":
        zeros = (a == 0) & (b == 0)
        if not np.array_equal(np.signbit(a)[zeros], np.signbit(b)[zeros]):
            return "zero sign"
    return ""


def results_differ(want, got, kind, scale, limits):
    """A list of kinds of difference between two captured results."""
    if isinstance(want, Snapshot) and isinstance(got, Snapshot):
        if want.dtype != got.dtype:
            return ["dtype"]
        if want.shape != got.shape:
            return ["shape"]
        found = [values_differ(want, got, kind, scale, limits)]
        if want.stride != got.stride:
            found.append("strides")
        elif want.offset != got.offset:
            found.append("offset")
        return [each for each in found if each]
    if isinstance(want, list) and isinstance(got, list):
        found = []
        if want[0] != got[0]:
            plain = {"tuple", "list"}
            found.append("type" if want[0] in plain or got[0] in plain else "type name")
        if len(want[1]) != len(got[1]):
            return ["length"]
        for a, b in zip(want[1], got[1], strict=True):
            found += [f for f in results_differ(a, b, kind, scale, limits) if f not in found]
        return found
    if type(want) is not type(got):
        return ["type"]
    if isinstance(want, float):
        if math.isnan(want) or math.isnan(got):
            return [] if math.isnan(want) == math.isnan(got) else ["value"]
        if kind and math.isclose(want, got, rel_tol=1e-5, abs_tol=1e-5):
            return []
        return [] if want == got and math.copysign(1, want) == math.copysign(1, got) else ["value"]
    if str(want) == str(got):
        return []
    return ["value"]


def differ_in_ties_only(want, got):
    """Whether (values, indices) have equal values, and so name other ones of equal elements."""
    if isinstance(want, Snapshot):
        return np.array_equal(np.sort(want.values, axis=None), np.sort(got.values, axis=None))
    if not (isinstance(want, list) and len(want[1]) == 2 == len(got[1])):
        return False
    # In any order, as topk(sorted=False) has none.
    values = [np.sort(result[1][0].values, axis=None) for result in (want, got)]
    return values[0].dtype == values[1].dtype and np.array_equal(
        *values, equal_nan=values[0].dtype.kind == "f"
    )


def first_difference(want, got):
    """ "at [0, 2]: 1.0, not 1.5; " of two results."""
    if isinstance(want, list) and isinstance(got, list) and len(want[1]) == len(got[1]):
        pairs = zip(want[1], got[1], strict=True)
        return next(filter(None, (first_difference(a, b) for a, b in pairs)), "")
    if not isinstance(want, Snapshot) or not isinstance(got, Snapshot) or want.shape != got.shape:
        return ""
    a, b = want.values, got.values
    differ = (a != b) & ~((a != a) & (b != b))
    if a.dtype.kind == "f":
        differ |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    if not differ.any():
        return ""
    place = np.argwhere(differ)
    if differ.size > 1 and a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            far = np.abs(a.astype(np.float64) - b.astype(np.float64))[differ]
        place = place[[int(np.argmax(np.nan_to_num(far, nan=np.inf)))]]
    at = tuple(place[0].tolist())
    return f"at {list(at)}: {b[at]!s}, not {a[at]!s}; "


def first_line(error):
    """The first line of an error's text, without what changes from run to run."""
    lines = str(error).splitlines()
    line = lines[0].strip() if lines else ""
    line = re.sub(r"0x[0-9a-f]+", "0x", line)
    line = re.sub(r" \(op \d+ of flush .*", "", line)  # where in a trace
    # Torch names the keywords of a call in the order of a hash table.
    got = re.search(r"got \(([^()]*)\), but", line)
    if got:
        items = got.group(1).split(", ")
        named = sorted(item for item in items if "=" in item)
        plain = [item for item in items if "=" not in item]
        line = line.replace(got.group(1), ", ".join(plain + named))
    return line
