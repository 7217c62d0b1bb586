"""torch.sparse_coo_tensor and its like."""

import contextlib
import functools

import mindtorch_v2 as torch
from mindtorch_v2.sparse._tensor import make_compressed, make_coo

_checks_invariants = False


class check_sparse_tensor_invariants(contextlib.ContextDecorator):
    """Whether new sparse tensors are checked: a context, a decorator, or enable() and disable().

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.], (3,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    def __init__(self, enable=True):
        self._wanted = enable
        self._saved = None

    @staticmethod
    def is_enabled():
        return _checks_invariants

    @staticmethod
    def enable():
        global _checks_invariants
        _checks_invariants = True

    @staticmethod
    def disable():
        global _checks_invariants
        _checks_invariants = False

    def __enter__(self):
        global _checks_invariants
        if self._saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self._saved = _checks_invariants
        _checks_invariants = self._wanted

    def __exit__(self, *error):
        global _checks_invariants
        _checks_invariants, self._saved = self._saved, None

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return checked


def _values(values, dtype, device):
    if isinstance(values, torch.Tensor):
        if dtype is None and device is None:
            return values
        return values.to(device=device or values.device, dtype=dtype or values.dtype)
    return torch.tensor(values, dtype=dtype, device=device)


def _index(indices, device, dtype=torch.int64):
    if isinstance(indices, torch.Tensor):
        return indices.detach().to(device=device, dtype=dtype)
    return torch.tensor(indices, dtype=dtype, device=device)


def _own(values, requires_grad):
    """The values as a tensor's own: a history goes on, but a leaf stays the user's."""
    if requires_grad:
        return values.detach().requires_grad_()
    return values.view_as(values)  # batched values do not say that they have a history


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A tensor of the values at the coordinates `indices`, one column for each; zero elsewhere.

    >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [3., 4.], (2, 2)).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if values is None:
        if size is None:
            size = indices
        return _empty_coo(tuple(size), dtype, device, requires_grad)
    values = _values(values, dtype, device)
    indices = _index(indices, values.device)
    if indices.dim() != 2 and (size is None or len(size) == indices.shape[0]):
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.dim() == 0 and indices.shape[1] == 1:
        values = values.reshape(1)
    if values.dim() == 0:
        values = values.expand(indices.shape[1])
    if size is None:
        size = _sizes_of(indices, values)
    size = torch.Size(size)
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, nnz from values: {values.shape[0]}"
        )
    if tuple(values.shape[1:]) != tuple(size[sparse_dim:]):
        raise RuntimeError(
            "values has incorrect size, expected "
            f"{[values.shape[0], *size[sparse_dim:]]}, got {list(values.shape)}"
        )
    if _checks_invariants if check_invariants is None else check_invariants:
        _check_coordinates(indices, size)
        if is_coalesced:
            _check_coalesced(indices, size)
    coalesced = bool(is_coalesced) if is_coalesced is not None else indices.shape[1] < 2
    return make_coo(indices, _own(values, requires_grad), size, coalesced)


def _empty_coo(size, dtype, device, requires_grad):
    indices = torch.empty((len(size), 0), dtype=torch.int64, device=device)
    values = torch.empty(0, dtype=dtype, device=device, requires_grad=requires_grad)
    return make_coo(indices, values, size, True)


def _sizes_of(indices, values):
    if indices.shape[1] == 0:
        return (*[0] * indices.shape[0], *values.shape[1:])
    if indices.shape[0] == 0:
        return tuple(values.shape[1:])
    least = indices.min(1).values.tolist()
    for dim, index in enumerate(least):
        if index < 0:
            raise RuntimeError(f"found negative index {index} for dim {dim}")
    return (*[top + 1 for top in indices.max(1).values.tolist()], *values.shape[1:])


def _check_coordinates(indices, size):
    if indices.numel() == 0:
        return
    least, most = indices.min(1).values.tolist(), indices.max(1).values.tolist()
    for dim, (low, high) in enumerate(zip(least, most, strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= size[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found "
                f"index {high}"
            )


def _check_coalesced(indices, size):
    from mindtorch_v2.sparse._convert import flat_places

    flat = flat_places(indices, size[: indices.shape[0]])
    if flat.shape[0] > 1 and not bool((flat.diff() > 0).all()):
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )


# --- compressed -----------------------------------------------------------------------------------

_NAMES = {
    "csr": ("crow_indices", "col_indices", "nrows", "ncols"),
    "csc": ("ccol_indices", "row_indices", "ncols", "nrows"),
}
_NAMES["bsr"], _NAMES["bsc"] = _NAMES["csr"], _NAMES["csc"]


def _make_compressed(
    kind, begins, others, values, size, dtype, device, requires_grad, check_invariants
):
    layout = getattr(torch, f"sparse_{kind}")
    values = _values(values, dtype, device)
    index_dtype = torch.int64
    if isinstance(begins, torch.Tensor) and begins.dtype == torch.int32:
        index_dtype = torch.int32
    begins = _index(begins, values.device, index_dtype)
    others = _index(others, values.device, index_dtype)
    if begins.dim() != others.dim() or begins.dim() == 0:
        raise RuntimeError(
            f"the indices must have the same number of dims, at least 1, but got {begins.dim()} "
            f"and {others.dim()}"
        )
    first = others.dim()
    has_blocks = kind[0] == "b"
    if has_blocks and values.dim() < first + 2:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={first - 1} + 2) but got {values.dim()}"
        )
    height, width = values.shape[first : first + 2] if has_blocks else (1, 1)
    if size is None:
        count = int(others.max()) + 1 if others.numel() else 0
        matrix = [begins.shape[-1] - 1, count]
        if kind[-1] == "c":
            matrix.reverse()
        matrix = [matrix[0] * height, matrix[1] * width]
        size = (*begins.shape[:-1], *matrix, *values.shape[first + 2 * has_blocks :])
    if _checks_invariants if check_invariants is None else check_invariants:
        _check_compressed(kind, begins, others, values, tuple(size))
    return make_compressed(layout, begins, others, _own(values, requires_grad), tuple(size))


def _check_compressed(kind, begins, others, values, size):
    begin_name, other_name, count_name, limit_name = _NAMES[kind]
    batch = begins.dim() - 1
    rows, cols = size[batch], size[batch + 1]
    if kind[0] == "b":
        for at, each in enumerate(values.shape[batch + 1 : batch + 3]):
            if size[batch + at] % each:
                raise RuntimeError(
                    f"tensor shape[{batch + at}] (={size[batch + at]}) must be divisible with "
                    f"blocksize[{at}] (={each}) as defined by values shape"
                )
        rows, cols = rows // values.shape[batch + 1], cols // values.shape[batch + 2]
    count, limit = (rows, cols) if kind[-1] == "r" else (cols, rows)
    nnz = others.shape[-1]

    def demand(truth, text):
        if not truth:
            raise RuntimeError(f"`{text}` is not satisfied.")

    if begins.shape[-1] != count + 1:
        raise RuntimeError(
            f"{begin_name}.shape[-1] must be equal to the number of {count_name[1:]} + 1 = "
            f"{count + 1}, but got {begins.shape[-1]}"
        )
    if values.shape[batch] != nnz:
        raise RuntimeError(
            f"number of specified elements must be equal to {other_name}.shape[-1] = {nnz}, but "
            f"got {values.shape[batch]}"
        )
    demand(bool((begins[..., 0] == 0).all()), f"{begin_name}[..., 0] == 0")
    demand(bool((begins[..., -1] == nnz).all()), f"{begin_name}[..., -1] == nnz")
    steps = begins.diff(dim=-1)
    demand(
        bool(((steps >= 0) & (steps <= limit)).all()),
        f"0 <= {begin_name}[..., 1:] - {begin_name}[..., :-1] <= {limit_name}",
    )
    demand(bool(((others >= 0) & (others < limit)).all()), f"0 <= {other_name} < {limit_name}")


def sparse_csr_tensor(
    crow_indices,
    col_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by its rows: row r has the entries crow_indices[r] up to crow_indices[r + 1].

    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3., 4.]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    return _make_compressed(
        "csr",
        crow_indices,
        col_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


def sparse_csc_tensor(
    ccol_indices,
    row_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by its columns: column c has the entries ccol_indices[c] up to ccol_indices[c + 1].

    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3., 4.]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return _make_compressed(
        "csc",
        ccol_indices,
        row_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


def sparse_bsr_tensor(
    crow_indices,
    col_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by its rows of blocks, which are the values.

    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[3., 4.]]]).to_dense()
    tensor([[0., 0., 3., 4.]])
    """
    return _make_compressed(
        "bsr",
        crow_indices,
        col_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


def sparse_bsc_tensor(
    ccol_indices,
    row_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by its columns of blocks, which are the values.

    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[3., 4.]]]).to_dense()
    tensor([[0., 0.],
            [3., 4.]])
    """
    return _make_compressed(
        "bsc",
        ccol_indices,
        row_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by its rows or columns, as `layout` says.

    >>> torch.sparse_compressed_tensor(
    ...     [0, 1, 2], [1, 0], [3., 4.], layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if layout in (None, torch.strided, torch.sparse_coo):
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{'none' if layout is None else layout}"
        )
    return _make_compressed(
        str(layout)[-3:],
        compressed_indices,
        plain_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )
