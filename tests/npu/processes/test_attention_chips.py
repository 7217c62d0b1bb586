"""Attention on chips without CANN's fused op: composed, of products that the chip has."""

import pytest

from tests.support.simulated import run

CALLS = """
FOUR = ((2, 4, 40, 16), (2, 4, 48, 16))
SHARED = ((2, 4, 40, 16), (2, 2, 48, 16))
truths = torch.arange(40 * 48).view(40, 48) % 3 != 0
nothing = torch.arange(40).view(40, 1) % 3 != 0
numbers = ((torch.arange(40 * 48) % 7).view(40, 48) / 4).half()
CALLS = {
    "plain": (FOUR, {}),
    "causal": (FOUR, {"is_causal": True}),
    "shared heads": (SHARED, {"enable_gqa": True, "is_causal": True}),
    "truths": (FOUR, {"attn_mask": truths}),
    "nothing to see": (FOUR, {"attn_mask": nothing}),
    "numbers": (FOUR, {"attn_mask": numbers}),
    "odd heads": (((2, 4, 40, 6), (2, 4, 48, 6)), {}),
    "two dims": (((40, 16), (48, 16)), {}),
}
attend = torch.nn.functional.scaled_dot_product_attention


def results(call, device, **more):
    (query, key), options = CALLS[call]
    options = {name: v.to(device) if torch.is_tensor(v) else v for name, v in options.items()}
    torch.manual_seed(3)
    tensors = [torch.randn(shape, device="cpu").half().to(device).requires_grad_()
               for shape in (query, key, key)]
    result = attend(*tensors, **options, **more)
    result.float().square().sum().backward()
    return [each.detach().cpu().float() for each in (result, *(x.grad for x in tensors))]
"""


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3", "Ascend910B1"])
def test_like_the_cpu(chip):
    text = run(
        f"""
chip = {chip!r}
torch.npu.simulator.enable(soc=chip)
torch.npu.simulator.set(log=True)
{CALLS}
fused = {{}}
for call in CALLS:
    for scope in (torch.enable_grad, torch.pipeline):
        torch.npu.simulator.clear_calls()
        with scope():
            found = results(call, "npu")
        for got, want in zip(found, results(call, "cpu"), strict=True):
            torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
        names = [each.function for each in torch.npu.simulator.calls()]
        fused.setdefault(call, set()).add(any("FlashAttention" in name for name in names))
if chip == "Ascend910B1":
    assert fused["plain"] == fused["truths"] == {{True}} and fused["odd heads"] == {{False}}
else:
    assert all(found == {{False}} for found in fused.values()), fused
"""
    )
    assert text == ""


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3"])
def test_dropout(chip):
    """What is dropped in one direction is dropped in the other."""
    run(
        f"""
torch.npu.simulator.enable(soc={chip!r})
{CALLS}
one = torch.eye(48).half().npu().requires_grad_()
q, k = torch.zeros(40, 48).half().npu(), torch.zeros(48, 48).half().npu()
torch.manual_seed(5)
seen = attend(q, k, one, dropout_p=0.25)
kept = seen.cpu() > 0
assert 0.6 < kept.float().mean().item() < 0.9
torch.testing.assert_close(seen.cpu()[kept].float(), torch.full((int(kept.sum()),), 1 / 36),
                           rtol=1e-3, atol=1e-3)
torch.autograd.backward(seen, torch.ones_like(seen))
wanted = kept.float().sum(0).view(48, 1).expand(48, 48) / 36
torch.testing.assert_close(one.grad.cpu().float(), wanted, rtol=1e-2, atol=1e-2)
"""
    )


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3"])
def test_a_dtype_without_products_is_refused(chip):
    run(
        f"""
torch.npu.simulator.enable(soc={chip!r})
x = torch.ones(2, 4, 16, 16, device="npu")
try:
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
except NotImplementedError as error:
    assert "{chip} for torch.float32: it takes" in str(error), error
else:
    raise SystemExit("float32 was taken")
"""
    )
