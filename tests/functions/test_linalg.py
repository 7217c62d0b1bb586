"""torch.linalg: what its factors multiply to, gradients, errors, meta tensors, pipelines."""

import mindtorch_v2 as torch
import numpy as np
import pytest

REAL = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
ALL = REAL + COMPLEX
SHAPES = (
    (3, 3),
    (4, 3),
    (3, 4),
    (2, 3, 3),
    (2, 1, 4, 2),
    (0, 3, 3),
    (2, 0, 0),
    (2, 3, 0),
    (70, 65),
    (150, 40),
    (40, 150),
)


def make(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, size=shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(-1, 1, size=shape)
    return torch.from_numpy(values).to(dtype)


def well_conditioned(shape, dtype, seed=0):
    return make(shape, dtype, seed) + 3 * torch.eye(shape[-1], dtype=dtype)


def hermitian(shape, dtype):
    a = well_conditioned(shape, dtype)
    return a @ a.mH


def assert_close(found, wanted):
    found, wanted = found.numpy(), wanted.numpy()
    single = found.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(found, wanted, *((1e-3, 1e-3) if single else (1e-9, 1e-9)))


def identity_like(product):
    return torch.eye(product.shape[-1], dtype=product.dtype).expand(product.shape)


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", (131, 530))
class TestLargeMatrices:
    """Those that are divided among threads."""

    def test_solutions(self, n, dtype, threads):
        a = well_conditioned((n, n), dtype) + 60 * torch.eye(n, dtype=dtype).flip(0)
        b = make((n, 40), dtype, 1)
        assert_close(a @ torch.linalg.solve(a, b), b)
        assert_close(torch.linalg.solve(a, b.mT, left=False) @ a, b.mT)
        assert_close(torch.linalg.inv(a) @ a, torch.eye(n, dtype=dtype))
        p, lower, upper = torch.linalg.lu(a[:, : n - 50])
        assert_close(p @ lower @ upper, a[:, : n - 50])
        p, lower, upper = torch.linalg.lu(a[: n - 50])
        assert_close(p @ lower @ upper, a[: n - 50])
        assert lower.abs().max() <= 1
        x = torch.linalg.solve_triangular(upper[:, : n - 50], b[: n - 50], upper=True)
        assert_close(upper[:, : n - 50] @ x, b[: n - 50])

    def test_cholesky(self, n, dtype, threads):
        a = hermitian((n, n), dtype) + torch.eye(n, dtype=dtype)  # no pivot is nearly zero
        lower = torch.linalg.cholesky(a)
        assert_close(lower @ lower.mT, a)
        assert_close(torch.linalg.cholesky(a, upper=True), lower.mT)
        assert (lower.triu(1) == 0).all()
        a[n - 3, n - 3] = -1
        assert torch.linalg.cholesky_ex(a).info == n - 2

    def test_a_column_of_zeros_is_found(self, n, dtype, threads):
        a = well_conditioned((n, n), dtype)
        a[:, 70] = 0
        assert torch.linalg.lu_factor_ex(a).info == 71
        with pytest.raises(torch.linalg.LinAlgError, match="singular"):
            torch.linalg.inv(a)

    def test_columns_without_a_pivot(self, n, dtype, threads):
        a = well_conditioned((n, n), dtype)
        a[100, 5] = float("nan")
        assert torch.linalg.solve(a, torch.ones(n, 1, dtype=dtype)).isnan().any()

    @pytest.mark.parametrize("scale", (1, 1e-30, 1e30))
    def test_orthogonal_factors(self, n, dtype, scale, threads):
        a = make((n, n - 60), dtype)
        q, r = torch.linalg.qr(a * scale, mode="complete")
        assert_close(q.mT @ q, torch.eye(n, dtype=dtype))
        assert_close(q @ (r / scale), a)
        h, tau = torch.geqrf(a)
        assert_close(torch.linalg.householder_product(h, tau), torch.linalg.qr(a).Q)
        b = make((n, 45), dtype, 1)
        q, _ = torch.linalg.qr(a, mode="complete")
        assert_close(torch.ormqr(h, tau, b), q @ b)
        assert_close(torch.ormqr(h, tau, b, transpose=True), q.mT @ b)
        assert_close(torch.ormqr(h, tau, b.mT, left=False), b.mT @ q)
        assert_close(torch.ormqr(h, tau, b.mT, left=False, transpose=True), b.mT @ q.mT)

    @pytest.mark.parametrize("scale", (1, 1e-30, 1e30))
    def test_eigenvalues(self, n, dtype, scale, threads):
        a = make((n, n), dtype)
        a = a + a.mT
        for triangle, given in (("L", a.tril()), ("U", a.triu())):
            values, vectors = torch.linalg.eigh(given * scale, UPLO=triangle)
            assert_close(vectors.mT @ vectors, torch.eye(n, dtype=dtype))
            assert_close((vectors * (values / scale)) @ vectors.mT, a)

    @pytest.mark.parametrize("scale", (1, 1e-30, 1e30))
    @pytest.mark.parametrize("columns", (40, 100))
    def test_singular_values(self, n, columns, dtype, scale, threads):
        tall = make((n, columns), dtype)
        for a in (tall, tall.mT):
            for full in (False, True):
                u, s, vh = torch.linalg.svd(a * scale, full_matrices=full)
                assert_close((u[:, :columns] * (s / scale)) @ vh[:columns], a)
                assert_close(u.mT @ u, torch.eye(u.shape[1], dtype=dtype))
                assert_close(vh @ vh.mT, torch.eye(vh.shape[0], dtype=dtype))
                assert (s[1:] <= s[:-1]).all()

    def test_least_squares(self, n, dtype, threads):
        a, x = make((n, n - 60), dtype), make((n - 60, 40), dtype, 1)
        found = torch.linalg.lstsq(a, a @ x)
        assert_close(found.solution, x)
        assert found.rank == n - 60
        b = make((n, 40), dtype, 2)
        assert_close(a.mT @ (a @ torch.linalg.lstsq(a, b).solution - b), torch.zeros(n - 60, 40))
        a[:, 3] = a[:, 5]
        found = torch.linalg.lstsq(a, a @ x)
        assert found.rank == n - 61
        assert_close(a @ found.solution, a @ x)

    def test_several_at_once(self, n, dtype, threads):
        a = torch.stack([well_conditioned((n, n), dtype, seed) for seed in range(3)])
        assert_close(torch.linalg.inv(a) @ a, torch.eye(n, dtype=dtype).expand(a.shape))
        values, vectors = torch.linalg.eigh(a + a.mT)
        assert_close((vectors * values.unsqueeze(-2)) @ vectors.mT, a + a.mT)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", SHAPES)
class TestFactors:
    def test_svd(self, shape, dtype):
        a = make(shape, dtype)
        for full in (False, True):
            u, s, vh = torch.linalg.svd(a, full_matrices=full)
            k = min(shape[-2:])
            assert s.dtype == torch.zeros(0, dtype=dtype).abs().dtype
            assert_close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
            assert_close(u.mH @ u, identity_like(u.mH @ u))
            assert_close(vh @ vh.mH, identity_like(vh @ vh.mH))
            assert bool((s[..., 1:] <= s[..., :-1]).all())
        old_u, old_s, old_v = torch.svd(a)
        assert_close((old_u * old_s.unsqueeze(-2)) @ old_v.mH, a)
        assert_close(torch.linalg.svdvals(a), s)

    def test_qr(self, shape, dtype):
        a = make(shape, dtype)
        for mode in ("reduced", "complete"):
            q, r = torch.linalg.qr(a, mode)
            assert_close(q @ r, a)
            assert_close(q.mH @ q, identity_like(q.mH @ q))
            assert_close(r, r.triu())
        assert_close(torch.linalg.qr(a, "r").R, torch.linalg.qr(a).R)

    def test_lu(self, shape, dtype):
        a = make(shape, dtype)
        p, lower, upper = torch.linalg.lu(a)
        assert_close(p @ lower @ upper, a)
        for parts in zip(
            torch.lu_unpack(*torch.linalg.lu_factor(a)), (p, lower, upper), strict=True
        ):
            assert_close(*parts)

    def test_pinv(self, shape, dtype):
        a = make(shape, dtype)
        b = torch.linalg.pinv(a)
        assert b.shape == (*shape[:-2], shape[-1], shape[-2])
        assert_close(a @ b @ a, a)
        assert_close((a @ b).mH, a @ b)

    def test_reflections(self, shape, dtype):
        a = make(shape, dtype)
        reflectors, tau = torch.geqrf(a)
        if shape[-2] >= shape[-1]:
            assert_close(torch.linalg.householder_product(reflectors, tau), torch.linalg.qr(a).Q)
        q = torch.linalg.qr(a, "complete").Q
        c = make((*shape[:-1], 2), dtype, 7)
        assert_close(torch.ormqr(reflectors, tau, c), q @ c)
        assert_close(torch.ormqr(reflectors, tau, c, transpose=True), q.mH @ c)
        assert_close(torch.ormqr(reflectors, tau, c.mT, left=False), c.mT @ q)


SQUARES = ((3, 3), (2, 4, 4), (1, 1), (0, 3, 3), (2, 0, 0), (20, 20))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", SQUARES)
class TestSquare:
    def test_inverse_and_solutions(self, shape, dtype):
        a = well_conditioned(shape, dtype)
        inverse = torch.linalg.inv(a)
        assert_close(a @ inverse, identity_like(inverse))
        b = make((*shape[:-1], 2), dtype, 5)
        assert_close(a @ torch.linalg.solve(a, b), b)
        assert_close(torch.linalg.solve(a, b.mT, left=False) @ a, b.mT)
        factors = torch.linalg.lu_factor(a)
        for adjoint, used in ((False, a), (True, a.mH)):
            assert_close(used @ torch.linalg.lu_solve(*factors, b, adjoint=adjoint), b)
            x = torch.linalg.lu_solve(*factors, b.mT, left=False, adjoint=adjoint)
            assert_close(x @ used, b.mT)

    def test_hermitian(self, shape, dtype):
        a = hermitian(shape, dtype)
        values, vectors = torch.linalg.eigh(a)
        assert_close((vectors * values.unsqueeze(-2)) @ vectors.mH, a)
        assert_close(vectors.mH @ vectors, identity_like(a))
        assert_close(torch.linalg.eigvalsh(a.triu(), "U"), values)
        lower = torch.linalg.cholesky(a)
        assert_close(lower @ lower.mH, a)
        assert_close(torch.linalg.cholesky(a, upper=True), lower.mH)
        b = make((*shape[:-1], 2), dtype, 5)
        assert_close(a @ torch.cholesky_solve(b, lower), b)
        assert_close(torch.cholesky_inverse(lower), torch.linalg.inv(a))
        factors = torch.linalg.ldl_factor(a, hermitian=True)
        assert_close(a @ torch.linalg.ldl_solve(*factors, b, hermitian=True), b)
        symmetric = a + a.mT
        factors = torch.linalg.ldl_factor(symmetric)
        assert_close(symmetric @ torch.linalg.ldl_solve(*factors, b), b)
        assert_close(torch.linalg.pinv(a, hermitian=True), torch.linalg.inv(a))

    def test_eig(self, shape, dtype):
        a = make(shape, dtype)
        values, vectors = torch.linalg.eig(a)
        assert values.dtype == (
            torch.complex64 if a.abs().dtype == torch.float32 else torch.complex128
        )
        assert_close(a.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2))
        found = np.sort_complex(torch.linalg.eigvals(a).numpy())
        np.testing.assert_allclose(found, np.sort_complex(values.numpy()), 1e-3, 1e-3)

    def test_determinants(self, shape, dtype):
        a = well_conditioned(shape, dtype) / 3
        det = torch.linalg.det(a)
        np.testing.assert_allclose(det.numpy(), np.linalg.det(a.numpy()), 1e-3, 1e-5)
        sign, logabsdet = torch.linalg.slogdet(a)
        assert_close(sign * logabsdet.exp(), det)
        if dtype.is_complex:
            assert_close(torch.logdet(a).exp(), det)

    def test_exponential(self, shape, dtype):
        a = make(shape, dtype)
        assert_close(torch.linalg.matrix_exp(a) @ torch.linalg.matrix_exp(-a), identity_like(a))
        diagonal = make(shape[:-1], dtype)
        assert_close(
            torch.linalg.matrix_exp(torch.diag_embed(diagonal)), torch.diag_embed(diagonal.exp())
        )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 4)])
def test_least_squares(shape, driver, dtype):
    a, b = make(shape, dtype), make((*shape[:-1], 2), dtype, 3)
    found = torch.linalg.lstsq(a, b, driver=driver)
    assert_close(found.solution, torch.linalg.pinv(a) @ b)
    if shape == (5, 3) and driver != "gelsy":
        assert_close(found.residuals, (a @ found.solution - b).abs().square().sum(-2))
    else:
        assert found.residuals.shape == (0,)
    if driver != "gels":
        assert (found.rank == 3 if shape != (2, 4, 4) else found.rank == 4).all()
    if driver in ("gelsd", "gelss"):
        assert_close(found.singular_values, torch.linalg.svdvals(a))


def test_ranks_of_matrices_that_have_less():
    a = torch.diag(torch.tensor([3.0, 1e-3, 0.0]))
    assert torch.linalg.matrix_rank(a) == 2
    assert torch.linalg.matrix_rank(a, atol=1e-2) == 1
    assert torch.linalg.matrix_rank(a, rtol=1e-4, hermitian=True) == 2
    assert torch.linalg.matrix_rank(a, torch.tensor(4.0)) == 0
    assert torch.linalg.pinv(a, rtol=1e-2)[1, 1] == 0
    assert torch.linalg.pinv(a)[1, 1].item() == pytest.approx(1e3)
    batch = torch.stack([a, a])
    assert torch.linalg.matrix_rank(batch, atol=torch.tensor([1e-2, 1e-6])).tolist() == [1, 2]
    found = torch.linalg.pinv(batch, atol=torch.tensor([1e-2, 0.0]))
    assert found[0, 1, 1] == 0 and found[1, 1, 1] != 0


# --- gradients ---

SQUARE = (3, 3)
L = torch.linalg


def scaled(torch_module, *tensors):
    """Numbers that do not depend on the free signs and phases of vectors."""
    return [t.abs() for t in tensors]


GRADIENTS = {
    "inv": (L.inv, well_conditioned, SQUARE),
    "inv_batch": (L.inv, well_conditioned, (2, 3, 3)),
    "det": (L.det, well_conditioned, (2, 3, 3)),
    "slogdet": (lambda a: L.slogdet(a)[1], well_conditioned, SQUARE),
    "logdet": (torch.logdet, hermitian, SQUARE),
    "cholesky": (lambda a: L.cholesky(a @ a.mH), well_conditioned, SQUARE),
    "cholesky_upper": (lambda a: L.cholesky(a @ a.mH, upper=True), well_conditioned, (2, 3, 3)),
    "lu": (lambda a: L.lu(a)[1:], well_conditioned, SQUARE),
    "lu_wide": (lambda a: L.lu(a)[1:], make, (2, 3, 5)),
    "lu_tall": (lambda a: L.lu(a)[1:], make, (5, 3)),
    "lu_factor": (lambda a: L.lu_factor(a)[0], well_conditioned, (2, 3, 3)),
    "qr": (L.qr, well_conditioned, (2, 3, 3)),
    "qr_tall": (L.qr, make, (4, 3)),
    "qr_wide": (L.qr, make, (3, 5)),
    "qr_complete": (lambda a: L.qr(a, "complete"), make, (3, 4)),
    "eigvalsh": (lambda a: L.eigvalsh(a + a.mH), well_conditioned, (2, 3, 3)),
    "eigh": (lambda a: scaled(torch, *L.eigh(a + a.mH)), make, SQUARE),
    "svdvals": (L.svdvals, make, (2, 3, 4)),
    "svd_tall": (lambda a: scaled(torch, *L.svd(a, full_matrices=False)), make, (4, 2)),
    "svd_wide": (lambda a: scaled(torch, *L.svd(a, full_matrices=False)), make, (2, 4)),
    "pinv": (L.pinv, make, (4, 2)),
    "pinv_wide": (L.pinv, make, (2, 2, 3)),
    "pinv_hermitian": (lambda a: L.pinv(a + a.mH, hermitian=True), well_conditioned, SQUARE),
    "matrix_exp": (L.matrix_exp, make, (2, 3, 3)),
    "matrix_power": (lambda a: L.matrix_power(a, -2), well_conditioned, SQUARE),
    "eig": (lambda a: scaled(torch, *L.eig(a)), make, SQUARE),
    "eigvals": (lambda a: L.eigvals(a).abs(), make, (2, 3, 3)),
    "nuclear": (lambda a: L.matrix_norm(a, "nuc"), make, (2, 3, 2)),
    "cond": (L.cond, well_conditioned, SQUARE),
}


def of_parts(function):
    """The function of real numbers, the parts of complex ones, with the parts of its results."""

    def parts(x):
        return torch.view_as_real(x) if x.is_complex() else x

    def whole(*inputs):
        found = function(*(torch.view_as_complex(x) for x in inputs))
        return tuple(map(parts, found)) if isinstance(found, (list, tuple)) else parts(found)

    return whole


def check_gradients(function, inputs):
    if inputs[0].is_complex():
        function = of_parts(function)
        inputs = [torch.view_as_real(x).clone() for x in inputs]

    def called(*inputs):
        found = function(*inputs)
        return tuple(found) if isinstance(found, list) else found

    inputs = tuple(x.requires_grad_() for x in inputs)
    assert torch.autograd.gradcheck(called, inputs)
    assert torch.autograd.gradgradcheck(called, inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    function, values, shape = GRADIENTS[name]
    check_gradients(function, [values(shape, dtype)])


SOLVERS = {
    "solve": (L.solve, (3, 3), (3, 2)),
    "solve_vector": (L.solve, (3, 3), (3,)),
    "solve_batch": (L.solve, (3, 3), (2, 3, 2)),
    "solve_right": (lambda a, b: L.solve(a, b, left=False), (2, 3, 3), (2, 2, 3)),
    "triangular": (lambda a, b: L.solve_triangular(a, b, upper=True), (3, 3), (3, 2)),
    "triangular_right": (
        lambda a, b: L.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (3, 3),
        (2, 3),
    ),
    "triangular_solve": (lambda a, b: torch.triangular_solve(b, a)[0], (3, 3), (2, 3, 2)),
    "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, a.tril()), (3, 3), (3, 2)),
    "lstsq": (lambda a, b: L.lstsq(a, b)[0], (4, 3), (4, 2)),
    "ormqr": (lambda a, b: torch.ormqr(a, a[0] * 0.3, b), (3, 3), (3, 2)),
    "ormqr_right": (
        lambda a, b: torch.ormqr(a, a[0] * 0.3, b, left=False, transpose=True),
        (3, 3),
        (2, 3),
    ),
    "householder_product": (lambda a, b: L.householder_product(a, b), (4, 3), (3,)),
    **{
        f"lu_solve_{left}_{adjoint}": (
            lambda a, b, left=left, adjoint=adjoint: L.lu_solve(
                *L.lu_factor(a), b, left=left, adjoint=adjoint
            ),
            (3, 3),
            (3, 2) if left else (2, 3),
        )
        for left in (True, False)
        for adjoint in (True, False)
    },
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", SOLVERS)
def test_gradients_of_solutions(name, dtype):
    function, first, second = SOLVERS[name]
    a = well_conditioned(first, dtype) if first[-1] == first[-2] else make(first, dtype)
    check_gradients(function, [a, make(second, dtype, 4)])


def test_gradient_of_a_determinant_that_is_zero():
    for values in ([[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [0.0, 5.0]]):
        a = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (grad,) = torch.autograd.grad(torch.linalg.det(a), a)
        (p, q), (r, s) = values
        assert_close(grad, torch.tensor([[s, -r], [-q, p]], dtype=torch.float64))


def test_ldl_solve_has_a_gradient_of_its_right_hand_side_only():
    a = hermitian((3, 3), torch.float64)
    b = make((3, 2), torch.float64).requires_grad_()
    factors = torch.linalg.ldl_factor(a)
    assert torch.autograd.gradcheck(lambda b: torch.linalg.ldl_solve(*factors, b), (b,))
    factors[0].requires_grad_()
    with pytest.raises(NotImplementedError, match="derivative for aten::linalg_ldl_solve"):
        torch.linalg.ldl_solve(*factors, b).sum().backward()


def test_what_cannot_be_differentiated_says_so():
    a = torch.ones(4, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
        torch.linalg.qr(a, "complete").Q.sum().backward()
    with pytest.raises(RuntimeError, match="which is not computed when mode='r'"):
        torch.linalg.qr(a, "r").R.sum().backward()


# --- errors ---

ZEROS = torch.zeros(2, 2)
SECOND = torch.stack([torch.eye(2), torch.zeros(2, 2)])
SINGULAR = (
    "The diagonal element 1 is zero, the inversion could not be completed because the input matrix "
    "is singular."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order 1 is not positive-definite)."
)
ERRORS = [
    (lambda: L.inv(ZEROS), "linalg.inv: " + SINGULAR),
    (lambda: torch.inverse(SECOND), "linalg.inv: (Batch element 1): " + SINGULAR),
    (lambda: L.inv_ex(ZEROS, check_errors=True), "linalg.inv_ex: " + SINGULAR),
    (lambda: L.matrix_power(ZEROS, -1), "linalg.inv: " + SINGULAR),
    (
        lambda: L.solve(ZEROS, ZEROS),
        "torch.linalg.solve: The solver failed because the input matrix is singular.",
    ),
    (
        lambda: L.solve_ex(SECOND, ZEROS, check_errors=True),
        "torch.linalg.solve_ex: (Batch element 1): The solver failed because the input matrix is "
        "singular.",
    ),
    (lambda: L.cholesky(-torch.eye(2)), "linalg.cholesky: " + NOT_POSITIVE),
    (lambda: torch.cholesky(-torch.eye(2)), "cholesky: " + NOT_POSITIVE),
    (
        lambda: L.cholesky_ex(-torch.eye(2), check_errors=True),
        "linalg.cholesky_ex: " + NOT_POSITIVE,
    ),
    (
        lambda: L.svd(ZEROS / 0),
        "linalg.svd: The algorithm failed to converge because the input matrix contained "
        "non-finite values.",
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_of_numbers(number):
    call, text = ERRORS[number]
    with pytest.raises(torch.linalg.LinAlgError) as caught:
        call()
    assert str(caught.value) == text
    assert isinstance(caught.value, RuntimeError)


def test_other_errors():
    with pytest.raises(RuntimeError, match=r"torch.linalg.lu_factor: U\[1,1\] is zero") as caught:
        torch.linalg.lu_factor(ZEROS)
    assert type(caught.value) is RuntimeError
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        torch.linalg.eig(ZEROS / 0)
    with pytest.raises(RuntimeError, match="LU without pivoting is not implemented on the CPU"):
        torch.linalg.lu_factor(torch.eye(2), pivot=False)
    wrong = torch.tensor([0, 5], dtype=torch.int32)
    with pytest.raises(RuntimeError, match="Did you properly pass the result of lu_factor"):
        torch.linalg.lu_solve(torch.eye(2), wrong, torch.eye(2))
    with pytest.raises(RuntimeError, match="pivots passed to lu_unpack must be between 1"):
        torch.lu_unpack(torch.eye(2), wrong)


def test_infos_tell_what_is_not_raised():
    assert torch.linalg.inv_ex(SECOND).info.tolist() == [0, 1]
    assert torch.linalg.cholesky_ex(-torch.eye(2)).info == 1
    assert torch.linalg.lu_factor_ex(SECOND).info.tolist() == [0, 1]
    assert torch.linalg.solve_ex(SECOND, torch.ones(2, 1)).info.tolist() == [0, 1]


# --- out=, meta, pipeline ---


def test_out():
    a = well_conditioned((2, 3, 3), torch.float32)
    out = torch.empty(2, 3, 3)
    assert torch.linalg.inv(a, out=out) is out
    assert_close(out, torch.linalg.inv(a))
    values, vectors = torch.empty(0), torch.empty(0)
    found = torch.linalg.eigh(a @ a.mT, out=(values, vectors))
    assert found.eigenvalues is values
    assert_close(values, torch.linalg.eigvalsh(a @ a.mT))
    torch.linalg.inv(a, out=a)  # also into its own argument
    assert_close(a, out)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float"):
        torch.linalg.inv(a, out=torch.empty(0, dtype=torch.float64))


def test_meta():
    a = torch.empty(2, 4, 3, device="meta")
    assert [t.shape for t in torch.linalg.svd(a)] == [(2, 4, 4), (2, 3), (2, 3, 3)]
    assert [t.shape for t in torch.linalg.qr(a)] == [(2, 4, 3), (2, 3, 3)]
    assert torch.linalg.pinv(a).shape == (2, 3, 4)
    square = torch.empty(5, 3, 3, device="meta")
    assert torch.linalg.inv(square).stride() == (9, 1, 3)
    assert torch.linalg.eig(square).eigenvalues.dtype == torch.complex64
    assert torch.linalg.solve(square, torch.empty(3, 2, device="meta")).shape == (5, 3, 2)


def test_pipeline():
    a = well_conditioned((4, 4), torch.float64)

    def program():
        x = torch.linalg.solve(a + 1, a * 2)
        q, r = torch.linalg.qr(x)
        return (torch.linalg.inv(q @ r) + torch.linalg.det(x)).exp(), torch.linalg.svdvals(x * 2)

    wanted = program()
    with torch.pipeline():
        found = program()
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other)


def test_errors_in_a_pipeline_come_with_the_result():
    with pytest.raises(torch.linalg.LinAlgError, match="linalg.inv: The diagonal element 1"):
        with torch.pipeline():
            torch.linalg.inv(torch.zeros(2, 2))  # nobody looks at it


# --- low rank, orthogonal weights ---


def test_low_rank():
    torch.manual_seed(0)
    a = make((40, 3), torch.float64) @ make((3, 30), torch.float64, 2)
    for matrix in (a, a.mT, torch.stack([a, 2 * a])):
        u, s, v = torch.svd_lowrank(matrix, q=5)
        assert_close((u * s.unsqueeze(-2)) @ v.mT, matrix)
    u, s, v = torch.pca_lowrank(a, q=4)
    assert_close((u * s) @ v.mT, a - a.mean(0))
    with pytest.raises(ValueError, match=r"q\(=31\) must be non-negative integer"):
        torch.pca_lowrank(a, q=31)


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights(orthogonal_map, sizes, trivial):
    torch.manual_seed(1)
    layer = torch.nn.Linear(*sizes, bias=False)
    torch.nn.utils.parametrizations.orthogonal(
        layer, orthogonal_map=orthogonal_map, use_trivialization=trivial
    )

    def check():
        w = layer.weight if sizes[0] >= sizes[1] else layer.weight.mT
        assert_close((w @ w.mT).detach(), torch.eye(min(sizes)))

    check()
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.ones(2, sizes[0])).square().sum().backward()
        optimizer.step()
        check()
    if trivial:
        wanted = torch.nn.init.orthogonal_(torch.empty(sizes[1], sizes[0]))
        layer.weight = wanted
        assert_close(layer.weight.detach(), wanted)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5), (2, 3, 4)])
def test_orthogonal_init(sizes):
    w = torch.nn.init.orthogonal_(torch.empty(sizes), gain=2).flatten(1)
    w = w if w.shape[0] <= w.shape[1] else w.mT
    assert_close(w @ w.mT, 4 * torch.eye(w.shape[0]))


def test_nuclear_norm():
    assert_close(torch.norm(torch.diag(torch.tensor([3.0, -4.0])), "nuc"), torch.tensor(7.0))


@pytest.mark.parametrize("name", ["inv", "qr", "svd", "eigh", "cholesky", "lu_factor"])
def test_threads_do_not_change_results(name):
    a = well_conditioned((200, 200), torch.float32)
    a = a @ a.mT
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 7, 16):
        torch.set_num_threads(threads)
        results.append(getattr(torch.linalg, name)(a))
    torch.set_num_threads(before)
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert torch.equal(x, y)
