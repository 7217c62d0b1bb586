"""Convolution and pooling on NPUs: one op of ours is one op of CANN, forward and backward."""

import pytest

ONE_OP = [
    (
        "torch.conv2d(x, w, b, 2, 1)",
        ["aclnnConvolution"],
        ["aclnnConvolutionBackward"],
    ),
    (
        "F.conv_transpose2d(x, w.transpose(0, 1).contiguous(), None, 2, 1, 1)",
        ["aclnnConvolution"],
        ["aclnnConvolutionBackward"],
    ),
    ("F.avg_pool2d(x, 3, 2, 1)", ["aclnnAvgPool2d"], ["aclnnAvgPool2dBackward"]),
    ("F.adaptive_avg_pool2d(x, 2)", ["aclnnAdaptiveAvgPool2d"], ["aclnnAdaptiveAvgPool2dBackward"]),
    # Indices are of 32 bits there.
    (
        "F.max_pool2d(x, 2)",
        ["aclnnMaxPool2dWithIndices", "aclnnInplaceCopy"],
        ["aclnnCast", "aclnnMaxPool2dWithIndicesBackward"],
    ),
]


def launches(names):
    return [n for n in names if n.startswith("aclnn") and not n.endswith("GetWorkspaceSize")]


@pytest.mark.parametrize(("text", "forward", "backward"), ONE_OP)
def test_one_launch_each(torch, called, text, forward, backward):
    def run(device):
        torch.manual_seed(0)
        make = {"x": (2, 3, 6, 8), "w": (4, 3, 3, 3), "b": (4,)}
        leaves = {n: torch.randn(*s).to(device).requires_grad_() for n, s in make.items()}
        scope = {"torch": torch, "F": torch.nn.functional, **leaves}
        kept = {}
        made = called(lambda: kept.update(y=eval(text, scope)))
        y = kept["y"]
        grad = torch.ones(*y.shape, device=device)
        wanted = [leaves["x"]] + ([leaves["w"]] if "conv" in text else [])

        def differentiate():
            kept["grads"] = torch.autograd.grad(y, wanted, grad)

        back = called(differentiate)
        return [y, *kept["grads"]], launches(made), launches(back)

    ours, made, back = run("npu")
    theirs, _, _ = run("cpu")
    for got, want in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-4)
    if "transpose" not in text:  # there the weight is copied as well
        assert made == forward
        assert back == backward
    else:
        assert made.count(forward[0]) == 1 and back.count(backward[0]) == 1


def test_gradients_of_an_empty_batch(torch):
    x = torch.randn(0, 3, 6, 8, device="npu", requires_grad=True)
    w = torch.randn(4, 3, 3, 3, device="npu", requires_grad=True)
    gx, gw = torch.autograd.grad(torch.conv2d(x, w).sum(), (x, w))
    assert gx.shape == x.shape and torch.equal(gw.cpu(), torch.zeros(4, 3, 3, 3))


@pytest.mark.parametrize("function", ["adaptive_max_pool2d", "adaptive_max_pool3d"])
def test_gradients_of_adaptive_max_pool(torch, function):
    shape = (2, 3, 5, 6, 7)[: 2 + int(function[-2])]
    found = []
    for device in ("npu", "cpu"):
        torch.manual_seed(1)
        x = torch.randn(*shape).to(device).requires_grad_()
        y = getattr(torch.nn.functional, function)(x, 2)
        found.append(torch.autograd.grad(y.sum(), x)[0].cpu())
    assert torch.equal(*found)
