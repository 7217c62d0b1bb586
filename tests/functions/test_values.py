"""What ops give in the corners of their arguments: dtypes mixed, nothing, NaN, factors of 0."""

from tests.support.answers import wrong, wrong_on_npu

# Everywhere.
TABLE = """
torch.multinomial(t([]), 2, replacement=True)
    => RuntimeError: invalid multinomial distribution (sum of probabilities <= 0)
torch.multinomial(t([[], []]), 2, replacement=True)
    => RuntimeError: invalid multinomial distribution (sum of probabilities <= 0)
torch.multinomial(t([[1.]])[:0], 2, replacement=True).shape => 0; 2
torch.diff(t([1, 4, 9]), prepend=t([1.5])) => float32 [-0.5, 3.0, 5.0]
torch.diff(t([1, 4, 9], int8), append=t([1000])) => int64 [3, 5, 991]
torch.diff(t([True, False, True]), prepend=t([1])) => int64 [0, -1, 1]
torch.diff(t([True, False, True]), prepend=t([True])) => bool [False, True, True]
torch.diff(t([1, 4, 9]), prepend=t(1))
    => RuntimeError: diff expects prepend or append to be the same dimension as input
torch.diff(t([1, 4, 9]), n=0, prepend=t([0.5])) => int64 [1, 4, 9]
torch.diff(t([1, 4, 9]), n=5) => int64 []
torch.einsum('ij->i', t([[100, 100], [1, 2]], int8)) => int64 [200, 3]
torch.einsum('ii', t([[200, 0], [0, 200]], uint8)) => int64 400
torch.einsum('ij->i', t([[True], [True]])) => int64 [1, 1]
torch.einsum('ij->ji', t([[1, 2]], int8)) => int8 [[1], [2]]
torch.einsum('ij,k->k', t([[1, 2]], int8), t([3], int8)) => int64 [9]
torch.addr(t([[1]]), t([2]), t([3]), alpha=1.5)
    => RuntimeError: For integral input tensors, argument alpha must not be a floating point number.
torch.addr(t([[1]]), t([2]), t([3]), beta=1.5)
    => RuntimeError: For integral input tensors, argument beta must not be a floating point number.
torch.addr(t([[1]]), t([2]), t([3]), beta=True)
    => RuntimeError: Boolean beta only supported for Boolean results.
torch.addr(t([[1]]), t([2]), t([3]), alpha=0) => int64 [[1]]
torch.addr(t([[1]]), t([2.]), t([3])) => float32 [[7.0]]
torch.addr(t([[True, False]]), t([True]), t([True, False])) => bool [[True, False]]
torch.addr(t([[False, False]]), t([True]), t([True, False]), alpha=0) => bool [[False, False]]
torch.addr(t([[inf]]), t([2.]), t([3.]), beta=0) => float32 [[6.0]]
torch.addbmm(t([[1.]]), t([[[inf]]]), t([[[3.]]]), alpha=0) => float32 [[1.0]]
torch.addbmm(t([[inf]]), t([[[2.]]]), t([[[3.]]]), beta=0) => float32 [[6.0]]
torch.addbmm(t([[1]]), t([[[2.]]]), t([[[3.]]]))
    => RuntimeError: self and mat2 must have the same dtype, but got Long and Float
torch.take_along_dim(t([1, 2, 3]), t([-1, 0, -3]), 0) => int64 [3, 1, 1]
torch.take_along_dim(t([[0, 1, 2], [3, 4, 5]]), t([[-1]]), 1) => int64 [[2], [5]]
torch.take_along_dim(t([1, 2, 3]), t([-4, 3]), 0) => int64 [3, 1]
torch.take_along_dim(t(5.), t(0), 0)
    => IndexError: Dimension specified as 0 but tensor has no dimensions
torch.isin(t([inf, 1., nan]), t([1., nan, inf, nan])) => bool [True, True, False]
torch.isin(t([inf, -inf, 2.]), t([nan, nan, nan, 2., -inf])) => bool [False, True, True]
torch.median(t([], bool)) => bool True
torch.logspace(0.5, 2, 1, dtype=int64) => int64 [3]
torch.vander(t([2, 3]), 4) => int64 [[8, 4, 2, 1], [27, 9, 3, 1]]
torch.vander(t([2, 3]), 3, True) => int64 [[1, 2, 4], [1, 3, 9]]
torch.vander(t([]), 2**31).shape => 0; 2147483648
torch.range(0.5, 3, dtype=int64) => int64 [0, 1, 2, 3]
torch.range(0, 3, 1.9, dtype=int64) => int64 [0, 1, 2, 3]
torch.range(3, 0, -1.5, dtype=int32) => int32 [3, 2, 1, 0]
torch.range(0.9, 2.1, dtype=uint8) => uint8 [0, 1, 2]
torch.range(0.9, 2.1) => float32 [0.8999999761581421, 1.899999976158142]
torch.range(2**62, 2**62 + 2, dtype=int64)
    => int64 [4611686018427387904, 4611686018427387905, 4611686018427387906]
torch.std(t([]), correction=-1) => float32 nan
torch.var(t([[], []]), 1, correction=-2.5) => float32 [nan, nan]
torch.std_mean(t([[], []]), 1, correction=-1) => float32 [nan, nan]; float32 [nan, nan]
torch.var(t([1., 2.]), correction=-2) => float32 0.125
torch.dist(t([1., 2.]), t([2., 4.]), nan) => float32 nan
torch.dist(t([]), t([]), nan) => float32 0.0
torch.dist(t([1.]), t([1.]), nan) => float32 0.0
torch.linalg.vector_norm(t([-3.]), nan) => float32 3.0
torch.clip(t([1, 5], int8), t(2)) => int8 [2, 5]
torch.clip(t([1, 5], int8), t([2])) => int64 [2, 5]
torch.clip(t([1, 5]), t(2.5)) => float32 [2.5, 5.0]
torch.clip(t([1., 5.], float16), t(2., float64), t([3.], float32)) => float32 [2.0, 3.0]
torch.normal(t([0., 0.]), t([0., 0.]), out=t([1., 2., 3.])) => float32 [0.0, 0.0]
torch.normal(1., t([0., 0.]), out=t([])) => float32 [1.0, 1.0]
torch.normal(t([1.]), t([[0.], [0.]]), out=t([9., 9.])) => float32 [[1.0], [1.0]]
torch.isin(t([1, 2, 3]), 2) => bool [False, True, False]
torch.isin(t([1., 2.5]), 2.5, invert=True) => bool [True, False]
torch.isin(2, t([1, 2, 3])) => bool True
torch.isin(t([]), 1) => bool []
5. // t([-inf, inf, -2., 0., -0., nan]) => float32 [-1.0, 0.0, -3.0, inf, -inf, nan]
t([5., -5., 0., -0., nan]) // -inf => float32 [-1.0, 0.0, -0.0, 0.0, nan]
t([5., -5., 0., -0.], float16) // inf => float16 [0.0, -1.0, 0.0, -0.0]
torch.floor_divide(t([5., inf, -inf, inf]), t([-inf, 2., 2., inf])) => float32 [-1.0, nan, nan, nan]
t([inf, 3., -3.]) // 2 => float32 [nan, 1.0, -2.0]
torch.div(t([5.], float64), t([-inf], float64), rounding_mode='floor') => float64 [-1.0]
torch.normal(t(1.), 0., out=t([[5., 5.]])) => float32 [[1.0, 1.0]]
torch.normal(t([1., 2.]), 0., out=t([5., 5., 5.]))
    => RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton
    dimension 0
torch.arange(3, out=t([[9.], [9.], [9.]])) => float32 [[0.0], [1.0], [2.0]]
torch.linspace(0, 1, 3, out=t([[9., 9., 9.]])) => float32 [[0.0, 0.5, 1.0]]
t(100, int8).sum_to_size([]) => int64 100
torch.linalg.matrix_power(t([[3.5, 2.5], [nan, inf]]), 1) => float32 [[3.5, 2.5], [nan, inf]]
t([5]).expand(3).as_strided_scatter(t(0), (), ()) => int64 [0, 5, 5]
"""

# CANN multiplies no integers, and says itself how often numbers occur among NaNs.
HOST = """
torch.addbmm(t([[1]]), t([[[2]]]), t([[[3]]]), alpha=1.5) => int64 [[7]]
torch.addbmm(t([[1]]), t([[[2]]]), t([[[3]]]), alpha=0.5, beta=0) => int64 [[0]]
torch.addbmm(t([[1]]), t([[[2]]]), t([[[3]]]), beta=0.5) => int64 [[6]]
torch.addmm(t([[1]]), t([[2]]), t([[3]]), alpha=1.5, beta=2.9) => int64 [[8]]
torch.addmm(t([[1]]), t([[2]]), t([[3]]), alpha=0) => int64 [[1]]
torch.addmm(t([[1]]), t([[2]]), t([[3]]), beta=0.5, alpha=-1.7) => int64 [[-6]]
torch.addmm(t([[1]], uint8), t([[2]], uint8), t([[3]], uint8), alpha=-0.5)
    => RuntimeError: value cannot be converted to type uint8_t without overflow
torch.addmv(t([1]), t([[2]]), t([3]), alpha=1.5) => int64 [7]
torch.baddbmm(t([[[1]]]), t([[[2]]]), t([[[3]]]), alpha=.5) => int64 [[[1]]]
torch.mode(t([nan, nan, 1.])) => float32 nan; int64 0
torch.mode(t([nan, 1., nan])) => float32 nan; int64 0
torch.mode(t([1., nan, 2., 2.])) => float32 2.0; int64 3
torch.mode(t([2., nan, 1., nan, nan, 1.], float16)) => float16 1.0; int64 2
torch.mode(t([[nan, 2.], [1., nan]]), 0) => float32 [nan, 2.0]; int64 [0, 0]
torch.logit(t([0., 1., .5]), 0.75) > 0 => bool [True, False, True]
torch.logit(t([1.]), 1e-5) < 11.512 => bool [True]
torch.logit(t([1.], float16), 1e-5) => float16 [inf]
torch.float_power(t([-inf, 4.]), 0.5) => float64 [nan, 2.0]
torch.addmm(t([[1.]]), t([[inf]]), t([[1.]]), alpha=0) => float32 [[1.0]]
torch.addmm(t([[1.]], float16), t([[inf]], float16), t([[1.]], float16), alpha=0)
    => float16 [[nan]]
(torch.sinc(t([1., 2.])) < 0) => bool [True, False]
torch.bincount(t([], int64), weights=t([]), minlength=2) => int64 [0, 0]
torch.linspace(0, 1, 11, dtype=float16)[3] => float16 0.2998046875
torch.linspace(-65504, 65504, 3, dtype=float16) => float16 [nan, -inf, nan]
"""


def test_values(torch, mode):
    assert not wrong(torch, TABLE + HOST, mode=mode)


def test_values_on_npus(mode):
    assert not wrong_on_npu(TABLE, mode)


def test_torch_agrees(oracle):
    assert not wrong(oracle, TABLE + HOST)
