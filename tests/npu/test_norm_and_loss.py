"""Norms, softmax, losses and embedding on an NPU: the gradients are the CPU's, and each is one
launch of CANN's op."""

import pytest

# Name: function of (torch, inputs), shapes, and the launches of forward and of backward. CANN wants
# a weight for each class, and for each element of a row in rms_norm.
ONES = "aclnnInplaceOne"
CASES = {
    "layer_norm": (
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (8,), w, b),
        [(4, 8), (8,), (8,)],
        ["aclnnLayerNorm"],
        ["aclnnLayerNormBackward"],
    ),
    "rms_norm": (
        lambda torch, x, w: torch.nn.functional.rms_norm(x, (8,), w),
        [(4, 8), (8,)],
        ["aclnnRmsNorm"],
        ["aclnnRmsNormGrad"],
    ),
    "batch_norm": (
        lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
        [(4, 3, 5), (3,), (3,)],
        ["aclnnBatchNorm"],
        ["aclnnBatchNormBackward"],
    ),
    "group_norm": (
        lambda torch, x, w, b: torch.nn.functional.group_norm(x, 2, w, b),
        [(3, 4, 5), (4,), (4,)],
        ["aclnnGroupNorm"],
        ["aclnnGroupNormBackward"],
    ),
    "softmax": (
        lambda torch, x: x.softmax(1), [(3, 4, 5)], ["aclnnSoftmax"], ["aclnnSoftmaxBackward"]
    ),
    "log_softmax": (
        lambda torch, x: x.log_softmax(-1),
        [(3, 4)],
        ["aclnnLogSoftmax"],
        ["aclnnLogSoftmaxBackward"],
    ),
    "nll_loss": (
        lambda torch, x, w: torch.nn.functional.nll_loss(
            x, torch.tensor([1, -100, 0], device=x.device), w.detach()
        ),
        [(3, 4), (4,)],
        ["aclnnNLLLoss"],
        ["aclnnNLLLossBackward"],
    ),
    "nll_loss of lines": (
        lambda torch, x: torch.nn.functional.nll_loss(
            x, torch.tensor([[1, 0], [3, 3]], device=x.device), reduction="none"
        ),
        [(2, 4, 2)],
        [ONES, "aclnnNLLLoss2d"],
        [ONES, "aclnnNLLLoss2dBackward"],
    ),
    "embedding": (
        lambda torch, w: torch.nn.functional.embedding(
            torch.tensor([[1, 4], [1, 2]], device=w.device), w, 4
        ),
        [(5, 7)],
        ["aclnnEmbedding"],
        ["aclnnEmbeddingDenseBackward"],
    ),
}  # fmt: skip


def inputs_of(torch, shapes, device):
    torch.manual_seed(2)
    made = [torch.randn(shape) for shape in shapes]
    return [x.to(device).requires_grad_() for x in made]


def launches(simulator):
    return [c.function for c in simulator.calls() if c.kind == "call" and "aclnn" in c.function
            and "GetWorkspaceSize" not in c.function]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_launch_each(torch, simulator, name):
    function, shapes, forward, backward = CASES[name]
    results = {}
    for device in ("cpu", "npu"):
        inputs = inputs_of(torch, shapes, device)
        torch.npu.synchronize()
        simulator.clear_calls()
        result = function(torch, *inputs)
        seen = [launches(simulator)]
        torch.manual_seed(4)
        grad = torch.randn(result.shape).to(device)
        used = [x for x in inputs if x is inputs[0] or name not in ("nll_loss",)]
        torch.npu.synchronize()
        simulator.clear_calls()
        found = torch.autograd.grad(result, used, grad)
        seen.append(launches(simulator))
        results[device] = [result, *found]
        if device == "npu":
            assert [f for f in seen[0] if "Copy" not in f] == forward
            assert seen[1] == backward
    for ours, cpus in zip(results["npu"], results["cpu"], strict=True):
        assert torch.allclose(ours.cpu(), cpus, 1e-4, 1e-5)


def test_running_statistics(torch):
    found = {}
    for device in ("cpu", "npu"):
        (x,) = inputs_of(torch, [(4, 3, 5)], device)
        mean, var = torch.ones(3, device=device), torch.ones(3, device=device)
        torch.nn.functional.batch_norm(x, mean, var, training=True, momentum=0.3)
        found[device] = [mean.cpu(), var.cpu()]
    for ours, cpus in zip(found["npu"], found["cpu"], strict=True):
        assert torch.allclose(ours, cpus, 1e-5, 1e-6)
