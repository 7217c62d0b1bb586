"""Small matrices, which have ways of their own, and matrices with NaN."""

import mindtorch_v2 as torch
import numpy as np
import pytest

from tests.functions.test_linalg import REAL, assert_close, make


def hard_symmetric(n, dtype):
    """Symmetric matrices whose eigenvalues are equal, far apart, tiny, or easily lost."""
    index = torch.arange(n, dtype=dtype)
    ones = torch.ones(n, 1, dtype=dtype)
    random = make((n, n), dtype)
    random = random + random.mT
    orthogonal = torch.linalg.qr(make((n, n), dtype, 1)).Q
    beside = torch.ones(n - 1, dtype=dtype)
    yield "zero", torch.zeros(n, n, dtype=dtype)
    yield "identity", torch.eye(n, dtype=dtype)
    yield "diagonal", torch.diag(n / 2 - index)
    yield "rank 1", ones @ ones.mT
    yield "reflection", torch.eye(n, dtype=dtype) - 2 * ones @ ones.mT / n
    yield (
        "Wilkinson",
        (torch.diag((index - (n - 1) / 2).abs()) + torch.diag(beside, 1) + torch.diag(beside, -1)),
    )
    yield "no diagonal", torch.diag(beside, 1) + torch.diag(beside, -1)
    graded = 10.0 ** -(index * 0.5)
    yield "graded", random * graded[:, None] * graded
    yield "graded upwards", random * graded.flip(0)[:, None] * graded.flip(0)
    yield "clusters", (orthogonal * (1 + 1e-6 * (index % 3))) @ orthogonal.mT
    yield "blocks", torch.block_diag(random[: n // 2, : n // 2], random[n // 2 :, n // 2 :])
    for scale in (1e-36, 1e-15, 1e15, 1e36):
        yield f"times {scale}", random * scale


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16, 17, 33, 64, 80, 81])
def test_eigenvalues(n, dtype):
    eps = torch.finfo(dtype).eps
    for name, a in hard_symmetric(n, dtype):
        a = (a + a.mT) / 2
        values, vectors = torch.linalg.eigh(a)
        assert (values[1:] >= values[:-1]).all(), name
        wide, turns = a.to(torch.float64), vectors.to(torch.float64)
        size = wide.abs().max().clamp(min=1e-300)
        wide, values = wide / size, values.to(torch.float64) / size
        wrong = (turns.mT @ turns - torch.eye(n, dtype=torch.float64)).abs().max()
        assert wrong <= 10 * eps * n**0.5, name
        wrong = (wide @ turns - turns * values).abs().max()
        assert wrong <= 20 * eps * n, name  # n: what the matrix of ones makes of a vector
        expected = np.linalg.eigvalsh(wide.numpy())
        assert np.abs(values.numpy() - expected).max() <= 10 * eps * n, name


def hard_tall(m, n, dtype):
    """Matrices whose singular values are equal, far apart, tiny, or easily lost."""
    for name, a in hard_symmetric(n, dtype):
        yield name, torch.cat([a, torch.zeros(m - n, n, dtype=dtype)])
    random = make((m, n), dtype)
    grades = 10.0 ** -(torch.arange(n, dtype=dtype) * 0.3)
    yield "random", random
    yield "graded columns", random * grades
    yield "graded rows", random * 10.0 ** -(torch.arange(m, dtype=dtype) * 0.2)[:, None]
    yield "orthogonal", torch.linalg.qr(random).Q
    yield "equal columns", random[:, :1].expand(m, n)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16, 17, 24, 25])
def test_singular_values(n, dtype):
    eps = torch.finfo(dtype).eps
    for rows in (n, n + 3, 64, 65):
        for name, a in hard_tall(rows, n, dtype):
            u, s, vh = torch.linalg.svd(a, full_matrices=False)
            assert (s[1:] <= s[:-1]).all(), name
            assert (s >= 0).all(), name
            size = a.to(torch.float64).abs().max().clamp(min=1e-300)
            wide, values = a.to(torch.float64) / size, s.to(torch.float64) / size
            u, vh = u.to(torch.float64), vh.to(torch.float64)
            identity = torch.eye(n, dtype=torch.float64)
            assert (u.mT @ u - identity).abs().max() <= 10 * eps * rows**0.5, name
            assert (vh @ vh.mT - identity).abs().max() <= 10 * eps * rows**0.5, name
            assert ((u * values) @ vh - wide).abs().max() <= 10 * eps * rows, name
            expected = np.linalg.svd(wide.numpy(), compute_uv=False)
            assert np.abs(values.numpy() - expected).max() <= 10 * eps * rows, name


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 16, 31, 64, 130])
def test_least_squares(n, dtype):
    for rows, columns in ((n, 1), (n + 3, 9), (2 * n + 1, 16), (n, 37)):
        a, x = make((2, rows, n), dtype), make((2, n, columns), dtype, 1)
        if rows == n:
            a = a + 3 * torch.eye(n, dtype=dtype)
        for scale in (1, 1e-30, 1e30):  # these may be out of the range of squares
            found = torch.linalg.lstsq(a * scale, a @ x)
            assert_close(found.solution * scale, x)
            assert (found.rank == n).all()
        b = make((2, rows, columns), dtype, 2)
        rest = a.mT @ (a @ torch.linalg.lstsq(a, b).solution - b)
        assert_close(rest, torch.zeros(2, n, columns))
        if n > 2:
            a[1, :, 1] = a[1, :, 0]
            found = torch.linalg.lstsq(a, a @ x)
            assert found.rank.tolist() == [n, n - 1]
            assert_close(a @ found.solution, a @ x)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [3, 16, 100, 400])
def test_nan(n, dtype):
    a = 2 * torch.eye(n, dtype=dtype)
    for bad in (torch.nan, torch.inf):
        a[1, 1] = bad
        with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 2"):
            torch.linalg.cholesky(a)
    a[1, 1] = torch.nan
    assert torch.linalg.solve(a, torch.ones(n, dtype=dtype)).isnan().any()
    assert torch.linalg.inv(a).isnan().any()
    assert torch.linalg.eigh(a).eigenvalues.isnan().any()
    with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
        torch.linalg.svd(a)
