# Written by tools/make_stubs.py: run `make stubs` after a change.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,misc"
import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from mindtorch_v2 import return_types as return_types
from mindtorch_v2._C import Generator as Generator
from mindtorch_v2._C import LinAlgError as LinAlgError
from mindtorch_v2._C import Tensor as Tensor
from mindtorch_v2._C import device as _device
from mindtorch_v2._C import dtype as _dtype
from mindtorch_v2._C import layout as _layout
from mindtorch_v2._C import memory_format as _memory_format

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_DeviceLike: TypeAlias = _device | str | builtins.int

def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def cholesky(input: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor: ...
def cholesky_ex(
    input: Tensor,
    *,
    upper: _bool = False,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_cholesky_ex: ...
@overload
def cond(input: Tensor, p: _Number | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def cond(input: Tensor, p: str, *, out: Tensor | None = None) -> Tensor: ...
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def eig(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig: ...
def eigh(
    input: Tensor, UPLO: str = "L", *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_eigh: ...
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor: ...
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv_ex(
    A: Tensor, *, check_errors: _bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_inv_ex: ...
def ldl_factor(
    input: Tensor, *, hermitian: _bool = False, out: Sequence[Tensor] | None = None
) -> return_types.linalg_ldl_factor: ...
def ldl_factor_ex(
    input: Tensor,
    *,
    hermitian: _bool = False,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_ldl_factor_ex: ...
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None
) -> Tensor: ...
def lstsq(
    input: Tensor, b: Tensor, rcond: _float | None = None, *, driver: str | None = None
) -> return_types.linalg_lstsq: ...
def lu(
    A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu: ...
def lu_factor(
    A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None
) -> return_types.linalg_lu_factor: ...
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: _bool = True,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu_factor_ex: ...
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    adjoint: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(input: Tensor) -> Tensor: ...
@overload
def matrix_norm(
    input: Tensor,
    ord: _Number,
    dim: Sequence[_int] = ...,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def matrix_norm(
    input: Tensor,
    ord: str = "fro",
    dim: Sequence[_int] = ...,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(
    input: Tensor,
    *,
    atol: _float | None = None,
    rtol: _float | None = None,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def matrix_rank(
    input: Tensor,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def matrix_rank(
    input: Tensor, tol: _float, hermitian: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def matrix_rank(
    input: Tensor, tol: Tensor, hermitian: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(
    input: Tensor,
    ord: _Number | None = None,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def norm(
    input: Tensor,
    ord: str,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def pinv(
    input: Tensor,
    *,
    atol: _float | None = None,
    rtol: _float | None = None,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def pinv(
    input: Tensor,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def pinv(
    input: Tensor, rcond: _float, hermitian: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def pinv(
    input: Tensor, rcond: Tensor, hermitian: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def qr(
    A: Tensor, mode: str = "reduced", *, out: Sequence[Tensor] | None = None
) -> return_types.linalg_qr: ...
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_slogdet: ...
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor: ...
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    check_errors: _bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_solve_ex: ...
def solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def svd(
    A: Tensor,
    full_matrices: _bool = True,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_svd: ...
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor: ...
def tensorinv(input: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor: ...
def tensorsolve(
    input: Tensor, other: Tensor, dims: Sequence[_int] | None = None, *, out: Tensor | None = None
) -> Tensor: ...
def vander(x: Tensor, *, N: _int | None = None) -> Tensor: ...
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def vector_norm(
    input: Tensor,
    ord: _Number = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
