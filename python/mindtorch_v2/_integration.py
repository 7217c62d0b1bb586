"""Integrals and derivatives of sampled functions, made of ops."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


def _spacing(name, y, x, dx, dim):
    """The distance between neighbours along `dim`: a number, or a tensor that broadcasts."""
    if x is None:
        return 1 if dx is None else dx
    if not isinstance(x, torch.Tensor):
        return x
    if x.dim() == 0:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[dim] = -1
        x = x.reshape(shape)
        return x.diff(dim=dim)
    if x.dim() < y.dim():
        # Sizes of one before, as broadcasting does.
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    return x.diff(dim=dim)


def _panels(name, y, x, dx, dim):
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes x or dx, not both")
    if y.dtype == torch.bool or (isinstance(x, torch.Tensor) and x.dtype == torch.bool):
        side = "y" if y.dtype == torch.bool else "x"
        raise RuntimeError(f"{name}: received a bool input for `{side}`, but bool is not supported")
    dim = dim if dim >= 0 else dim + y.dim()
    spacing = _spacing(name, y, x, dx, dim)
    left = y.narrow(dim, 0, max(y.size(dim) - 1, 0))
    right = y.narrow(dim, min(1, y.size(dim)), max(y.size(dim) - 1, 0))
    return (left + right) * spacing / 2.0


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral by the trapezoidal rule along `dim`.

    >>> torch.trapezoid(torch.tensor([0.0, 1.0, 2.0]))
    tensor(2.)
    """
    return _panels("trapezoid", y, x, dx, dim).sum(dim)


def trapz(y, x=None, *, dx=None, dim=-1):
    """The same as `trapezoid`.

    >>> torch.trapz(torch.tensor([0.0, 1.0, 2.0]))
    tensor(2.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral by the trapezoidal rule up to each point but the first.

    >>> torch.cumulative_trapezoid(torch.tensor([0.0, 1.0, 2.0]))
    tensor([0.5000, 2.0000])
    """
    return _panels("cumulative_trapezoid", y, x, dx, dim).cumsum(dim)


def _gradient_along(values, spacing, dim, edge_order):
    n = values.size(dim)
    if n < edge_order + 1:
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )

    def at(start, count):
        return values.narrow(dim, start, count)

    if not isinstance(spacing, torch.Tensor) or spacing.dim() == 0:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * spacing)
        first = (at(1, 1) - at(0, 1)) / spacing
        last = (at(n - 1, 1) - at(n - 2, 1)) / spacing
        if edge_order == 2:
            first = (-3 * at(0, 1) + 4 * at(1, 1) - at(2, 1)) / (2 * spacing)
            last = (3 * at(n - 1, 1) - 4 * at(n - 2, 1) + at(n - 3, 1)) / (2 * spacing)
        return torch.cat([first, inner, last], dim)

    shape = [1] * values.dim()
    shape[dim] = -1
    steps = spacing.diff().reshape(shape)
    before, after = steps.narrow(dim, 0, n - 2), steps.narrow(dim, 1, n - 2)
    inner = (
        at(2, n - 2) * before**2 + at(1, n - 2) * (after**2 - before**2) - at(0, n - 2) * after**2
    ) / (before * after * (before + after))
    h0, h1 = steps.narrow(dim, 0, 1), steps.narrow(dim, min(1, n - 2), 1)
    e0, e1 = steps.narrow(dim, n - 2, 1), steps.narrow(dim, max(n - 3, 0), 1)
    first = (at(1, 1) - at(0, 1)) / h0
    last = (at(n - 1, 1) - at(n - 2, 1)) / e0
    if edge_order == 2:
        first = (
            -(2 * h0 + h1) / (h0 * (h0 + h1)) * at(0, 1)
            + (h0 + h1) / (h0 * h1) * at(1, 1)
            - h0 / (h1 * (h0 + h1)) * at(2, 1)
        )
        last = (
            e0 / (e1 * (e0 + e1)) * at(n - 3, 1)
            - (e0 + e1) / (e0 * e1) * at(n - 2, 1)
            + (2 * e0 + e1) / (e0 * (e0 + e1)) * at(n - 1, 1)
        )
    return torch.cat([first, inner, last], dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivative along each dimension, by differences of neighbours.

    >>> torch.gradient(torch.tensor([0.0, 1.0, 4.0, 9.0]))
    (tensor([1., 2., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    dims = [d if d >= 0 else d + input.dim() for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("dim 0 appears multiple times in the list of dims")
    if isinstance(spacing, (list, tuple)):
        if len(spacing) != len(dims):
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                f"equal to 'self.dim() = {input.dim()}', since dim argument was not given, but got "
                f"a list of length {len(spacing)}"
                if dim is None
                else "torch.gradient expected spacing to be unspecified, a scalar or it's spacing "
                "and dim arguments to have the same length, but got a spacing argument of length "
                f"{len(spacing)} and a dim argument of length {len(dims)}."
            )
        spacings = list(spacing)
    else:
        spacings = [spacing] * len(dims)
    values = input if input.is_floating_point() else input.to(torch.get_default_dtype())
    return tuple(
        _gradient_along(values, space, d, edge_order)
        for d, space in zip(dims, spacings, strict=True)
    )


_make_overridable(globals())
