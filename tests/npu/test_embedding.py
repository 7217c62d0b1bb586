"""embedding with max_norm shortens rows on an NPU as it does on the CPU."""

import pytest


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
def test_long_rows_become_shorter(torch, dtype, norm_type):
    start = (torch.arange(12.0).reshape(4, 3) - 5).to(getattr(torch, dtype))
    rows = torch.tensor([[1, 3], [3, 3]])
    tables = {device: start.clone().to(device) for device in ("cpu", "npu")}
    found = {
        device: torch.nn.functional.embedding(rows.to(device), table, None, 1.0, norm_type)
        for device, table in tables.items()
    }
    near = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-6}[dtype]
    for kept in (tables, found):
        assert torch.allclose(kept["npu"].cpu().float(), kept["cpu"].float(), near, near)


@pytest.mark.parametrize("dtype, max_norm, norm_type", [
    ("float64", 1.0, 2.0), ("float32", -1.0, 2.0), ("float32", 1.0, 0.0),
])  # fmt: skip
def test_what_cann_lacks_is_refused(torch, dtype, max_norm, norm_type):
    table = torch.ones(4, 3, dtype=getattr(torch, dtype), device="npu")
    with pytest.raises(NotImplementedError, match=f"on device npu:0 for torch.{dtype}"):
        torch.embedding_renorm_(table, torch.tensor([1], device="npu"), max_norm, norm_type)
