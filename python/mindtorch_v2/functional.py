"""torch.functional: functions made of ops, where torch has no op of its own."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

__all__ = [
    "broadcast_shapes",
    "cdist",
    "einsum",
    "nonzero",
    "norm",
    "prelu",
    "stft",
    "tensordot",
    "unique",
    "unique_consecutive",
]


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for i, size in enumerate(shape, len(result) - len(shape)):
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if size != 1 and result[i] not in (1, size):
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            if size != 1:
                result[i] = size
    return torch.Size(result)


# Fewer points than this are subtracted one by one, which keeps the digits of small distances.
_CDIST_BY_PRODUCT = 25

_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between each row of `x1` and each row of `x2`.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.size(-1)} X2: {x2.size(-1)}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    many = max(x1.size(-2), x2.size(-2)) > _CDIST_BY_PRODUCT
    by_product = compute_mode == _CDIST_MODES[1] or (compute_mode == _CDIST_MODES[0] and many)
    if p != 2 or not by_product:
        difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
        return torch.linalg.vector_norm(difference, p, -1)
    squares = x1.pow(2).sum(-1, keepdim=True) + x2.pow(2).sum(-1, keepdim=True).mT
    squares = squares - 2 * (x1 @ x2.mT)
    # The root of 0 has no slope: distances of 0 get the gradient 0, as torch's do.
    positive = squares > 0
    return torch.where(positive, torch.where(positive, squares, 1.0).sqrt(), 0.0)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(labels):
    text = []
    for label in labels:
        if label is Ellipsis:
            text.append("...")
        elif 0 <= label < len(_LETTERS):
            text.append(_LETTERS[label])
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
    return "".join(text)


def einsum(*args):
    """Sums of products, by an equation or by lists of labels: operand, labels, ..., output labels.

    >>> torch.einsum("ij->j", torch.ones(2, 3))
    tensor([2., 2., 2.])
    >>> torch.einsum(torch.ones(2, 3), [0, 1], [1])
    tensor([2., 2., 2.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        return einsum(args[0], *args[1])  # handlers see the operands one by one, as in torch
    if _C._has_torch_function(args):
        return torch.overrides.handle_torch_function(einsum, args, *args)
    if isinstance(args[0], torch.Tensor):
        equation = ",".join(_subscripts(labels) for labels in args[1::2])
        operands = args[:-1:2] if len(args) % 2 else args[::2]
        if len(args) % 2:
            equation += "->" + _subscripts(args[-1])
        args = (equation, *operands)
    return _C._functions["einsum"](*args)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements, or along `dim`; "fro" is the 2-norm, "nuc" the sum of
    the singular values.

    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if p == "nuc":
        dims = (0, 1) if dim is None else dim
        return torch.linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    order = 2.0 if p is None or p == "fro" else p
    if isinstance(order, str):
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', got {p!r}")
    return torch.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def prelu(input, weight):
    """input where it is positive, else weight * input; one weight, or one per channel.

    >>> torch.prelu(torch.tensor([-2., 3.]), torch.tensor([0.25]))
    tensor([-0.5000,  3.0000])
    """
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if input.dim() == 0:
        weight = weight.reshape(())
    else:
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(max(input.dim(), 2))])
        if input.dim() == 1:
            weight = weight[0]
    return _C._internal_functions["_prelu_kernel"](input, weight)


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of all elements that are not 0: one row each, or one tensor per dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 4]), as_tuple=True)
    (tensor([1, 2]),)
    """
    if not isinstance(as_tuple, bool):
        kind = type(as_tuple).__name__
        raise TypeError(f"nonzero(): argument 'as_tuple' must be bool, not {kind}")
    if not as_tuple:
        return _C._functions["nonzero"](input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    return torch.where(input)


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The spectra of windows of a signal, `hop_length` apart: one column each. With `center` the
    signal is continued at both ends, so that windows have its elements in their middle.

    >>> torch.stft(torch.ones(4), 2, 2, window=torch.ones(2), return_complex=True).real
    tensor([[2., 2., 2.],
            [0., 0., 0.]])
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        from mindtorch_v2.nn.functional import pad

        size = input.shape
        reach = int(n_fft // 2)
        padded = pad(input.view([1] * (3 - len(size)) + list(size)), [reach, reach], pad_mode)
        input = padded.view(padded.shape[-len(size) :])
    return _C._internal_functions["_stft"](
        input,
        n_fft,
        hop_length,
        win_length,
        window,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def tensordot(a, b, dims=2, out=None):
    """Products summed over dimensions of both: the last of `a` with the first of `b`, or as given.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, torch.Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        of_a, of_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    result = _C._functions["_tensordot"](a, b, of_a, of_b)
    return result if out is None else out.resize_(result.shape).copy_(result)


def _wanted(values, inverse, counts, return_inverse, return_counts):
    result = [values]
    if return_inverse:
        result.append(inverse)
    if return_counts:
        result.append(counts)
    return values if len(result) == 1 else tuple(result)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, ascending; of a dimension, its distinct slices.

    >>> torch.unique(torch.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    if dim is None:
        found = torch._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = torch.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _wanted(*found, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without those that equal the one before.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = torch._unique_consecutive(input, return_inverse, return_counts, dim)
    return _wanted(*found, return_inverse, return_counts)


# The ops that torch documents here, too.
globals().update(
    (name, _C._functions[name])
    for name in (
        "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod chain_matmul "
        "meshgrid split"
    ).split()
    if name in _C._functions
)
_make_overridable(globals(), but={"broadcast_shapes", "einsum"})
