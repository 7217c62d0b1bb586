"""Functions of torch.nn.functional on pairs of vectors, and on rows of a table."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

_ops = _C._internal_functions


def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] for every k.

    >>> F.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    return _ops["bilinear"](input1, input2, weight, bias)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 along the last dimension.

    >>> F.pairwise_distance(torch.tensor([3.0, 4.0]), torch.zeros(2))
    tensor(5.0000)
    """
    return _ops["pairwise_distance"](x1, x2, p, eps, keepdim)


def pdist(input, p=2.0):
    """The p-norm distance of every pair of rows.

    >>> F.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])
    """
    return _ops["pdist"](input, p)


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of groups: offs[i] is where group i ends along the dimension that is ragged, the
    rows of a 2-D mat_a, the columns of a 2-D mat_b, or, where both are 2-D, the one that is summed
    over. Two 3-D arguments have a group per matrix.

    >>> x, w = torch.ones(3, 2), torch.ones(2, 2, 1)
    >>> F.grouped_mm(x, w, offs=torch.tensor([1, 3], dtype=torch.int32)).shape
    torch.Size([3, 1])
    """
    if mat_a.dim() not in (2, 3) or mat_b.dim() not in (2, 3):
        raise RuntimeError("mat_a and mat_b have to be 2 or 3 dimensional")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(
            f"Expected mat_a and mat_b of one dtype, got {mat_a.dtype} and {mat_b.dtype}"
        )
    if (mat_a.dim() == 3 and mat_b.dim() == 3) != (offs is None):
        raise RuntimeError("Have to provide offsets for 2d inputs, and no offset for 3d inputs")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    result = _grouped_product(mat_a, mat_b, offs)
    return result if out_dtype is None else result.to(out_dtype)


def _grouped_product(a, b, offs):
    if offs is None:
        return torch.bmm(a, b)
    ends = offs.tolist()
    groups = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    if a.dim() == 2 and b.dim() == 2:
        return torch.stack([a[:, group] @ b[group] for group in groups])
    if a.dim() == 2:
        parts = [a[group] @ b[i] for i, group in enumerate(groups)]
        rest = a.new_zeros(a.size(0) - ends[-1], b.size(2))  # rows of no group
        return torch.cat([*parts, rest])
    parts = [a[i] @ b[:, group] for i, group in enumerate(groups)]
    return torch.cat([*parts, a.new_zeros(a.size(1), b.size(1) - ends[-1])], dim=1)


_embedding_bag = _ops["_embedding_bag"]
_BAG_DTYPES = frozenset([torch.float16, torch.bfloat16, torch.float32, torch.float64])


def _has_bags(weight, scale_grad_by_freq, sparse, per_sample_weights, padding_idx):
    """Whether bags of one length are one op: no row has to be weighted, left out or counted."""
    if scale_grad_by_freq or sparse or per_sample_weights is not None or padding_idx is not None:
        return False
    return weight.device.type in ("cpu", "meta")


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or max of the rows of weight that every bag of indices names. A bag is a row
    of a 2-d input, or what lies between two offsets of a 1-d one.

    >>> F.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
                f" of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
    elif input.dim() == 1:
        bags, owner = _owners(input, offsets, include_last_offset)
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. "
            "per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if weight.dtype not in _BAG_DTYPES:
        name = "CPUBoolType" if weight.dtype is torch.bool else weight.type()
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got {name} instead (while checking arguments for "
            "embedding_bag)"
        )
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)
    if input.dim() == 2:
        if _has_bags(weight, scale_grad_by_freq, sparse, per_sample_weights, padding_idx):
            if mode == "max" and input.size(1) > 0:
                with_row = _looked_up(lambda: _largest(weight, input), input, weight, mode)
                return weight.gather(0, with_row)
            if mode != "max":
                is_mean = mode == "mean"
                return _looked_up(
                    lambda: _embedding_bag(weight, input, is_mean), input, weight, mode
                )
        bags, length = input.shape
        owner = torch.arange(bags, device=input.device).repeat_interleave(length)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    indices = input
    rows = _looked_up(
        lambda: torch.embedding(weight, indices, -1, scale_grad_by_freq, sparse),
        indices,
        weight,
        mode,
    )
    if padding_idx is not None:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("padding_idx must be within the number of embeddings")
        kept = input != padding_idx % weight.size(0)
        rows, owner = rows[kept], owner[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[kept]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return _pooled(rows, owner, bags, mode)


def _looked_up(look_up, input, weight, mode):
    """look_up(), with torch's error for an index that names no row."""
    try:
        return look_up()
    except IndexError:
        if _C._vmap_level() > 0:  # which one it is differs between samples
            raise
        raise _wrong_index(input, weight, mode) from None


def _wrong_index(input, weight, mode):
    """The error for the first index that names no row."""
    count = weight.size(0)
    flat = input.reshape(-1)
    place = int(((flat < 0) | (flat >= count)).nonzero()[0])
    value = int(flat[place])
    if mode == "max":
        return RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {value}"
        )
    return RuntimeError(
        f"Index {place} of input takes value {value} which is not in the valid range [0, {count})"
    )


_PIECE_BYTES = 32 * 1024  # of rows that are looked at together


@torch.no_grad()
def _largest(weight, input):
    """For every bag and column the index of the row of weight whose element is the largest."""
    bags, length = input.shape
    bag_bytes = max(1, length * weight.size(1) * weight.element_size())
    step = max(1, _PIECE_BYTES // bag_bytes)
    pieces = []
    for begin in range(0, max(bags, 1), step):
        own = input[begin : begin + step]
        pieces.append(own.gather(1, torch.embedding(weight, own).max(1)[1]))
    return torch.cat(pieces).to(torch.int64)


def _owners(input, offsets, include_last_offset):
    """(number of bags, the bag of every index)."""
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if offsets.numel() and int(offsets[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {int(offsets[0])}"
        )
    if offsets.numel() and int(offsets[-1]) > input.size(0):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {input.size(0)} but got "
            f"offsets[-1] of {int(offsets[-1])}"
        )
    starts = offsets[:-1] if include_last_offset else offsets
    places = torch.arange(input.size(0), device=input.device, dtype=offsets.dtype)
    return starts.size(0), torch.searchsorted(starts.contiguous(), places, right=True) - 1


def _pooled(rows, owner, bags, mode):
    zeros = rows.new_zeros(bags, rows.size(1))
    counts = torch.bincount(owner, minlength=bags)
    if mode == "max":
        if rows.size(0) == 0:
            return zeros.index_add(0, owner, rows)  # zeros, with a gradient
        # Every bag as a row, filled up with -inf; the bags follow one another in `rows`.
        place = torch.arange(rows.size(0), device=rows.device) - (counts.cumsum(0) - counts)[owner]
        shape = (bags, int(counts.max()), rows.size(1))
        padded = rows.new_full(shape, float("-inf")).index_put((owner, place), rows)
        # Not amax: of equal rows the first one gets the gradient.
        return padded.max(1)[0].masked_fill((counts == 0).unsqueeze(1), 0)
    # 16-bit floats are rounded once, at the end.
    wide = torch.promote_types(rows.dtype, torch.float32)
    total = zeros.to(wide).index_add(0, owner, rows.to(wide))
    if mode == "mean":
        total = total / counts.clamp_min(1).to(wide).unsqueeze(1)
    return total.to(rows.dtype)


_make_overridable(globals())
