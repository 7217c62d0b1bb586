"""Tensors on NPUs: a first look at values, ops, places and refusals; the op cases do the rest."""

import pytest


def test_values_go_there_and_back(torch):
    for dtype in (
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.uint8,
        torch.bool,
    ):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        y = x.to("npu")
        assert y.device == torch.device("npu:0") and y.dtype == dtype
        assert torch.equal(y.cpu(), x)
        assert torch.equal(y.t().cpu(), x.t())
        assert torch.equal(y[1:, ::2].cpu(), x[1:, ::2])
        assert y[2, 3].item() == x[2, 3].item()
        assert torch.equal(x.to("npu:1").to("npu:0").cpu(), x)
    assert torch.empty(0, device="npu").cpu().shape == (0,)
    assert repr(torch.ones(2, device="npu")) == "tensor([1., 1.], device='npu:0')"


def test_in_place_and_out(torch):
    x = torch.zeros(3, device="npu")
    x.add_(1).mul_(torch.tensor([1.0, 2.0, 3.0], device="npu"))
    assert x.tolist() == [1, 2, 3]
    x[1] = 7
    assert x.tolist() == [1, 7, 3]
    out = torch.empty(0, device="npu")
    torch.add(x, x, out=out)
    assert out.tolist() == [2, 14, 6]


def test_indices_may_come_from_the_cpu(torch):
    a = torch.arange(12).reshape(3, 4).npu()
    assert a[[2, 0]].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert a[torch.tensor([1]), torch.tensor([2])].tolist() == [6]
    assert a[torch.tensor([True, False, True])].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    a[[0, 1]] = 5
    a[torch.tensor([2])] = torch.tensor(7)
    assert a.tolist() == [[5] * 4, [5] * 4, [7] * 4]
    try:
        a[torch.tensor([0], device="npu:1")]
    except RuntimeError as error:
        assert "on cpu or on the same device as the indexed tensor (npu:0)" in str(error)


@pytest.mark.parametrize(
    "expression",
    [
        "a + b", "a - 2 * b", "a / b", "a > b", "a.exp() + b.tanh()", "torch.where(a > b, a, b)",
        "a @ b.t()", "torch.addmm(c, a, b.t(), beta=0.5)", "a.sum(1)", "a.mean()", "a.amax(0)",
        "a.argmax(1)", "a.softmax(-1)", "a.cumsum(1)", "torch.cat([a, b], 1)", "a.sort(1).indices",
        "a.topk(2).values", "a.t().contiguous()", "a.flip(0)", "a.tril()", "a[:, 1:].clone()",
        "torch.gather(a, 1, a.argsort(1))", "a.to(torch.int32) // 2", "a.clamp(0, 1)",
        "a.var(1)", "a.half() * b.half()", "(a > 0).any(1)", "a.masked_fill(a > 0, 3.0)",
    ],
)  # fmt: skip
def test_ops_agree_with_the_cpu(torch, expression):
    torch.manual_seed(0)
    values = [torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 3)]

    def answer(a, b, c):
        return eval(expression, {"torch": torch, "a": a, "b": b, "c": c})

    want, got = answer(*values), answer(*(value.to("npu") for value in values))
    assert got.device.type == "npu" and got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_what_cann_lacks_is_named(torch, dtype):
    x = torch.eye(2, dtype=getattr(torch, dtype)).to("npu")
    with pytest.raises(NotImplementedError) as error:
        x.mm(x)
    reason = "it takes float16, bfloat16, float32"
    assert str(error.value) == f"Could not run 'mm' on device npu:0 for torch.{dtype}: {reason}"


def test_what_cann_refuses_is_told_in_its_words(torch):
    with pytest.raises(RuntimeError, match="ACLNN_ERR_PARAM_INVALID") as error:
        torch.ones([1] * 9, device="npu")
    assert "aclnnInplaceFillScalar(float32[1, 1, 1, 1, 1, 1, 1, 1, 1], 1)" in str(error.value)


def test_devices_do_not_mix(torch):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2) + torch.ones(2, device="npu")
