"""The operators of opinfo.txt give on the NPU what they give on the CPU."""

import zlib

import pytest
import torch

from tests.torch_npu import opinfo

NAMES = opinfo.LIST.read_text().split()
TENTH = [name for name in NAMES if zlib.crc32(name.encode()) % 10 == 0]
OTHERS = [pytest.param(n, marks=pytest.mark.slow) for n in NAMES if n not in TENTH]


@pytest.fixture(scope="module")
def ops():
    return opinfo.all_ops()


@pytest.mark.parametrize("name", [*TENTH, *OTHERS])
def test_the_devices_agree(ops, name):
    torch.manual_seed(0)
    assert opinfo.check(ops[name]) > 0
