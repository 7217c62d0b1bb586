"""Functions of each element. Those of one tensor keep zero at zero, so they are functions of the
values."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2.sparse._convert import (
    coalesce,
    entries,
    flat_places,
    gather,
    of_elements,
    sparse_sizes,
    to_compressed,
    to_coo,
    to_dense,
)
from mindtorch_v2.sparse._tensor import (
    HANDLERS,
    handles,
    is_coo,
    is_sparse,
    make_coo,
    no_kernel,
    replace,
    type_name,
    with_values,
)

_coo_add = _C._internal_functions["_coo_add"]
_coo_merge = _C._internal_functions["_coo_merge"]
_ZERO_AT_ZERO = (
    "abs absolute sign sgn sqrt sin sinh tan tanh asin arcsin asinh arcsinh atan arctan atanh "
    "arctanh floor ceil round trunc fix frac expm1 log1p erf erfinv relu deg2rad rad2deg isnan "
    "isinf isposinf isneginf signbit square positive nan_to_num conj_physical conj real imag angle"
).split()


def _compact(tensor):
    """One value for each place: what functions that are not linear need."""
    return coalesce(tensor) if is_coo(tensor) else tensor


def _unary(name):
    function = getattr(torch, name, None) or getattr(Tensor, name)

    def apply(self, *args, **kwargs):
        made = _compact(self)
        return with_values(made, function(made.parts.values, *args, **kwargs))

    def apply_(self, *args, **kwargs):
        return replace(self, apply(self, *args, **kwargs))

    HANDLERS[name] = apply
    HANDLERS[name + "_"] = apply_


for _name in _ZERO_AT_ZERO:
    if hasattr(torch, _name):
        _unary(_name)
HANDLERS["__abs__"] = HANDLERS["abs"]


@handles("neg", "negative", "__neg__")
def neg(self):
    return with_values(self, -self.parts.values)


@handles("neg_", "negative_")
def neg_(self):
    return replace(self, neg(self))


# --- sums -----------------------------------------------------------------------------------------


def _is_number(value):
    return not isinstance(value, Tensor)


def _check_sizes(name, a, b):
    if a.shape != b.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != "
            f"{list(b.shape)}"
        )


@handles("add", "__add__")
def add(self, other, *, alpha=1):
    if not is_sparse(self) and is_sparse(other) and isinstance(self, Tensor):
        return _add_to_dense(self, other, alpha)
    if not is_sparse(other):
        if isinstance(other, Tensor) and not is_coo(self):
            return _add_to_dense(other * alpha if alpha != 1 else other, self, 1)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    _check_sizes("add", self, other)
    dtype = torch.result_type(self.parts.values, other.parts.values)
    a, b = to_coo(self), to_coo(other)
    if a.parts.indices.shape[0] != b.parts.indices.shape[0]:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but "
            f"{a.parts.indices.shape[0]} != {b.parts.indices.shape[0]}"
        )
    scaled = b.parts.values if alpha == 1 else b.parts.values * alpha
    made = _sum(a, b, a.parts.values.to(dtype), scaled.to(dtype))
    return made if is_coo(self) or is_coo(other) else _like(self, made)


def _like(self, made):
    """A COO tensor in the layout of another."""
    return to_compressed(made, self.parts.layout, self.parts.block)


def _sum(a, b, values, more):
    """The sum of two COO tensors, with these values. Entries that meet become one."""
    sizes, in_order = sparse_sizes(a), a.parts.is_coalesced and b.parts.is_coalesced
    if more.shape[0] == 0:
        return make_coo(a.parts.indices, values, a.shape, a.parts.is_coalesced)
    if values.shape[0] == 0:
        return make_coo(b.parts.indices, more, a.shape, b.parts.is_coalesced)
    may_merge = values.is_contiguous() and more.is_contiguous() and sizes
    if not may_merge or values.device.type != "cpu":
        made = make_coo(
            torch.cat([a.parts.indices, b.parts.indices], 1), torch.cat([values, more]), a.shape
        )
        is_long = made.parts.indices.shape[1] > made.numel()
        return coalesce(made) if is_long or (may_merge and in_order) else made
    has_graph = torch.is_grad_enabled() and (values.requires_grad or more.requires_grad)
    if not has_graph and values.dtype != torch.complex32:
        indices, made = _coo_add(a.parts.indices, values, b.parts.indices, more)
        return make_coo(indices, made, a.shape, in_order)
    places = _coo_merge(
        flat_places(a.parts.indices, sizes).contiguous(),
        flat_places(b.parts.indices, sizes).contiguous(),
    )
    of_a, of_b = places.split([values.shape[0], more.shape[0]])
    count = int(torch.maximum(of_a[-1], of_b[-1])) + 1
    indices = torch.empty((len(sizes), count), dtype=torch.int64)
    indices.index_copy_(1, of_a, a.parts.indices).index_copy_(1, of_b, b.parts.indices)
    made = torch.zeros((count, *values.shape[1:]), dtype=values.dtype)
    made = made.index_add(0, of_a, values).index_add(0, of_b, more)
    return make_coo(indices, made, a.shape, in_order)


_internal = _C._internal_functions["_pointwise"]


@handles("_pointwise")
def derivative(operands, *options):
    """A derivative of a function of each element, with a sparse gradient among its operands, of
    which it is a multiple: the same of the values."""
    gradient = next(each for each in operands if is_sparse(each))
    if not is_coo(gradient):
        raise NotImplementedError(no_kernel("mul.Tensor", gradient))
    given = [_at(each, gradient) for each in operands]
    return with_values(gradient, _internal(given, *options))


def _at(operand, gradient):
    if is_sparse(operand):
        return operand.parts.values
    if operand.dim() == 0:
        return operand
    return gather(operand.expand(gradient.shape), gradient.parts.indices)


def _add_to_dense(dense, sparse, alpha):
    _check_sizes("add", dense, sparse)
    sparse = to_coo(sparse)
    sizes = sparse_sizes(sparse)
    values = sparse.parts.values if alpha == 1 else sparse.parts.values * alpha
    dtype = torch.result_type(dense, values)
    flat = flat_places(sparse.parts.indices, sizes)
    rows = dense.to(dtype).reshape(-1, *dense.shape[len(sizes) :])
    return rows.index_add(0, flat, values.to(dtype)).reshape(dense.shape)


@handles("__radd__")
def radd(self, other):
    return add(other, self) if isinstance(other, Tensor) else add(self, other)


@handles("add_", "__iadd__")
def add_(self, other, *, alpha=1):
    if is_sparse(self):
        return replace(self, _same_dtype(self, add(self, other, alpha=alpha)))
    _check_sizes("add", self, other)
    other = to_coo(other)
    sizes = sparse_sizes(other)
    indices, values = other.parts.indices, other.parts.values.to(self.dtype)
    if len(sizes) == 1:
        return self.index_add_(0, indices[0], values, alpha=alpha)
    if self.is_contiguous():
        rows = self.view(-1, *self.shape[len(sizes) :])
        rows.index_add_(0, flat_places(indices, sizes), values, alpha=alpha)
        return self
    return self.index_put_(
        tuple(indices.unbind(0)), values if alpha == 1 else values * alpha, accumulate=True
    )


def _same_dtype(self, made):
    if made.dtype != self.dtype:
        raise RuntimeError(
            f"result type {type_name(made)} can't be cast to the desired output type "
            f"{type_name(self)}"
        )
    return made


@handles("sub", "subtract", "__sub__")
def sub(self, other, *, alpha=1):
    return add(self, other, alpha=-alpha)


@handles("sub_", "subtract_", "__isub__")
def sub_(self, other, *, alpha=1):
    return add_(self, other, alpha=-alpha)


@handles("rsub", "__rsub__")
def rsub(self, other, alpha=1):
    return add(other, self if alpha == 1 else mul(self, alpha), alpha=-1)


# --- products and quotients -----------------------------------------------------------------------


@handles("mul", "multiply", "__mul__", "__rmul__")
def mul(self, other):
    if not is_sparse(self):
        self, other = other, self
    if _is_number(other) or (other.dim() == 0 and not is_sparse(other)):
        return with_values(self, self.parts.values * other)
    if is_sparse(other):
        return _mul_sparse(self, other)
    if is_coo(self):
        given = other.expand(self.shape) if other.shape != self.shape else other
        return with_values(self, self.parts.values * gather(given, self.parts.indices))
    row, col, values = entries(self)
    given = gather(other.expand(self.shape), torch.stack([row, col]))
    return with_values(self, of_elements(self.parts, values * given))


def _mul_sparse(self, other):
    if self.shape != other.shape:
        raise RuntimeError(
            "mul operands have incompatible sizes: expected sizes of 'self' and 'other' to match, "
            f"but {list(self.shape)} != {list(other.shape)}"
        )
    a, b = coalesce(to_coo(self)), coalesce(to_coo(other))
    sizes = sparse_sizes(a)
    own, given = flat_places(a.parts.indices, sizes), flat_places(b.parts.indices, sizes)
    if given.shape[0] == 0:
        kept = own[:0]
        at = kept
    else:
        at = torch.searchsorted(given, own).clamp_max(given.shape[0] - 1)
        kept = (given[at] == own).nonzero().squeeze(1)
        at = at[kept]
    values = a.parts.values.index_select(0, kept) * b.parts.values.index_select(0, at)
    made = make_coo(a.parts.indices.index_select(1, kept), values, self.shape, True)
    return made if is_coo(self) or is_coo(other) else _like(self, made)


@handles("mul_", "multiply_", "__imul__")
def mul_(self, other):
    if not is_sparse(self):
        return self.mul_(to_dense(other))
    made = _same_dtype(self, mul(self, other))
    if is_coo(made) and _is_number(other):
        # Torch no longer says that it is coalesced.
        made = make_coo(made.parts.indices, made.parts.values, made.shape)
    return replace(self, made)


@handles("div", "divide", "true_divide", "__truediv__")
def div(self, other, *, rounding_mode=None):
    if isinstance(other, Tensor) and (is_sparse(other) or other.dim() != 0):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    made = self if rounding_mode is None else _compact(self)
    return with_values(made, torch.div(made.parts.values, other, rounding_mode=rounding_mode))


@handles("div_", "divide_", "true_divide_", "__itruediv__")
def div_(self, other, *, rounding_mode=None):
    return replace(self, _same_dtype(self, div(self, other, rounding_mode=rounding_mode)))


@handles("floor_divide", "__floordiv__")
def floor_divide(self, other):
    return div(self, other, rounding_mode="floor")


@handles("floor_divide_", "__ifloordiv__")
def floor_divide_(self, other):
    return replace(self, floor_divide(self, other))


@handles("pow", "__pow__")
def pow(self, exponent):
    if not is_sparse(self) or not _is_number(exponent):
        raise NotImplementedError("pow: only numbers can be exponents of sparse tensors")
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the "
            "result tensor dense"
        )
    made = _compact(self)
    return with_values(made, made.parts.values**exponent)


@handles("any")
def any_(self, *args, **kwargs):
    if args or kwargs:
        raise NotImplementedError("any: along dims is not there for sparse tensors")
    return self.parts.values.any()


@handles("equal")
def equal(self, other):
    raise NotImplementedError(no_kernel("equal", self if is_sparse(self) else other))
