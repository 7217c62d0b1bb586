"""Few eigenpairs of a large symmetric matrix (Knyazev's LOBPCG, 2001)."""

import itertools

import mindtorch_v2 as torch


def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """The k largest (or smallest) eigenvalues E and vectors X of A X = B X E; A is symmetric and B
    positive-definite. `iK` preconditions residuals, `X` is where the search begins.

    >>> torch.lobpcg(torch.diag(torch.arange(1.0, 13.0)), k=2)[0].round()
    tensor([12., 11.])
    """
    rows = A.shape[-1]
    if A.dim() < 2 or A.shape[-2] != rows:
        raise ValueError(f"lobpcg: A must be a square matrix or a batch of them, got {A.shape}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if rows < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={rows})"
            f" is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: unknown method {method!r}")
    dtype = A.dtype if A.is_floating_point() else torch.float32
    if X is None:
        X = torch.randn(*A.shape[:-2], rows, n, dtype=dtype, device=A.device)
    batches = A.shape[:-2]
    if batches:
        pairs = [
            lobpcg(
                A[place],
                k,
                _entry(B, place),
                X[place],
                n,
                _entry(iK, place),
                niter,
                tol,
                largest,
                method,
                tracker,
            )
            for place in itertools.product(*map(range, batches))
        ]
        values = torch.stack([pair[0] for pair in pairs]).reshape(*batches, k)
        return values, torch.stack([pair[1] for pair in pairs]).reshape(*batches, rows, k)
    if not torch.is_grad_enabled() or not (A.requires_grad or (B is not None and B.requires_grad)):
        return _search(A, k, B, X, iK, niter, tol, largest in (None, True), tracker)
    with torch.no_grad():
        _, found = _search(A, k, B, X, iK, niter, tol, largest in (None, True), tracker)
    return _with_gradient(A, B, found)


def _entry(matrix, place):
    return matrix if matrix is None or matrix.dim() == 2 else matrix[place]


def _search(A, k, B, X, iK, niter, tol, largest, tracker):
    niter = 1000 if niter is None or niter < 0 else niter
    if tol is None:
        tol = torch.finfo(X.dtype).eps ** 0.5
    scale = A.norm()
    direction = None
    values, X = _rayleigh_ritz(A, B, X, X.shape[-1], largest)
    for _ in range(niter):
        BX = X if B is None else B @ X
        residual = A @ X - BX * values
        size = residual.norm(dim=0)
        limit = tol * X.norm(dim=0) * (scale + values.abs() * (1 if B is None else B.norm()))
        if bool((size[:k] <= limit[:k]).all()):
            break
        step = residual if iK is None else iK @ residual
        parts = [X, step] if direction is None else [X, step, direction]
        values, found = _rayleigh_ritz(A, B, torch.cat(parts, dim=1), X.shape[-1], largest)
        BX = X if B is None else B @ X
        direction = found - X @ (BX.mH @ found)  # what is new
        X = found
    return values[:k], X[:, :k]


def _rayleigh_ritz(A, B, basis, count, largest):
    """The best approximations of eigenpairs within the span of a basis."""
    basis = torch.linalg.qr(basis).Q
    projected = basis.mH @ (A @ basis)
    if B is None:
        values, vectors = torch.linalg.eigh(projected)
    else:
        inverse = torch.linalg.inv(torch.linalg.cholesky(basis.mH @ (B @ basis)))
        values, vectors = torch.linalg.eigh(inverse @ projected @ inverse.mH)
        vectors = inverse.mH @ vectors
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[:count], basis @ vectors[:, :count]


def _with_gradient(A, B, vectors):
    """The pairs that were found, taken from the whole decomposition, which has gradients."""
    if B is not None:
        raise NotImplementedError(
            "lobpcg: gradients need B to be None; torch.linalg.eigh with a Cholesky factor has them"
        )
    all_values, all_vectors = torch.linalg.eigh(A)
    places = (all_vectors.detach().mH @ vectors).abs().argmax(dim=0)
    signs = (all_vectors.detach()[:, places] * vectors).sum(dim=0).sign()
    return all_values[places], all_vectors[:, places] * signs
