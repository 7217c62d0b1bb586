"""torch.autograd.forward_ad: dual numbers."""

import pytest


@pytest.fixture
def fw(torch):
    import mindtorch_v2.autograd.forward_ad as fw

    assert torch.autograd.forward_ad is fw
    return fw


@pytest.fixture
def x(torch):
    return torch.linspace(-1, 1, 4, dtype=torch.float64)


def test_tangents(torch, fw, x):
    with fw.dual_level() as level:
        assert level == 0
        a = fw.make_dual(x, 2 * x)
        b = fw.make_dual(3 * x, torch.ones_like(x))
        primal, tangent = fw.unpack_dual(a.sin() * b + a.sum())
        torch.testing.assert_close(primal, x.sin() * 3 * x + x.sum())
        torch.testing.assert_close(tangent, x.cos() * 2 * x * 3 * x + x.sin() + 2 * x.sum())
        assert not primal.requires_grad and not tangent.requires_grad
        torch.testing.assert_close(fw.unpack_dual(a).tangent, 2 * x)
        assert fw.unpack_dual(x) == (x, None)
        assert fw.unpack_dual(a.detach()).tangent is None
        written = torch.zeros_like(x)
        written[0] = a[3]
        assert torch.equal(fw.unpack_dual(written).tangent, torch.eye(4, dtype=x.dtype)[0] * 2)
    assert fw.unpack_dual(a).tangent is None


def test_tangents_have_gradients(torch, fw):
    weight = torch.tensor([2.0], requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
        primal, tangent = fw.unpack_dual(weight**2 * dual**2)
        assert primal.requires_grad
        tangent.backward()
    assert weight.grad == 24  # 2 w * 2 x


def test_inside_vmap(torch, fw, x):
    rows = torch.stack([x, 2 * x])

    def tangent(a, t):
        with fw.dual_level():
            return fw.unpack_dual(fw.make_dual(a, t).sin()).tangent

    torch.testing.assert_close(torch.vmap(tangent)(rows, 3 * rows), rows.cos() * 3 * rows)
    torch.testing.assert_close(torch.vmap(tangent, in_dims=(None, 0))(x, rows), x.cos() * rows)


def test_levels(torch, fw, x):
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, x)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    assert fw.enter_dual_level() == 0
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        fw.enter_dual_level()
    with pytest.raises(RuntimeError, match="not the last one that was created"):
        fw.exit_dual_level(level=3)
    fw.exit_dual_level()

    @fw.dual_level()
    def decorated():
        return fw.unpack_dual(fw.make_dual(x, x) * 2).tangent

    torch.testing.assert_close(decorated(), 2 * x)


def test_refusals(torch, fw, x):
    with fw.dual_level():
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            fw.make_dual(torch.arange(3), x[:3])
        with pytest.raises(ValueError, match="Expected tangent to be floating point"):
            fw.make_dual(x[:3], torch.arange(3))
        with pytest.raises(RuntimeError, match="has a different size than"):
            fw.make_dual(x, x[:2])
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fw.make_dual(fw.make_dual(x, x), x)
