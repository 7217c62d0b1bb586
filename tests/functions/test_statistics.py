"""Quantiles, covariances, histograms, integrals, windows and distances against NumPy."""

import numpy as np
import pytest

X = np.random.RandomState(3).randn(4, 6)
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def close(got, want, atol=1e-9):
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, atol=atol, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_quantile(torch, method):
    x, q = torch.tensor(X), [0.1, 0.5, 0.77, 1.0]
    for axis in (None, 0, 1):
        for keep in (False, True):
            got = torch.quantile(
                x, torch.tensor(q, dtype=x.dtype), axis, keep, interpolation=method
            )
            close(got, np.quantile(X, q, axis=axis, method=method, keepdims=keep))
            close(x.quantile(0.3, axis, keep, interpolation=method),
                  np.quantile(X, 0.3, axis=axis, method=method, keepdims=keep))  # fmt: skip


def test_quantiles_of_nan(torch):
    holes = X.copy()
    holes[1, 2] = np.nan
    x = torch.tensor(holes)
    assert torch.quantile(x, 0.5, dim=1).isnan().tolist() == [False, True, False, False]
    close(torch.nanquantile(x, 0.3, dim=1), np.nanquantile(holes, 0.3, axis=1))
    close(x.nanquantile(0.3), np.nanquantile(holes, 0.3))


def test_mistakes_of_quantile(torch):
    x = torch.tensor(X)
    for call, text in (
        (lambda: torch.quantile(x, 1.5), r"q must be in the range \[0, 1\] but got 1.5"),
        (lambda: torch.quantile(x.long(), 0.5), "input tensor must be either float or double"),
        (lambda: torch.quantile(x[:0], 0.5), "input tensor must be non-empty"),
        (lambda: torch.quantile(x, 0.5, interpolation="cubic"), "interpolation must be one of"),
        (lambda: torch.quantile(x, torch.tensor([0.5])), "q tensor must be same dtype"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.quantile(x, 0.5, dim=2)


def test_cov_and_corrcoef(torch):
    x = torch.tensor(X)
    counts, weights = [1, 2, 3, 1, 1, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    close(torch.cov(x), np.cov(X))
    close(x.cov(correction=0), np.cov(X, ddof=0))
    aweights = torch.tensor(weights, dtype=x.dtype)
    got = torch.cov(x, fweights=torch.tensor(counts), aweights=aweights)
    close(got, np.cov(X, fweights=counts, aweights=weights))
    close(torch.cov(x[0]), np.cov(X[0]))
    close(torch.corrcoef(x), np.corrcoef(X))
    with pytest.raises(RuntimeError, match="two or fewer dimensions"):
        torch.cov(x[None])


def test_histograms(torch):
    x = torch.tensor(X)
    hist, edges = torch.histogram(x, 5)
    want, want_edges = np.histogram(X, 5)
    close(hist, want.astype(float))
    close(edges, want_edges)
    close(torch.histogram(x, 4, range=(-1.0, 1.0), density=True).hist,
          np.histogram(X, 4, range=(-1.0, 1.0), density=True)[0])  # fmt: skip
    bins = torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=x.dtype)
    close(x.histogram(bins).hist, np.histogram(X, bins.numpy())[0].astype(float))
    hist, edges = torch.histogramdd(x[:, :2], [3, 2])
    want, want_edges = np.histogramdd(X[:, :2], [3, 2])
    close(hist, want)
    assert all(np.allclose(e.numpy(), w) for e, w in zip(edges, want_edges, strict=True))


def test_integrals_and_derivatives(torch):
    x, places = torch.tensor(X), np.arange(6.0) ** 1.5
    for axis in (0, 1):
        close(torch.trapezoid(x, dim=axis), np.trapezoid(X, axis=axis))
        close(torch.trapz(x, dx=0.3, dim=axis), np.trapezoid(X, dx=0.3, axis=axis))
    close(torch.trapezoid(x, torch.tensor(places)), np.trapezoid(X, places))
    close(torch.cumulative_trapezoid(x)[:, -1], np.trapezoid(X))
    for order in (1, 2):
        for got, want in zip(
            torch.gradient(x, spacing=(2.0, torch.tensor(places)), edge_order=order),
            np.gradient(X, 2.0, places, edge_order=order),
            strict=True,
        ):
            close(got, want)


def test_windows(torch):
    for name in ("bartlett", "blackman", "hamming", "hann"):
        window = {"hann": np.hanning}.get(name) or getattr(np, name)
        for length in (1, 2, 7, 16):
            make = getattr(torch, f"{name}_window")
            close(make(length, periodic=False, dtype=torch.float64), np.clip(window(length), 0, 1))
            close(make(length, dtype=torch.float64), np.clip(window(length + 1), 0, 1)[:length]
                  if length > 1 else np.ones(1))  # fmt: skip
    close(torch.kaiser_window(9, False, 5.0, dtype=torch.float64), np.kaiser(9, 5.0))
    with pytest.raises(RuntimeError, match="requires non-negative window_length"):
        torch.hann_window(-1)


def test_cdist(torch):
    for count in (4, 40):
        a, b = np.random.RandomState(1).randn(count, 3), np.random.RandomState(2).randn(5, 3)
        difference = np.abs(a[:, None] - b)
        for p in (1.0, 2.0, 3.0):
            want = (difference**p).sum(-1) ** (1 / p)
            close(torch.cdist(torch.tensor(a), torch.tensor(b), p), want, 1e-7)
        close(torch.cdist(torch.tensor(a), torch.tensor(b), float("inf")), difference.max(-1))
    x = torch.randn(30, 3, dtype=torch.float64).requires_grad_()
    torch.cdist(x, x).sum().backward()
    assert bool(x.grad.isfinite().all())


def test_mantissas_and_exponents(torch):
    values = np.array([0.0, -0.0, 1.0, -6.0, 1e-40, 3e38, np.inf, -np.inf, np.nan], np.float32)
    mantissa, exponent = torch.frexp(torch.tensor(values))
    want_mantissa, want_exponent = np.frexp(values)
    np.testing.assert_array_equal(mantissa.numpy(), want_mantissa)
    finite = np.isfinite(values)
    np.testing.assert_array_equal(exponent.numpy()[finite], want_exponent[finite])
    close(torch.ldexp(torch.tensor(X), torch.tensor(3)), np.ldexp(X, 3))


def test_places(torch):
    mask = torch.tensor([[0, 1, 0], [1, 0, 1]])
    assert mask.nonzero_static(size=2).tolist() == [[0, 1], [1, 0]]
    assert mask.nonzero_static(size=4, fill_value=9).tolist() == [[0, 1], [1, 0], [1, 2], [9, 9]]
    rows, columns = torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 2]


def test_index_reduce_and_renorm(torch):
    x = torch.ones(3, 2)
    index, source = torch.tensor([0, 0, 2]), torch.tensor([[2.0, 3.0], [4.0, 5.0], [6.0, 0.5]])
    assert x.index_reduce(0, index, source, "prod").tolist() == [[8, 15], [1, 1], [6, 0.5]]
    assert x.index_reduce(0, index, source, "amax").tolist() == [[4, 5], [1, 1], [6, 1]]
    mean = x.index_reduce(0, index, source, "mean", include_self=False)
    assert mean.tolist() == [[3, 4], [1, 1], [6, 0.5]]
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_reduce(0, torch.tensor([3]), source[:1], "amax")
    small = torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    np.testing.assert_allclose(small.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)


@pytest.mark.parametrize("name", ["std", "var"])
def test_moments_in_out(torch, name):
    function, x = getattr(torch, name), torch.tensor(X)
    for arguments, options in [
        ((1,), {"unbiased": True, "keepdim": False}),
        ((1, False), {}),
        (((0, 1), False, True), {}),
        ((None, False, True), {}),
        ((0,), {"unbiased": False}),
    ]:
        wanted = function(x, *arguments, **options)
        out = torch.empty(0, dtype=x.dtype)
        assert function(x, *arguments, **options, out=out) is out
        assert torch.equal(out, wanted)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 17, 63, 300, 5000])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_among_equal_elements(torch, name, length):
    # As in torch, it is the one that a stable sort brings to the middle.
    torch.manual_seed(length)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int32):
        x = torch.randint(0, max(2, length // 3), (4, length)).to(dtype)
        found = getattr(x, name)(-1)
        ordered = x.sort(dim=-1, stable=True)
        middle = (length - 1) // 2
        assert found.values.tolist() == ordered.values[:, middle].tolist()
        assert found.indices.tolist() == ordered.indices[:, middle].tolist()


def test_the_median_of_a_line_with_nans(torch):
    nan = float("nan")
    x = torch.tensor([[2.0, nan, 2.0, 2.0, nan], [nan, nan, 1.0, 1.0, 0.0]])
    assert x.median(-1).indices.tolist() == [1, 0]
    assert x.nanmedian(-1).indices.tolist() == [2, 2]
