"""Products of float8 matrices with scales: torch.nn.functional.scaled_mm and torch._scaled_mm."""

import enum

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable

_FLOAT8 = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
)


class ScalingType(enum.IntEnum):
    """How many elements of a matrix share a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """The order in which a matrix of scales is stored."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def scaled_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    output_dtype=torch.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """(mat_a * scale_a) @ (mat_b * scale_b) + bias for float8 matrices. There is one scale for a
    whole matrix, or one for each row of mat_a and each column of mat_b. Sums are kept in float32.

    >>> a = torch.ones(16, 16).to(torch.float8_e4m3fn)
    >>> half, kind = torch.tensor(0.5), F.ScalingType.TensorWise
    >>> F.scaled_mm(a, a.t(), half, kind, half, kind)[0, :2]
    tensor([4., 4.], dtype=torch.bfloat16)
    """
    kinds = [_only(kind) for kind in (scale_recipe_a, scale_recipe_b)]
    swizzles = [_only(kind) for kind in (swizzle_a, swizzle_b)]
    if any(kind not in (ScalingType.TensorWise, ScalingType.RowWise) for kind in kinds):
        raise NotImplementedError(
            f"scaled_mm: scales per block are not supported, got {kinds[0]!r} and {kinds[1]!r}"
        )
    if any(kind not in (None, SwizzleType.NO_SWIZZLE) for kind in swizzles) or contraction_dim:
        raise NotImplementedError("scaled_mm: swizzled scales and contraction_dim are unsupported")
    return _scaled_mm(
        mat_a,
        mat_b,
        _only(scale_a),
        _only(scale_b),
        bias=bias,
        out_dtype=output_dtype,
        use_fast_accum=use_fast_accum,
    )


def _only(value):
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) != 1:
        raise NotImplementedError(f"scaled_mm: one scale per matrix is supported, got {len(value)}")
    return value[0]


def _scaled_mm(
    input,
    mat2,
    scale_a,
    scale_b,
    bias=None,
    scale_result=None,
    out_dtype=None,
    use_fast_accum=False,
    *,
    out=None,
):
    _check_operands(input, mat2, scale_a, scale_b)
    product = input.to(torch.float32) @ mat2.to(torch.float32) * scale_a * scale_b
    if bias is not None:
        product = product + bias
    if scale_result is not None:
        product = product * scale_result
    result = product.to(input.dtype if out_dtype is None else out_dtype)
    return result if out is None else out.copy_(result)


def _check_operands(a, b, scale_a, scale_b):
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(f"scaled_mm takes matrices, got {a.dim()}-D and {b.dim()}-D")
    if a.size(1) != b.size(0):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.size(0)}x{a.size(1)} and "
            f"{b.size(0)}x{b.size(1)})"
        )
    is_float8 = a.dtype in _FLOAT8 and b.dtype in _FLOAT8
    is_float = scale_a.dtype == torch.float32 and scale_b.dtype == torch.float32
    is_one = scale_a.numel() == 1 and scale_b.numel() == 1
    is_per_row = tuple(scale_a.shape) == (a.size(0), 1) and tuple(scale_b.shape) == (1, b.size(1))
    if not (is_float8 and is_float and (is_one or is_per_row)):
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and "
            "singletons.\n"
            "- For RowWise scaling, a and b should be float8, scales should be float, scale_a "
            f"should be ({a.size(0)}, 1) and scale_b should be (1, {b.size(1)}), and both should "
            "be contiguous.\n"
            f"Got a of {a.dtype}, b of {b.dtype}, scale_a of {scale_a.dtype} {tuple(scale_a.shape)}"
            f" and scale_b of {scale_b.dtype} {tuple(scale_b.shape)}"
        )


_make_overridable(globals())
