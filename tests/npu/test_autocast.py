"""Autocast on an NPU: torch's list for accelerators."""

import pytest

from tests.amp.test_dtypes import LOWER, ON_ACCELERATORS, check
from tests.training.programs import PROGRAMS, losses


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("text", ON_ACCELERATORS)
def test_dtypes(torch, text, lower):
    check(torch, text, ON_ACCELERATORS[text], lower, "npu")


def test_binary_cross_entropy_is_refused(torch):
    x = torch.rand(3).npu()
    with (
        torch.autocast("npu"),
        pytest.raises(RuntimeError, match="are unsafe to autocast"),
    ):
        torch.nn.functional.binary_cross_entropy(x, x)


def test_only_for_its_own_device_type(torch):
    with torch.autocast("npu"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    with torch.autocast("cpu"):
        assert (torch.ones(2, 2).npu() @ torch.ones(2, 2).npu()).dtype == torch.float32


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("name", PROGRAMS)
def test_losses(torch, name, lower):
    got = losses(torch, name, device="npu", autocast=lower)
    # The CPU rounds an LSTM's steps less often: what lies between them is float32 there.
    most = 5e-3 if (name, lower) == ("lstm", "bfloat16") else 2e-3
    assert abs(got - losses(torch, name, autocast=lower)).max() < most
