"""torch.autograd on NPUs: what is about devices. Gradients of ops are in the op cases."""

import pytest


def gradients(torch, x, function):
    x = x.clone().requires_grad_()
    function(x).sum().backward()
    return x.grad


@pytest.fixture
def x(torch):
    return torch.arange(1.0, 9.0, device="npu") / 8


def body(x):
    return (x.sin() * x.exp()).cos() * x


def test_gradients_are_on_the_device(torch, x):
    found = gradients(torch, x, body)
    assert found.device == x.device
    torch.testing.assert_close(found.cpu(), gradients(torch, x.cpu(), body))


@pytest.mark.parametrize("pin", [False, True])
def test_save_on_cpu(torch, x, pin):
    kept = []
    hooks = torch.autograd.graph.save_on_cpu(pin_memory=pin)
    pack = hooks.pack_hook

    def note(tensor):
        packed = pack(tensor)
        kept.append(packed[1])
        return packed

    hooks.pack_hook = note
    leaf = x.clone().requires_grad_()
    with hooks:
        y = body(leaf)
    assert kept and all(t.is_cpu and t.is_pinned() == pin for t in kept)
    y.sum().backward()
    assert leaf.grad.tolist() == gradients(torch, x, body).tolist()


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(torch, x, reentrant):
    def run(x):
        return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=reentrant)

    assert gradients(torch, x, run).tolist() == gradients(torch, x, body).tolist()


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_repeat_the_random_numbers_of_the_device(torch, x, reentrant):
    def noise_on_device(x):
        return x * torch.rand(8, device="npu")

    leaf = torch.ones(8, device="npu", requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(noise_on_device, leaf, use_reentrant=reentrant)
    state = torch.npu.get_rng_state()
    y.sum().backward()
    assert leaf.grad.tolist() == y.tolist()
    assert torch.equal(torch.npu.get_rng_state(), state)


def test_device_states(torch, x):
    checkpoint = torch.utils.checkpoint
    devices, states = checkpoint.get_device_states(x, [x, torch.ones(1)])
    assert devices == [x.device.index] and len(states) == 1
    first = torch.rand(4, device="npu").tolist()
    checkpoint.set_device_states(devices, states, device_type="npu")
    assert torch.rand(4, device="npu").tolist() == first


def test_gradcheck(torch):
    x = torch.tensor([0.3, 0.6], dtype=torch.float32, device="npu", requires_grad=True)
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(torch.sin, x, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_a_module_is_moved_while_an_older_graph_lives(torch):
    module = torch.nn.Linear(2, 2)
    kept = module(torch.ones(1, 2))
    kept.sum().backward()
    module.zero_grad()
    module.npu()
    module(torch.ones(1, 2).npu()).sum().backward()
    for parameter in module.parameters():
        assert parameter.grad.device.type == "npu"
        assert parameter.grad.tolist() == torch.ones(parameter.shape).tolist()
    module.cpu()
    module.zero_grad()
    module(torch.ones(1, 2)).sum().backward()
    assert module.weight.grad.tolist() == [[1, 1], [1, 1]]
