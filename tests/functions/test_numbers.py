"""Numbers that do not fit the dtype they meet: refused, or infinite, as in torch."""

from tests.support.answers import wrong, wrong_on_npu

REFUSED = "RuntimeError: value cannot be converted to type {} without overflow"

TABLE = """
torch.scatter(t([1, 2], uint8), 0, t([0]), 300) => {uint8_t}
torch.scatter(t([1, 2], uint8), 0, t([0]), -1) => uint8 [255, 2]
torch.scatter(t([1, 2], uint8), 0, t([0]), -0.5) => {uint8_t}
torch.scatter(t([1., 2.], float16), 0, t([0]), 7e4) => {c10::Half}
t([1, 2], int8).scatter_(0, t([0]), 200, reduce='add') => {int8_t}
torch.index_fill(t([1, 2], uint8), 0, t([0]), 300) => {uint8_t}
torch.index_fill(t([1., 2.], float16), 0, t([0]), 70000) => {c10::Half}
torch.index_add(t([1, 2], uint8), 0, t([0]), t([1], uint8), alpha=300) => {uint8_t}
torch.masked_fill(t([1, 2], uint8), t([True, False]), 300) => {uint8_t}
torch.masked_fill(t([1, 2], uint8), t([True, False]), torch.tensor(300)) => {uint8_t}
torch.index_fill(t([1, 2], uint8), 0, t([0]), torch.tensor(300)) => {uint8_t}
F.hardtanh(t([-5, 0, 5], int8), -200, 200) => {int8_t}
F.hardtanh(t([-5, 0, 5], int8), -1.5, 1.5) => int8 [-1, 0, 1]
F.hardtanh(t([0, 5], int64), 0, inf) => {int64_t}
F.threshold(t([-5, 0, 5], int8), 1, 200) => {int8_t}
F.threshold(t([1., 2.], float16), 0.1, 7e4) => {c10::Half}
F.threshold(t([1., 2.], float16), 7e4, 3.) => float16 [3.0, 3.0]
torch.where(t([True, False]), t([1, 2], uint8), 300) => {uint8_t}
torch.where(t([True, False]), 300, t([1, 2], uint8)) => {uint8_t}
torch.where(t([True, False]), 7e4, t([1.], float16)) => float16 [inf, 1.0]
torch.where(t([True, False]), 1e39, t([1.])) => {float}
torch.where(t([True, False]), 1e39, 1.0) => {float}
torch.pow(t([2, 3], int8), 300) => {int8_t}
torch.pow(t([2, 3], uint8), 256) => {uint8_t}
torch.pow(t([2., 3.], float16), 7e4) => {c10::Half}
torch.pow(t([2., 3.]), 1e39) => float32 [inf, inf]
torch.pow(t([True, False]), True) => bool [True, False]
torch.add(t([1, 2], uint8), t([1, 2], uint8), alpha=300) => {uint8_t}
torch.add(t([1, 2], uint8), t([1, 2], uint8), alpha=-1) => uint8 [0, 0]
torch.add(t([1., 2.]), t([1., 2.]), alpha=1e39) => {float}
torch.sub(t([1, 2], uint8), t([1, 2], uint8), alpha=300) => {uint8_t}
torch.sub(t([1, 2], int8), t([1, 2], int8), alpha=128) => int8 [-127, 2]
torch.rsub(t([1, 2], uint8), 5, alpha=300) => {uint8_t}
torch.clamp(t([1, 2], int8), min=-1000) => {int8_t}
torch.clamp(t([1., 2.], float16), max=7e4) => {c10::Half}
torch.clamp(t([1., 2.]), max=1e39) => {float}
torch.clamp(t([1, 2], int8), max=1e39) => {float}
torch.addcmul(t([1, 2], uint8), t([1, 2], uint8), t([1, 2], uint8), value=300) => {uint8_t}
torch.addcmul(t([1.], float16), t([1.], float16), t([1.], float16), value=7e4) => float16 [inf]
torch.lerp(t([1.]), t([2.]), 1e39) => {float}
F.leaky_relu(t([1.]), 1e39) => {float}
F.elu(t([1.]), 1e39) => {float}
F.softplus(t([1.]), 1e39) => {float}
F.hardshrink(t([1.], float16), 7e4) => {c10::Half}
F.softshrink(t([1.], float16), 7e4)
    => RuntimeError: lambda must be in range [0, 65504] for input dtype Half, but found 70000
torch.histc(t([1., 2.]), 2, 0, 1e39) => {float}
torch.full((2,), 7e4, dtype=float16) => {c10::Half}
torch.full((0,), 7e4, dtype=float16) => {c10::Half}
filled((1,), 7e4, float16) => float16 [inf]
filled((), -70000, float16) => float16 -inf
filled((1, 1), 1e39, bfloat16) => bfloat16 [[inf]]
filled((1,), 1e39, float32) => {float}
filled((1,), 300, uint8) => {uint8_t}
t([1., 2.], float16).new_full((1,), 7e4) => float16 [inf]
t([1., 2.], float16).new_full((2,), 7e4) => {c10::Half}
torch.full_like(t(1., float16), 7e4) => float16 inf
t([1.], float16).fill_(7e4) => float16 [inf]
t([1., 2.], float16).fill_(7e4) => {c10::Half}
torch.linspace(7e4, 0, 1, dtype=float16) => float16 [inf]
torch.linspace(0, 7e4, 1, dtype=float16) => float16 [0.0]
torch.linspace(0, 7e4, 0, dtype=float16) => float16 []
torch.linspace(0, 7e4, 2, dtype=float16) => {c10::Half}
"""


def table():
    """With the refusals written out."""
    text = TABLE
    for name in ("uint8_t", "int8_t", "int64_t", "c10::Half", "float"):
        text = text.replace(f"=> {{{name}}}", f"=> {REFUSED.format(name)}")
    return text


def test_numbers_that_do_not_fit(torch, mode):
    assert not wrong(torch, table(), mode=mode)


def test_numbers_that_do_not_fit_on_npus(mode):
    assert not wrong_on_npu(table(), mode)


def test_torch_agrees(oracle):
    assert not wrong(oracle, table())
