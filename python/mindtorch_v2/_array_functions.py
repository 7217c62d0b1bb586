"""Functions of arrays that are made of ops, under names that torch has ops for."""

import math

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


def ldexp(input, other, *, out=None):
    """input * 2 ** other.

    >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, 1]))
    tensor([4., 6.])
    """
    return torch.mul(input, torch.pow(2.0, other), out=out)


def ldexp_(input, other):
    """`ldexp` in place of the tensor's elements.

    >>> torch.ldexp_(torch.tensor([3.0]), torch.tensor([1]))
    tensor([6.])
    """
    return input.mul_(torch.pow(2.0, other))


# Of each dtype: the integers of its size, the bits of its fraction, and what the exponent of a
# number in [0.5, 1) is stored as.
_FLOAT_BITS = {
    torch.float16: (torch.int16, 10, 14),
    torch.bfloat16: (torch.int16, 7, 126),
    torch.float32: (torch.int32, 23, 126),
    torch.float64: (torch.int64, 52, 1022),
}


def _power_of_two_times(input, exponent):
    """input * 2 ** exponent in two steps: the power alone may be out of range."""
    half = torch.div(exponent, 2, rounding_mode="floor")
    rest = exponent - half
    return input * torch.exp2(half.to(input.dtype)) * torch.exp2(rest.to(input.dtype))


def frexp(input, *, out=None):
    """A mantissa in [0.5, 1) and an exponent of 2 for each number.

    >>> torch.frexp(torch.tensor([6.0]))
    torch.return_types.frexp(
    mantissa=tensor([0.7500]),
    exponent=tensor([3], dtype=torch.int32))
    """
    if input.dtype not in _FLOAT_BITS:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    integers, fraction, bias = _FLOAT_BITS[input.dtype]
    with torch.no_grad():
        # Numbers with a leading zero are made larger first; powers of two are exact.
        tiny = input.abs() < torch.finfo(input.dtype).tiny
        lifted = torch.where(tiny, input * 2.0 ** (fraction + 2), input)
        bits = lifted.contiguous().view(integers)
        field = (bits >> fraction) & (2 * bias + 3)
        exponent = field - bias - torch.where(tiny, fraction + 2, 0)
        exponent = torch.where((input == 0) | ~input.isfinite(), 0, exponent).to(torch.int32)
    mantissa = _power_of_two_times(input, -exponent)
    if out is not None:
        out[0].resize_(mantissa.shape).copy_(mantissa)
        out[1].resize_(exponent.shape).copy_(exponent)
        mantissa, exponent = out
    return torch.return_types.frexp((mantissa, exponent))


def mvlgamma(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension `p`.

    >>> torch.mvlgamma(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    values = input if input.is_floating_point() else input.to(torch.get_default_dtype())
    steps = torch.arange(p, dtype=values.dtype, device=values.device) * -0.5
    constant = p * (p - 1) * 0.25 * math.log(math.pi)
    result = torch.lgamma(values.unsqueeze(-1) + steps).sum(-1) + constant
    return result if out is None else out.copy_(result)


def renorm(input, p, dim, maxnorm, *, out=None):
    """Scales the parts along `dim` whose p-norm is above `maxnorm` down to it.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions"
        )
    kept = dim % input.dim()
    others = [i for i in range(input.dim()) if i != kept]
    wide = torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype
    norm = torch.linalg.vector_norm(input, p, others, keepdim=True, dtype=wide)
    factor = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return torch.mul(input, factor.to(input.dtype), out=out)


def nonzero_static(input, *, size, fill_value=-1):
    """`nonzero` with a fixed number of rows: cut off, or filled up.

    >>> torch.nonzero_static(torch.tensor([0, 3]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    ndim = input.dim()
    if input.is_meta:
        return torch.empty(size, ndim, dtype=torch.int64, device="meta")
    mask = (input != 0).reshape(-1)
    # The place of each row among the results, one behind the last for all others.
    place = torch.where(mask, mask.cumsum(0) - 1, size).clamp(max=size)
    result = torch.full((size + 1, ndim), fill_value, dtype=torch.int64, device=input.device)
    if mask.numel() > 0 and ndim > 0:
        flat = torch.arange(mask.numel(), device=input.device)
        result[place] = torch.stack(unravel_index(flat, input.shape), dim=1)
    return result[:size]


def unravel_index(indices, shape):
    """Indices into each dimension of `shape`, for indices into its elements in a row.

    >>> torch.unravel_index(torch.tensor([4]), (2, 3))
    (tensor([1]), tensor([1]))
    """
    if indices.dtype == torch.bool or indices.is_floating_point() or indices.is_complex():
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    result = []
    rest = indices.to(torch.int64)
    for size in reversed(shape):
        result.append(rest % size)
        rest = rest.div(size, rounding_mode="floor")
    return tuple(reversed(result))


def _kind(tensor):
    return tensor.type().removeprefix("torch.").removesuffix("Tensor")


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """Reduces the slices of `source` into the places of `dim` that `index` names.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    if index.dim() > 1:
        raise IndexError(
            "index_reduce_(): Index is supposed to be a vector, but got dim: "
            f"{index.dim()} with type: {_kind(index)} and size: {list(index.shape)}"
        )
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError("index_reduce_(): Expected dtype int32/int64 for index")
    size = input.size(dim) if input.dim() else 1
    if index.device.type == "cpu" and bool(((index < 0) | (index >= size)).any()):
        raise IndexError("index out of range in self")
    if input.dtype != source.dtype:
        raise RuntimeError("index_reduce_(): self and source expected to have the same dtype")
    if input.dim() == 0:
        expanded = index.reshape(-1).long()
        result = input.reshape(1).scatter_reduce(
            0, expanded, source.reshape(-1), reduce, include_self=include_self
        )
        return result.reshape(())
    dim = dim % input.dim()
    shape = [1] * input.dim()
    shape[dim] = -1
    expanded = index.long().reshape(shape).expand(source.shape)
    return input.scatter_reduce(dim, expanded, source, reduce, include_self=include_self)


def conj_physical_(input):
    """The tensor's elements become their conjugates.

    >>> torch.conj_physical_(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return input.conj_physical_()


def detach_(input):
    """Takes the tensor out of the graph that made it: it becomes a leaf.

    >>> torch.detach_(torch.ones(1, requires_grad=True) * 2).requires_grad
    False
    """
    return input.detach_()


def resize_as_(input, the_template, *, memory_format=None):
    """Changes the tensor's size to that of another; see Tensor.resize_.

    >>> torch.resize_as_(torch.ones(4), torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return input.resize_(the_template.shape, memory_format=memory_format)


# Of each reduction: the value of an empty segment without `initial`, and scatter_reduce's name.
_SEGMENT_REDUCTIONS = {
    "sum": (0.0, "sum"),
    "mean": (math.nan, "mean"),
    "prod": (1.0, "prod"),
    "max": (-math.inf, "amax"),
    "amax": (-math.inf, "amax"),
    "min": (math.inf, "amin"),
    "amin": (math.inf, "amin"),
}


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Reduces neighbouring entries along `axis`: each segment has one of `lengths`, or goes from
    one of `offsets` to the next.

    >>> torch.segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3]))
    tensor([0., 6.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if reduce not in _SEGMENT_REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    name = "offsets" if lengths is None else "lengths"
    given = offsets if lengths is None else lengths
    axis = axis + data.dim() if axis < 0 else axis
    if axis != given.dim() - 1 or given.dim() > data.dim():
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
        )
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce is not implemented for {data.dtype}")
    if given.dtype not in (torch.int32, torch.int64):
        raise NotImplementedError(f"segment_reduce takes {name} of integers, not {given.dtype}")
    if lengths is None:
        lengths = offsets.diff()
        starts = offsets[..., :1]
    else:
        starts = None
    if not unsafe:
        if bool((lengths < 0).any()):
            raise RuntimeError("lengths contains negative value!")
        if starts is None and not bool((lengths.sum(-1) == data.size(axis)).all()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    # The segment of each entry: how many segments have ended before it.
    count = lengths.size(-1)
    ends = lengths.cumsum(-1) if starts is None else offsets[..., 1:].contiguous()
    places = torch.arange(data.size(axis), device=data.device, dtype=ends.dtype)
    places = places.expand(*lengths.shape[:-1], data.size(axis)).contiguous()
    segment = torch.searchsorted(ends, places, right=True)
    if starts is not None:  # what is before the first offset or after the last is left out
        segment = segment.masked_fill(places < starts, count)
    empty, kind = _SEGMENT_REDUCTIONS[reduce]
    shape = list(data.shape)
    shape[axis] = count + 1
    trailing = (1,) * (data.dim() - given.dim())
    index = segment.reshape(*segment.shape, *trailing).expand(data.shape)
    start = empty if initial is None else initial
    if reduce != "mean":
        base = data.new_full(shape, start)
        result = base.scatter_reduce(axis, index, data, kind, include_self=True)
        return result.narrow(axis, 0, count)
    total = data.new_full(shape, 0.0 if initial is None else initial)
    total = total.scatter_add(axis, index, data).narrow(axis, 0, count)
    sizes = lengths.reshape(*lengths.shape, *trailing)
    return torch.where(sizes > 0, total / sizes.clamp(min=1), start)


_make_overridable(globals())
