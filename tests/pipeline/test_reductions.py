"""Reductions that a fused loop takes as a whole have the bits of eager mode."""

import mindtorch_v2 as torch
import pytest


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "amax", "prod"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [(5,), (1000,), (37, 258), (3, 9000), (16384,)])
def test_bits_of_rows_up_to_16384(name, dtype, size):
    torch.manual_seed(0)
    x, y = torch.randn(size).to(dtype), torch.randn(size).to(dtype)
    # All of them are one row.
    for dims in ((), (-1,)) if x.numel() <= 16384 else ((-1,),):
        eager = getattr(x + y, name)(*dims)
        with torch.pipeline():
            fused = getattr(x + y, name)(*dims)
        assert torch.equal(eager, fused)
