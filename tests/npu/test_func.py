"""torch.func and torch.vmap on an NPU give what they give on the CPU."""

import pytest


@pytest.mark.parametrize(
    "program",
    [
        lambda torch, x, w: torch.vmap(lambda a: (a @ w).softmax(-1).sum(0))(x),
        lambda torch, x, w: torch.vmap(torch.func.grad(lambda a: (a @ w).tanh().sum()))(x),
        lambda torch, x, w: torch.vmap(
            torch.func.grad(lambda v, a: torch.nn.functional.layer_norm(a @ v, (4,)).pow(3).sum()),
            in_dims=(None, 0),
        )(w, x),
        lambda torch, x, w: torch.func.jacrev(lambda a: (a @ w).sin())(x[0]),
        lambda torch, x, w: torch.func.jvp(lambda a: (a @ w).sin(), (x,), (x,))[1],
        lambda torch, x, w: torch.func.hessian(lambda a: (a**3).sum())(x[0, 0]),
        lambda torch, x, w: torch.vmap(lambda a: a[0] + torch.zeros_like(a).add_(a)[1:])(x),
    ],
)
def test_same_as_on_the_cpu(torch, program):
    torch.manual_seed(0)
    x, w = torch.randn(3, 2, 4), torch.randn(4, 4)
    got = program(torch, x.npu(), w.npu())
    assert got.device.type == "npu"
    torch.testing.assert_close(got.cpu(), program(torch, x, w), rtol=1e-4, atol=1e-5)


def test_samples_without_memory_cannot_be_read(torch):
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        torch.vmap(lambda a: a.tolist())(torch.ones(2, 3).npu())
