"""Functions of torch.nn.functional on pairs of vectors, and on rows of a table."""

import warnings

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


_pooled_embedding = _ops["_pooled_embedding"]
_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


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
    if weight.dtype == torch.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
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
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. "
            "per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _pooled_embedding(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _BAG_MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )


_make_overridable(globals())
