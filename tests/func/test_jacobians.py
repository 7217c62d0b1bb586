"""torch.func.jacrev, jacfwd and hessian; torch.autograd.functional with vectorize."""

import pytest


@pytest.fixture
def x(torch):
    return torch.linspace(-1, 1, 4, dtype=torch.float64)


def g(a):
    return a.sin() * a.sum()


def g_jacobian(torch, x):
    return torch.diag(x.cos() * x.sum()) + x.sin()[:, None].expand(4, 4)


@pytest.fixture(params=["jacrev", "jacfwd"])
def jacobian(torch, request):
    return getattr(torch.func, request.param)


def test_values(torch, jacobian, x):
    torch.testing.assert_close(jacobian(g)(x), g_jacobian(torch, x))
    rows = torch.stack([x, 2 * x])
    want = torch.stack([g_jacobian(torch, row) for row in rows])
    torch.testing.assert_close(torch.vmap(jacobian(g))(rows), want)


def test_structures(torch, jacobian, x):
    result = jacobian(lambda a, b: {"p": a * b["k"], "n": b["k"].sum()}, argnums=(0, 1))(
        x, {"k": 2 * x}
    )
    torch.testing.assert_close(result["p"][0], torch.diag(2 * x))
    torch.testing.assert_close(result["p"][1]["k"], torch.diag(x))
    torch.testing.assert_close(result["n"][0], torch.zeros_like(x))
    torch.testing.assert_close(result["n"][1]["k"], torch.ones_like(x))
    matrix = torch.arange(6.0).view(2, 3)
    assert jacobian(lambda a: a.T)(matrix).shape == (3, 2, 2, 3)
    value, aux = jacobian(lambda a: (a * 2, a), has_aux=True)(x)
    torch.testing.assert_close(aux, x)


def test_chunks(torch, x):
    sizes = []

    def h(a):
        y = a.sin() * a.sum()
        if y.requires_grad:
            y.register_hook(lambda grad: sizes.append(torch.func.debug_unwrap(grad).shape[0]))
        return y

    torch.testing.assert_close(torch.func.jacrev(h, chunk_size=3)(x), g_jacobian(torch, x))
    assert sizes == [3, 1]
    with pytest.raises(ValueError, match="should be greater than 0"):
        torch.func.jacrev(h, chunk_size=0)


def test_hessians(torch, x):
    got = torch.func.hessian(lambda a: (a**3).sum() * a[0])(x)
    want = torch.diag(6 * x * x[0])
    want[0] += 3 * x**2
    want[:, 0] += 3 * x**2
    torch.testing.assert_close(got, want)
    blocks = torch.func.hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(x, 2 * x)
    torch.testing.assert_close(blocks[0][0], torch.zeros(4, 4, dtype=x.dtype))
    torch.testing.assert_close(blocks[0][1], torch.diag(4 * x))
    torch.testing.assert_close(blocks[1][1], torch.diag(2 * x))
    rows = torch.stack([x, 2 * x])
    got = torch.vmap(torch.func.hessian(lambda a: (a**3).sum()))(rows)
    torch.testing.assert_close(got, torch.stack([torch.diag(6 * row) for row in rows]))


@pytest.mark.parametrize(
    "layer",
    [
        lambda F, a, w: F.softmax(a @ w, -1),
        lambda F, a, w: F.layer_norm(a @ w, (3,)),
        lambda F, a, w: F.gelu(a @ w),
        lambda F, a, w: F.conv1d(a[:, None], w[:2, None, :2]).tanh(),
        lambda F, a, w: F.scaled_dot_product_attention(a[None], w[None], w[None]),
        lambda F, a, w: F.cross_entropy(a, w.argmax(0)[:2]),
    ],
)
def test_hessians_of_layers(torch, layer):
    torch.manual_seed(0)
    F = torch.nn.functional
    a, w = torch.randn(2, 3), torch.randn(3, 3)

    def number(a):
        return (layer(F, a, w) ** 2).sum()

    got = torch.func.hessian(number)(a)
    want = torch.autograd.functional.hessian(number, a)
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_jacobians(torch, x, strategy):
    functional = torch.autograd.functional
    calls = []

    def h(a, b):
        calls.append(1)
        return a * b.sum(), torch.ones(2, dtype=a.dtype) * b[0]

    want = functional.jacobian(h, (x, 2 * x))
    calls.clear()
    got = functional.jacobian(h, (x, 2 * x), vectorize=True, strategy=strategy)
    assert len(calls) == 1
    for row, wanted in zip(got, want, strict=True):
        for block, block_wanted in zip(row, wanted, strict=True):
            torch.testing.assert_close(block, block_wanted)
            assert not block.requires_grad
    hessian = functional.hessian(
        lambda a: (a**3).sum(), x, vectorize=True, outer_jacobian_strategy=strategy
    )
    torch.testing.assert_close(hessian, torch.diag(6 * x))


def test_vectorized_jacobians_with_a_graph(torch, x):
    leaf = x.clone().requires_grad_()
    rows = torch.autograd.functional.jacobian(
        lambda a: a**2, leaf, create_graph=True, vectorize=True
    )
    rows.sum().backward()
    torch.testing.assert_close(leaf.grad, torch.full_like(x, 2))


def test_gradients_in_batches(torch, x):
    leaf = x.clone().requires_grad_()
    other = x.clone().requires_grad_()
    y = g(leaf)
    got = torch.autograd.grad(
        y, (leaf, other), torch.eye(4, dtype=x.dtype), is_grads_batched=True, allow_unused=True
    )
    torch.testing.assert_close(got[0], g_jacobian(torch, x))
    assert got[1] is None
