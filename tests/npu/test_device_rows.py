"""What the package asks of a kind of device instead of knowing its name."""

import os
import subprocess
import sys


def test_an_index_alone_is_the_accelerators(torch):
    assert torch.device(1) == torch.device("npu:1")
    assert torch.ones(1, device=1).device == torch.device("npu:1")
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.Stream().device == torch.device("npu:0") and torch.Stream().device_type == 20


def test_pinned_memory_is_of_a_kind(torch):
    x = torch.ones(3).pin_memory()
    assert x.is_pinned() and x.is_pinned("npu") and torch.npu.is_pinned(x)
    assert x.pin_memory("npu") is x
    assert not torch.ones(3).is_pinned("npu")
    assert x.untyped_storage().is_pinned("npu")


def test_out_of_memory_names_the_variable_that_the_device_reads(torch):
    program = (
        "import mindtorch_v2 as torch\n"
        "torch.empty(98 << 20, dtype=torch.uint8, device='npu')\n"
        "parts = [torch.empty(24 << 20, dtype=torch.uint8, device='npu') for _ in range(4)]\n"
        "del parts[::2]\n"
        "try:\n"
        "    torch.empty(40 << 20, dtype=torch.uint8, device='npu')\n"
        "except torch.OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "MINDTORCH_SIM_MEMORY": str(100 << 20)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "in MINDTORCH_NPU_ALLOC_CONF: the free memory is in pieces" in done.stdout, done.stderr


def test_rows_cover_every_kind_once(torch):
    from mindtorch_v2 import _kinds

    assert set(_kinds.ACCELERATORS) < set(_kinds.ROWS) and "cpu" not in _kinds.ACCELERATORS
    for field in ("title", "dispatch_key", "torch_type"):
        values = [getattr(row, field) for row in _kinds.ROWS.values()]
        assert len(set(values)) == len(values), field
