"""NaN, infinities, both zeros, ties, numbers and nothing: NPUs agree with the CPU."""

import mindtorch_v2 as torch
import pytest

nan, inf = float("nan"), float("inf")


def agree(cpu, npu):
    if isinstance(cpu, tuple):
        return len(cpu) == len(npu) and all(agree(*pair) for pair in zip(cpu, npu, strict=True))
    if isinstance(cpu, Exception):
        return (type(cpu), str(cpu)) == (type(npu), str(npu))
    npu = npu.cpu()
    if (cpu.dtype, cpu.shape) != (npu.dtype, npu.shape):
        return False
    if not cpu.dtype.is_floating_point:
        return torch.equal(cpu, npu)
    close = {torch.float64: 1e-12, torch.float32: 1e-5}.get(cpu.dtype, 8e-3)
    return torch.allclose(cpu.double(), npu.double(), rtol=close, atol=0, equal_nan=True)


def answer(expression, x):
    try:
        return eval(expression, {"x": x, "torch": torch, "inf": inf})
    except Exception as error:
        return error


def check(expressions, values):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x = values.to(dtype)
        for expression in expressions:
            cpu, npu = answer(expression, x), answer(expression, x.to("npu"))
            assert agree(cpu, npu), (expression, dtype, cpu, npu)


SPECIAL = torch.tensor(
    [
        [3.0, nan, 1.0, 1.0, -0.0, 0.0],
        [inf, 2.0, -inf, 2.0, 5.0, -1.0],
        [nan, nan, nan, nan, nan, nan],
        [1.0, 1.0, 2.0, 2.0, 3.0, 3.0],
        [0.0, -0.0, 0.0, -0.0, 0.0, 1.0],
    ]
)

# Which of several equal elements a median or kthvalue names is free; which number is the most
# frequent among NaNs depends on their order on the CPU, as in torch.
LINES = [
    "x.sort(1)", "x.sort(1, descending=True)", "x.sort(0, stable=True)", "x.argsort(1)",
    "x.topk(3, 1).values", "x.median()", "x.median(1).values", "x.nanmedian()",
    "x.nanmedian(0, keepdim=True).values", "x.kthvalue(2, 1).values", "x[3:].mode(1)",
    "x[3:].mode(0, True)", "x.max(1)", "x.min(0)", "x.aminmax(dim=1)", "x.argmax()",
    "x.cummax(1)", "x.cummin(0)",
    "x.nansum(1)", "x.nanmean()", "x.logsumexp(1)", "x.logcumsumexp(1)", "x.logcumsumexp(0)",
    "x.var(1, correction=0.5)", "x.std(0, correction=10)",
    "torch.std_mean(x, (0, 1), correction=1.5)",
    "torch.linalg.vector_norm(x, 0)", "torch.linalg.vector_norm(x, -inf, 1)",
    "torch.linalg.vector_norm(x, 3, 0)", "torch._unique2(x, True, True, True)",
    "torch.unique_consecutive(x, dim=0)", "torch.unique_dim(x, 1)", "torch.histc(x, 4, -1, 3)",
    "torch.histc(x, 3)", "torch.isin(x, x[1])", "x.any(dim=[])",
]  # fmt: skip

NUMBERS = [
    "x.sort()", "x.topk(1)", "x.median(0)", "x.nanmedian(0)", "x.mode()", "x.kthvalue(1)",
    "x.max(0)", "x.aminmax(dim=0)", "x.var()", "x.logsumexp(0)", "x.cummax(0)", "x.logcumsumexp(0)",
    "torch._unique2(x)", "x.repeat_interleave(3)", "x.repeat_interleave(3, 0)", "x.nansum()",
]  # fmt: skip

NOTHING = [
    "x.sort(0)", "x.median()", "x.median(0)", "x.sum()", "x.mean()", "x.var()", "x.var(0)",
    "x.std(1)", "torch.var_mean(x, 0)", "x.nansum()", "x.logsumexp(0)", "x.logsumexp(1)",
    "x.amax(0)", "torch.linalg.vector_norm(x, 3, 0)", "torch._unique2(x, True, True, True)",
    "torch.unique_dim(x, 0)", "torch.unique_dim(x, 1)", "x.mode(1)", "torch.histc(x, 3)",
    "x.prod()", "x.repeat_interleave(2, 0)", "x.topk(0, 0)",
]  # fmt: skip


@pytest.mark.parametrize(
    ("expressions", "values"),
    [(LINES, SPECIAL), (NUMBERS, torch.tensor(2.5)), (NOTHING, torch.zeros(0, 3))],
    ids=["lines", "numbers", "nothing"],
)
def test_floats(expressions, values):
    check(expressions, values)


def test_no_products():
    """A matrix product over nothing is 0, and what is added stays."""

    def nothing(*sizes):
        return torch.ones(*sizes, device="npu")

    one = torch.ones(2, 3, device="npu")
    assert nothing(2, 0).mm(nothing(0, 3)).tolist() == [[0.0] * 3] * 2
    assert nothing(4, 2, 0).bmm(nothing(4, 0, 3)).eq(0).all().item()
    assert nothing(2, 0).mv(nothing(0)).tolist() == [0.0, 0.0]
    assert nothing(0).dot(nothing(0)).item() == 0
    assert torch.addmm(one, nothing(2, 0), nothing(0, 3), beta=2).eq(2).all().item()
    assert torch.addmm(one[0], nothing(2, 0), nothing(0, 3), beta=0).eq(0).all().item()
    assert torch.addmv(one[:, 0], nothing(2, 0), nothing(0), beta=3).tolist() == [3.0, 3.0]


def test_triangles_and_combinations():
    for rows in range(5):
        for columns in range(5):
            for offset in range(-6, 7):
                for make in (torch.tril_indices, torch.triu_indices):
                    found = make(rows, columns, offset, device="npu")
                    assert torch.equal(found.cpu(), make(rows, columns, offset))
    x = torch.arange(6)
    for r in range(8):
        for again in (False, True):
            found = torch.combinations(x.to("npu"), r, again)
            assert torch.equal(found.cpu(), torch.combinations(x, r, again))
