"""What runs behind those operators of torch.ops.aten that are no function or method of torch, or
have other arguments there. Each takes the arguments of torch's schema.

FUNCTIONS has them by "name" (all overloads) or "name.overload".
"""

import math

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._library import aten_gradients

_F = torch.nn.functional
_internal = _C._internal_functions


# --- softmax, dropout, attention --------------------------------------------------------------


def _softmax(function):
    def call(self, dim, half_to_float):
        if half_to_float and self.dtype != torch.float16:
            raise RuntimeError("conversion is supported for Half type only")
        return function(self, dim, dtype=torch.float32 if half_to_float else None)

    return call


def _safe_softmax(self, dim, dtype=None):
    result = torch.softmax(self, dim, dtype=dtype)
    return result.masked_fill((self == -math.inf).all(dim, keepdim=True), 0)


def _native_dropout(input, p, train):
    if train is False or p == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    mask = torch.rand_like(input, dtype=torch.float32) >= p
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """(the result, the logarithm of each row's sum of exponentials)."""
    if dropout_p:
        raise NotImplementedError("attention with dropout that gives its mask is not supported")
    options = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale}
    result = _F.scaled_dot_product_attention(query, key, value, **options)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    mask = None if attn_mask is None else attn_mask.detach()
    scores = _internal["_attention_scores"](query.detach(), key.detach(), mask, is_causal, scale)
    return result, torch.logsumexp(scores.to(torch.float32), -1)


def _attention_math(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    dropout_mask=None,
    *,
    scale=None,
    enable_gqa=False,
):
    if enable_gqa:
        groups = query.size(-3) // key.size(-3)
        key, value = (t.repeat_interleave(groups, -3) for t in (key, value))
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    weights = _internal["_attention_weights"](query, key, attn_mask, is_causal, scale)
    weights = weights.to(query.dtype)
    used = weights if dropout_mask is None else weights.masked_fill(dropout_mask, 0)
    if dropout_mask is not None:
        used = used / (1 - dropout_p)
    elif dropout_p:
        used = torch.dropout(weights, dropout_p, True)
    return used @ value, weights


def _flash_attention(
    query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None
):
    result, logsumexp = _attention(query, key, value, None, dropout_p, is_causal, scale)
    none = torch.empty(0, dtype=torch.int64, device=query.device)
    rest = torch.empty(0, dtype=query.dtype, device=query.device)
    sizes = query.size(-2), key.size(-2)
    return result, logsumexp, none, none, *sizes, none, none, rest


def _efficient_attention(
    query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None
):
    result, logsumexp = _attention(query, key, value, attn_bias, dropout_p, is_causal, scale)
    if not compute_log_sumexp:
        logsumexp = logsumexp.new_empty((*logsumexp.shape[:-1], 0))
    none = torch.empty((), dtype=torch.int64, device=query.device)
    return result, logsumexp, none, none


# --- matrices ---------------------------------------------------------------------------------


def _factors(A):
    """(LU, pivots) of A, or of its transpose where that is the order of memory: the determinants
    are the same.
    """
    return torch.linalg.lu_factor(A.mT if A.is_contiguous() else A)


def _eigh(A, UPLO="L", compute_v=True):
    if compute_v:
        return torch.linalg.eigh(A, UPLO)
    return torch.linalg.eigvalsh(A, UPLO), A.new_empty(0)


def _svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    if compute_uv:
        return torch.linalg.svd(A, full_matrices, driver=driver)
    return A.new_empty(0), torch.linalg.svdvals(A, driver=driver), A.new_empty(0)


def _sparse_mm_reduce(self, other, reduce):
    if reduce not in ("sum", "mean"):
        raise NotImplementedError("_sparse_mm_reduce_impl gives no places of extremes")
    return torch.sparse.mm(self, other, reduce), other.new_empty(0, dtype=torch.int64)


def _assert_async(self, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    torch._check(bool(self), lambda: assert_msg)


def _rows_to_bounds(self, size, *, out_int32=False):
    bounds = torch.zeros(size + 1, dtype=torch.int64, device=self.device)
    bounds[1:] = torch.bincount(self, minlength=size).cumsum(0)
    return bounds.to(torch.int32 if out_int32 else torch.int64)


def _bounds_to_rows(crow_indices, col_indices, *, out_int32=False, transpose=False):
    rows = torch.arange(crow_indices.size(-1) - 1, device=crow_indices.device)
    rows = rows.repeat_interleave(crow_indices.diff())
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return torch.stack([p.to(torch.int32 if out_int32 else torch.int64) for p in pair])


_CASTS = {
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}


def _cast(dtype):
    return lambda self, non_blocking=False: self.to(dtype, non_blocking=non_blocking)


# --- normalisation ----------------------------------------------------------------------------


def _native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    if training:
        dims = [d for d in range(input.dim()) if d != 1]
        wide = input.detach().to(torch.promote_types(input.dtype, torch.float32))
        variance, mean = torch.var_mean(wide, dims, correction=0)
        saved = mean, torch.rsqrt(variance + eps)
    else:
        saved = input.new_empty(0), input.new_empty(0)
    result = _F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    return result, *saved


def _native_batch_norm_functional(input, weight, bias, mean, var, training, momentum, eps):
    mean, var = mean.clone(), var.clone()
    results = _native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)
    return *results, mean, var


# --- sizes, views, copies ---------------------------------------------------------------------


def _to_copy(self, *, layout=None, pin_memory=None, **options):
    return self.to(**options, copy=True) if options else self.clone()


def _index_put_(self, indices, values, accumulate=False, unsafe=False):
    return torch.Tensor.index_put_(self, indices, values, accumulate)


def _unsafe_masked_index(self, mask, indices, fill):
    inside = [None if i is None else i.clamp(0, n - 1) for i, n in zip(indices, self.shape)]  # noqa: B905
    return torch.where(mask, _internal["index"](self, inside), fill)


def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    values, inverse, counts = torch.unique_consecutive(self, True, True, dim)
    none = inverse.new_empty(0)
    return values, inverse if return_inverse else none, counts if return_counts else none


# --- the table --------------------------------------------------------------------------------

FUNCTIONS = {
    # sizes, views, copies
    "_local_scalar_dense": lambda self: self.item(),
    "_reshape_alias": lambda self, size, stride: self.as_strided(size, stride),
    "_reshape_copy": lambda self, size: self.reshape(size).clone(),
    "_to_copy": _to_copy,
    "_unsafe_view": lambda self, size: self.view(size),
    "_conj": lambda self: self.conj(),
    "_neg_view": lambda self: self.neg(),
    "_version": lambda self: self._version,
    "conj": lambda self: self.conj(),
    "copy": lambda self, src, non_blocking=False: self.clone().copy_(src, non_blocking),
    "data": lambda self: self.data,
    "expand": lambda self, size, *, implicit=False: self.expand(size),
    "is_leaf": lambda self: self.is_leaf,
    "lift": lambda self: self,
    "lift_fresh": lambda self: self,
    "lift_fresh_copy": lambda self: self.clone(),
    "mH": lambda self: self.mH,
    "mT": lambda self: self.mT,
    "numpy_T": lambda self: self.T,
    "matrix_H": lambda self: self.H,
    "output_nr": lambda self: self.output_nr,
    "random_.from": lambda self, first, last, *, generator=None: self.random_(
        first, last, generator=generator
    ),
    "size": lambda self: list(self.shape),
    "size.int": lambda self, dim: self.size(dim),
    "stride": lambda self: list(self.stride()),
    "stride.int": lambda self, dim: self.stride(dim),
    "sym_is_contiguous": lambda self, memory_format=torch.contiguous_format: self.is_contiguous(
        memory_format=memory_format
    ),
    "sym_numel": lambda self: self.numel(),
    "sym_size": lambda self: list(self.shape),
    "sym_size.int": lambda self, dim: self.size(dim),
    "sym_storage_offset": lambda self: self.storage_offset(),
    "sym_stride": lambda self: list(self.stride()),
    "sym_stride.int": lambda self, dim: self.stride(dim),
    "to.dtype_layout": lambda self, *, layout=None, pin_memory=None, **options: self.to(**options),
    "unfold": lambda self, dimension, size, step: self.unfold(dimension, size, step),
    # indices
    "_index_put_impl_": _index_put_,
    "_unsafe_index": _internal["index"],
    "_unsafe_index_put": lambda self, indices, values, accumulate=False: torch.index_put(
        self, indices, values, accumulate
    ),
    "_unsafe_masked_index": _unsafe_masked_index,
    "one_hot": _F.one_hot,
    # softmax, dropout, attention
    "_log_softmax": _softmax(torch.log_softmax),
    "_safe_softmax": _safe_softmax,
    "_softmax": _softmax(torch.softmax),
    "native_dropout": _native_dropout,
    "native_dropout_backward": lambda grad_output, mask, scale: grad_output * mask * scale,
    "_scaled_dot_product_attention_math": _attention_math,
    "_scaled_dot_product_efficient_attention": _efficient_attention,
    "_scaled_dot_product_flash_attention": _flash_attention,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    # normalisation
    "_native_batch_norm_legit": _native_batch_norm,
    "_native_batch_norm_legit.no_stats": lambda input, weight, bias, *rest: _native_batch_norm(
        input, weight, bias, None, None, *rest
    ),
    "_native_batch_norm_legit_functional": _native_batch_norm_functional,
    "_native_batch_norm_legit_no_training": lambda input, weight, bias, mean, var, momentum, eps: (
        _native_batch_norm(input, weight, bias, mean, var, False, momentum, eps)
    ),
    "native_batch_norm": _native_batch_norm,
    # convolutions, pooling, images
    "_convolution": lambda *args: torch.convolution(*args[:9]),
    "adaptive_avg_pool2d": _F.adaptive_avg_pool2d,
    "adaptive_avg_pool3d": _F.adaptive_avg_pool3d,
    "affine_grid_generator": lambda theta, size, align_corners: _F.affine_grid(
        theta, size, align_corners=align_corners
    ),
    "_cdist_forward": lambda x1, x2, p, compute_mode: torch.cdist(x1, x2, p),
    "_euclidean_dist": lambda x1, x2: torch.cdist(x1, x2),
    "_pdist_forward": lambda self, p=2.0: torch.pdist(self, p),
    # losses
    "nll_loss": _internal["nll_loss_nd"],
    "nll_loss2d": _internal["nll_loss_nd"],
    # matrices
    "_linalg_det": lambda A: (torch.linalg.det(A), *_factors(A)),
    "_linalg_eigh": _eigh,
    "_linalg_slogdet": lambda A: (*torch.linalg.slogdet(A), *_factors(A)),
    "_linalg_svd": _svd,
    "_addmm_activation": lambda self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False: (
        _F.gelu(torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha), approximate="tanh")
        if use_gelu
        else torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha).relu_()
    ),
    "_nnpack_available": lambda: False,
    "_sparse_addmm": lambda self, mat1, mat2, *, beta=1, alpha=1: torch.sparse.addmm(
        self, mat1, mat2, beta=beta, alpha=alpha
    ),
    "_sparse_mm_reduce_impl": _sparse_mm_reduce,
    # others
    **{f"_cast_{name}": _cast(dtype) for name, dtype in _CASTS.items()},
    "_convert_indices_from_coo_to_csr": _rows_to_bounds,
    "_convert_indices_from_csr_to_coo": _bounds_to_rows,
    "_shape_as_tensor": lambda self: torch.tensor(self.shape, dtype=torch.int64),
    "_assert_async": _assert_async,
    "_assert_scalar": lambda self, assert_msg: torch._check(bool(self), lambda: assert_msg),
    "_histogramdd_bin_edges": lambda self, bins, **options: (
        torch.histogramdd(self, bins, **options).bin_edges
    ),
    "_pin_memory": lambda self, device=None: self.pin_memory(),
    "histogramdd": lambda self, bins, range=None, weight=None, density=False: torch.histogramdd(
        self, bins, range=range, weight=weight, density=density
    ),
    "special_multigammaln": lambda self, p: torch.special.multigammaln(self, p),
    "_aminmax": lambda self, dim=None, keepdim=False: torch.aminmax(self, dim=dim, keepdim=keepdim),
    "_is_all_true": lambda self: self.all(),
    "_is_any_true": lambda self: self.any(),
    "_stack": torch.stack,
    "einsum": lambda equation, tensors, *, path=None: torch.einsum(equation, *tensors),
    "frobenius_norm": lambda self, dim, keepdim=False: torch.norm(self, "fro", dim, keepdim),
    "linalg_diagonal": lambda A, *, offset=0, dim1=-2, dim2=-1: A.diagonal(offset, dim1, dim2),
    "log_sigmoid_forward": lambda self: (_F.logsigmoid(self), self.new_empty(0)),
    "normal_functional": lambda self, mean=0.0, std=1.0, *, generator=None: self.clone().normal_(
        mean, std, generator=generator
    ),
    "special_log_softmax": torch.log_softmax,
    "special_psi": torch.digamma,
    "special_softmax": lambda self, dim, dtype=None: torch.softmax(self, dim, dtype=dtype),
    "unique_consecutive": _unique_consecutive,
    "tensordot": lambda self, other, dims_self, dims_other: torch.tensordot(
        self, other, dims=(list(dims_self), list(dims_other))
    ),
    **aten_gradients.FUNCTIONS,
}
