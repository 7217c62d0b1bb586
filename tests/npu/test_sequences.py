"""Sampled images, sequence losses and recurrent networks: what runs on the device."""

import numpy as np
import pytest


def launches(calls):
    """Phase two of each op."""
    return [name for name in calls if name.startswith("aclnn") and "Workspace" not in name]


@pytest.mark.parametrize(
    ("shape", "grid", "op"),
    [((2, 3, 4, 5), (2, 3, 3, 2), "aclnnGridSampler2D"),
     ((1, 2, 3, 4, 5), (1, 2, 2, 2, 3), "aclnnGridSampler3D")],
)  # fmt: skip
def test_grids_are_one_launch_each_way(torch, called, shape, grid, op):
    torch.manual_seed(0)
    image, places = torch.rand(shape).to("npu"), torch.rand(grid).to("npu")
    image.requires_grad_()
    places.requires_grad_()
    results = []
    made = called(lambda: results.append(torch.grid_sampler(image, places, 0, 0, False)))
    assert launches(made) == [op]
    weights = torch.ones_like(results[0])
    made = called(lambda: torch.autograd.grad(results[0], [image, places], weights))
    assert launches(made) == [f"{op}Backward"]


def test_ctc_is_one_launch_each_way(torch, called):
    torch.manual_seed(0)
    probs = torch.randn(6, 2, 4).log_softmax(2).to("npu").requires_grad_()
    targets = torch.tensor([[1, 2, 3], [2, 2, 0]]).to("npu")
    results = []
    made = called(lambda: results.append(torch.ctc_loss(probs, targets, [6, 5], [3, 2], 0, 0)))
    assert launches(made) == ["aclnnCtcLoss"]
    weights = torch.ones_like(results[0])
    made = called(lambda: torch.autograd.grad(results[0], [probs], weights))
    assert launches(made) == ["aclnnCtcLossBackward"]


def test_a_recurrent_network_learns_as_on_the_cpu(torch):
    """Its layers are composed there: values and gradients are those of the fused ones."""

    def run(where):
        torch.manual_seed(0)
        model = torch.nn.LSTM(3, 5, num_layers=2, bidirectional=True)
        inputs = torch.randn(4, 2, 3)
        model, inputs = model.to(where), inputs.to(where).requires_grad_()
        output, (hidden, cells) = model(inputs)
        (output.sum() + hidden.square().sum() + cells.sum()).backward()
        found = [output, inputs.grad, *(p.grad for p in model.parameters())]
        return [tensor.detach().cpu().numpy() for tensor in found]

    for ours, theirs in zip(run("npu"), run("cpu"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
