"""Signs of zeros, and infinities: what torch makes of them."""

import pytest

from tests.support.answers import wrong, wrong_on_npu

# Everywhere.
TABLE = """
F.gelu(t([-inf, 0., -0.])) => float32 [nan, 0.0, -0.0]
F.gelu(t([-inf, inf, 0., -0.]), approximate='tanh') => float32 [nan, inf, 0.0, -0.0]
F.silu(t([-inf, inf, 0., -0.])) => float32 [nan, inf, 0.0, -0.0]
F.mish(t([-inf, inf, 0., -0.])) => float32 [nan, inf, 0.0, -0.0]
F.hardswish(t([-inf, inf, 0., -0.])) => float32 [nan, inf, 0.0, -0.0]
F.silu(t([-inf, -30000.], float16)) => float16 [nan, -0.0]
torch.relu(t([-inf, inf, 0., -0., nan])) => float32 [0.0, inf, 0.0, -0.0, nan]
F.hardshrink(t([-0.25, 0.25, -inf])) => float32 [0.0, 0.0, -inf]
torch.round(t([-0.25, -0., -inf])) => float32 [-0.0, -0.0, -inf]
torch.trunc(t([-0.25, -0., -inf])) => float32 [-0.0, -0.0, -inf]
"""

# NPUs have signs of zeros of their own here.
HOST = """
F.gelu(t([-20., -1000.])) => float32 [-0.0, -0.0]
F.gelu(t([-50., -1000.], float64)) => float64 [-0.0, -0.0]
F.gelu(t([-20.], float16)) => float16 [-0.0]
F.gelu(t([-inf, inf, 0., -0.], float64)) => float64 [nan, inf, 0.0, -0.0]
F.silu(t([-inf], float64)) => float64 [nan]
F.softshrink(t([-0., -0.25, 0.25, -1.])) => float32 [-0.0, -0.0, 0.0, -0.5]
F.elu(t([0., -0.]), -1.) => float32 [0.0, -0.0]
F.elu(t([0.]), inf) => float32 [0.0]
torch.maximum(t([0., -0., nan, 1.]), t([-0., 0., 1., nan])) => float32 [0.0, -0.0, nan, nan]
torch.minimum(t([0., -0., nan, 1.]), t([-0., 0., 1., nan])) => float32 [0.0, -0.0, nan, nan]
torch.maximum(t([0., -0.], float16), t([-0., 0.], float16)) => float16 [0.0, -0.0]
torch.clamp(t([0., -0.]), min=t([-0., 0.])) => float32 [0.0, -0.0]
torch.clamp(t([0., -0.]), min=0.) => float32 [0.0, -0.0]
torch.clamp_max(t([0., -0.]), t(-0.)) => float32 [0.0, -0.0]
"""


def test_zeros_and_infinities(torch, mode):
    assert not wrong(torch, TABLE + HOST, mode=mode)


def test_zeros_and_infinities_on_npus(mode):
    assert not wrong_on_npu(TABLE, mode)


@pytest.mark.parametrize("name", ["gelu", "silu", "mish", "elu", "hardswish", "softshrink"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_fused_functions_agree_with_single_ones(torch, name, dtype):
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), -1e3, 1e3, -20.0, 0.25, -0.25]
    x = torch.tensor(special * 7, dtype=getattr(torch, dtype))
    function = getattr(torch.nn.functional, name)
    apart = -function(x * 1)
    with torch.pipeline():
        fused = -function(x * 1)
    assert fused.isnan().tolist() == apart.isnan().tolist()
    assert torch.signbit(fused).tolist() == torch.signbit(apart).tolist()


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_fused_extremes_agree_with_single_ones(torch, name):
    zeros = torch.tensor([0.0, -0.0, 1.0, float("nan")] * 9)
    others = torch.tensor([-0.0, 0.0, float("nan"), 1.0] * 9)
    apart = -getattr(torch, name)(zeros * 1, others)
    with torch.pipeline():
        fused = -getattr(torch, name)(zeros * 1, others)
    assert torch.signbit(fused)[:2].tolist() == torch.signbit(apart)[:2].tolist() == [True, False]
    assert fused.isnan().tolist() == apart.isnan().tolist()


def test_torch_agrees(oracle):
    assert not wrong(oracle, TABLE + HOST)
