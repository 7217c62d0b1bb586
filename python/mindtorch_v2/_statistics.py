"""Quantiles, covariances and histograms, made of ops."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name, input, q, interpolation):
    def check(good, text):
        if not good:
            raise RuntimeError(f"{name}() {text}")

    check(input.numel() > 0, "input tensor must be non-empty")
    check(q.dim() <= 1, f"q must be a scalar or 1D tensor, but got {q.dim()}D tensor")
    check(
        input.dtype in (torch.float32, torch.float64),
        "input tensor must be either float or double dtype",
    )
    check(input.dtype == q.dtype, "q tensor must be same dtype as the input tensor")
    check(input.device == q.device, "q tensor must be on the same device as the input tensor")
    check(
        interpolation in _INTERPOLATIONS,
        "interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
        f"{interpolation}",
    )
    if not input.is_meta:
        check(bool(((q >= 0) & (q <= 1)).all()), "q values must be in the range [0, 1]")


def _wrap_dim(dim, ndim):
    most = max(ndim, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], "
            f"but got {dim})"
        )
    return dim % most


def _quantile(name, input, q, dim, keepdim, interpolation, out, ignores_nan):
    if not isinstance(q, torch.Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = torch.tensor(q, dtype=input.dtype, device=input.device)
    _check_quantile(name, input, q, interpolation)
    flat = dim is None
    shape = [1] * input.dim() if flat else list(input.shape)
    if not flat:
        dim = _wrap_dim(dim, input.dim())
        if shape:
            shape[dim] = 1
    rows = input.flatten() if flat or input.dim() == 0 else input.movedim(dim, -1)
    sorted_rows = rows.sort(dim=-1)[0]
    # NaN sorts last: a row with one has it as every quantile, or as many fewer numbers.
    nan = sorted_rows.isnan()
    if ignores_nan:
        last = (~nan).sum(-1, keepdim=True).to(input.dtype) - 1
        ranks = q.reshape([-1]) * last
        ranks = ranks.clamp(min=0)
    else:
        last = float(rows.shape[-1] - 1)
        ranks = (q.reshape([-1]) * last).expand([*rows.shape[:-1], q.numel()])
        ranks = torch.where(nan.any(-1, keepdim=True), last, ranks)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.to(torch.int64)
    values = sorted_rows.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weights = torch.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        values = values.lerp(sorted_rows.gather(-1, ranks.ceil().to(torch.int64)), weights)
    # The quantiles come first, and the dimension is gone unless it is kept.
    values = values.movedim(-1, 0)
    if keepdim:
        values = values.reshape([q.numel(), *shape])
    if q.dim() == 0:
        values = values.squeeze(0)
    return values if out is None else out.resize_(values.shape).copy_(values)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The quantiles `q` of the elements, of all or along `dim`.

    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """`quantile` of the elements that are not NaN.

    >>> torch.nanquantile(torch.tensor([0.0, torch.nan, 2.0]), 0.5)
    tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)


def _check_weights(name, weights, count, is_whole):
    kinds = "integral" if is_whole else "floating point"
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.dim()} dimensions"
        )
    whole = not weights.is_floating_point() and weights.dtype != torch.bool
    if whole != is_whole:
        raise RuntimeError(f"cov(): expected {name} to have {kinds} dtype but got {name} with "
                           f"{weights.type().removeprefix('torch.').removesuffix('Tensor')} "
                           "dtype")  # fmt: skip
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {weights.numel()} != {count}"
        )
    if not weights.is_meta and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables: the rows, with an observation in each column.

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.dim()} dimensions"
        )
    if input.dtype == torch.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    count = rows.size(1)
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, False)
        weights = aweights if weights is None else weights * aweights
    total = count if weights is None else weights.sum()
    if weights is not None and not weights.is_meta and bool(total == 0):
        raise ZeroDivisionError("cov(): weights sum to zero, can't be normalized")
    mean = (rows if weights is None else rows * weights).sum(1, keepdim=True) / total
    if weights is None:
        norm = total - correction
    elif correction != 0 and aweights is not None:
        norm = total - correction * (weights * aweights).sum() / total
    else:
        norm = total - correction
    if isinstance(norm, torch.Tensor):
        norm = norm.clamp(min=0)
    else:
        norm = max(norm, 0)
    centred = rows - mean
    weighted = centred if weights is None else centred * weights
    return ((centred @ weighted.to(centred.dtype).mT) / norm).squeeze()


def corrcoef(input):
    """The correlation coefficients of variables, the rows.

    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.dim()} dimensions"
        )
    matrix = torch.cov(input)
    if matrix.dim() == 0:
        return matrix / matrix
    deviations = matrix.diagonal().sqrt()
    matrix = matrix / deviations.unsqueeze(1) / deviations.unsqueeze(0)
    return matrix.clip(-1, 1)


def _edges(values, bins, bounds):
    """Edges of bins of one width between the bounds, or between the extremes of the values."""
    if bounds is not None:
        low, high = bounds
        if not low <= high:
            raise RuntimeError(
                "torch.histogramdd(): max should not be less than min, but got min "
                f"{low} max {high} for dimension 0"
            )
    elif values.numel() == 0:
        low, high = 0.0, 1.0
    else:
        low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=values.dtype, device=values.device)


def _bin_of(values, edges, is_uniform):
    """The bin of each value; the last bin holds its upper edge. Values outside get -1."""
    count = edges.numel() - 1
    if is_uniform:
        low, high = edges[0], edges[-1]
        place = ((values - low) * count / (high - low)).to(torch.int64).clamp(0, count - 1)
        # Rounding may have put it one bin too far.
        place = place - ((values < edges[place]) & (place > 0)).to(torch.int64)
        place = place + ((values >= edges[place + 1]) & (place < count - 1)).to(torch.int64)
    else:
        place = torch.searchsorted(edges, values.contiguous(), right=True) - 1
        place = torch.where(values == edges[-1], count - 1, place)
    inside = (values >= edges[0]) & (values <= edges[-1])
    return torch.where(inside, place, -1)


def _counts(points, edges, uniform, weight, density):
    sizes = [edge.numel() - 1 for edge in edges]
    total = 1
    place = torch.zeros(points.size(0), dtype=torch.int64, device=points.device)
    inside = torch.ones(points.size(0), dtype=torch.bool, device=points.device)
    for i, edge in enumerate(edges):
        bins = _bin_of(points[:, i], edge, uniform)
        inside = inside & (bins >= 0)
        place = place * sizes[i] + bins.clamp(min=0)
        total *= sizes[i]
    weights = torch.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    weights = torch.where(inside, weights, 0)
    hist = torch.zeros(total, dtype=points.dtype, device=points.device)
    hist = hist.index_add(0, place, weights.to(points.dtype)).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for i, edge in enumerate(edges):
            shape = [-1 if k == i else 1 for k in range(len(edges))]
            hist = hist / edge.diff().reshape(shape)
    return hist


def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """How many elements fall into each bin, and the edges of the bins.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(1.0, 3.0)).hist
    tensor([2., 1.])
    """
    if not input.is_floating_point():
        raise NotImplementedError("histogram is only for floating point tensors")
    uniform = not isinstance(bins, torch.Tensor)
    values = input.reshape(-1)
    if uniform and bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    edges = _edges(values, bins, range) if uniform else bins
    hist = _counts(values.unsqueeze(1), [edges], uniform, weight, density)
    if out is not None:
        out[0].resize_(hist.shape).copy_(hist)
        out[1].resize_(edges.shape).copy_(edges)
        hist, edges = out
    return torch.return_types.histogram((hist, edges))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """The histogram of points: the last dimension holds their coordinates.

    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    count = input.size(-1)
    points = input.reshape(-1, count)
    uniform = not isinstance(bins, (list, tuple)) or not isinstance(bins[0], torch.Tensor)
    if uniform:
        sizes = [bins] * count if isinstance(bins, int) else list(bins)
        bounds = (
            [None] * count if range is None else list(zip(range[::2], range[1::2], strict=True))
        )
        edges = [_edges(points[:, i], sizes[i], bounds[i]) for i, _ in enumerate(sizes)]
    else:
        edges = list(bins)
    hist = _counts(points, edges, uniform, weight, density)
    return torch.return_types.histogramdd((hist, tuple(edges)))


_make_overridable(globals())
