"""torch.func.grad, vjp, jvp and linearize, and what they are inside each other and vmap."""

import pytest


def f(x):
    return (x.sin() * x.exp()).sum()


def f_slope(x):
    return (x.cos() + x.sin()) * x.exp()


@pytest.fixture
def x(torch):
    return torch.linspace(-1, 1, 4, dtype=torch.float64)


@pytest.fixture
def rows(torch):
    return torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)


def test_gradients_and_values(torch, x):
    close = torch.testing.assert_close
    close(torch.func.grad(f)(x), f_slope(x))
    grads, value = torch.func.grad_and_value(f)(x)
    close(grads, f_slope(x))
    close(value, f(x))
    grads, (value, aux) = torch.func.grad_and_value(lambda x: (f(x), {"a": x * 2}), has_aux=True)(x)
    close(grads, f_slope(x))
    close(aux["a"], 2 * x)
    assert not any(t.requires_grad for t in (grads, value, aux["a"]))


def test_chosen_arguments(torch, x):
    def g(a, b, *, scale=1.0):
        return (a * b["w"][0] ** 2).sum() * scale

    nested = {"w": [x]}
    by_a, by_b = torch.func.grad(g, argnums=(0, 1))(x, nested, scale=2.0)
    torch.testing.assert_close(by_a, 2 * x**2)
    torch.testing.assert_close(by_b["w"][0], 4 * x**2)
    torch.testing.assert_close(torch.func.grad(g, argnums=-1)(x, nested)["w"][0], 2 * x**2)


def test_higher_orders(torch):
    third = torch.func.grad(torch.func.grad(torch.func.grad(lambda x: x**5)))
    assert third(torch.tensor(2.0)) == 240
    # The derivative of an inner function does not see the outer variable as its own.
    inner = torch.func.grad(lambda x: x * torch.func.grad(lambda y: x + y)(torch.ones(())))
    assert inner(torch.tensor(2.0)) == 1
    both = torch.func.grad(lambda x: x * torch.func.grad(lambda y: x * y * y)(x))
    assert both(torch.tensor(3.0)) == 6 * 3.0**2


def test_vmap_of_gradients(torch, x, rows):
    close = torch.testing.assert_close
    close(torch.vmap(torch.func.grad(f))(rows), f_slope(rows))
    close(torch.func.grad(lambda r: torch.vmap(f)(r).sum())(rows), f_slope(rows))
    # A weight that is the same for all samples has a gradient for each.
    per_sample = torch.vmap(torch.func.grad(lambda w, r: (w * r).sin().sum()), in_dims=(None, 0))
    close(per_sample(x, rows), (x * rows).cos() * rows)
    outer = torch.func.grad(lambda w: per_sample(w, rows).pow(2).sum())
    close(outer(x), (-2 * (x * rows).cos() * (x * rows).sin() * rows**3).sum(0))
    twice = torch.vmap(lambda w: per_sample(w, rows))(rows)
    close(twice, torch.stack([per_sample(w, rows) for w in rows]))


def test_independent_results(torch, x):
    assert torch.equal(torch.func.grad(lambda a: torch.ones(()))(x), torch.zeros_like(x))
    value, tangent = torch.func.jvp(lambda a: torch.ones(2), (x,), (x,))
    assert torch.equal(tangent, torch.zeros(2))
    with pytest.raises(RuntimeError, match="independent of inputs"):
        torch.func.jvp(lambda a: torch.ones(2), (x,), (x,), strict=True)


# --- with autograd around ---


def test_results_are_part_of_a_graph_around(torch, x):
    leaf = x.clone().requires_grad_()
    grads = torch.func.grad(f)(leaf)
    grads.sum().backward()
    torch.testing.assert_close(leaf.grad, 2 * x.cos() * x.exp())
    weight = x.clone().requires_grad_()
    torch.func.grad(lambda a: (a * a * weight**2).sum())(x).sum().backward()
    torch.testing.assert_close(weight.grad, 4 * x * x)


def test_results_are_part_of_no_other_graph(torch, x):
    assert not torch.func.grad(f)(x).requires_grad
    with torch.no_grad():
        grads = torch.func.grad(f)(x.clone().requires_grad_())
    torch.testing.assert_close(grads, f_slope(x))
    assert not grads.requires_grad


def test_no_grad_inside_counts(torch, x):
    def g(a):
        with torch.no_grad():
            b = a * 2
        return (a * b).sum()

    torch.testing.assert_close(torch.func.grad(g)(x), 2 * x)


# --- products ---


def test_vjp(torch, x):
    value, product = torch.func.vjp(lambda a, b: {"p": a * b["k"], "s": a.sin()}, x, {"k": 2 * x})
    grads = product({"p": torch.ones_like(x), "s": x})
    torch.testing.assert_close(grads[0], 2 * x + x * x.cos())
    torch.testing.assert_close(grads[1]["k"], x)
    assert product({"p": x, "s": x}) is not None  # the graph stays
    _, _, aux = torch.func.vjp(lambda a: (a, a * 3), x, has_aux=True)
    torch.testing.assert_close(aux, 3 * x)


def test_jvp(torch, x):
    value, tangent = torch.func.jvp(lambda a: a.sin() * a.sum(), (x,), (2 * x,))
    torch.testing.assert_close(value, x.sin() * x.sum())
    torch.testing.assert_close(tangent, x.cos() * 2 * x * x.sum() + x.sin() * 2 * x.sum())
    # The second derivative, by directions.
    second = torch.func.jvp(lambda a: torch.func.jvp(torch.exp, (a,), (x,))[1], (x,), (x,))[1]
    torch.testing.assert_close(second, x * x * x.exp())
    forward_over_reverse = torch.func.jvp(torch.func.grad(f), (x,), (torch.ones_like(x),))[1]
    torch.testing.assert_close(forward_over_reverse, 2 * x.cos() * x.exp())
    _, _, aux = torch.func.jvp(lambda a: (a, a * 3), (x,), (x,), has_aux=True)
    torch.testing.assert_close(aux, 3 * x)


def test_jvp_where_the_backward_is_not_smooth(torch, x):
    # logcumsumexp's backward takes logarithms of gradients.
    _, tangent = torch.func.jvp(lambda a: a.logcumsumexp(0), (x,), (x,))
    step = 1e-6
    slope = ((x + step * x).logcumsumexp(0) - (x - step * x).logcumsumexp(0)) / (2 * step)
    torch.testing.assert_close(tangent, slope, rtol=1e-6, atol=1e-8)


def test_jvp_and_vmap(torch, rows):
    def product(a, v):
        return torch.func.jvp(lambda q: q.sin() * q.sum(), (a,), (v,))[1]

    want = torch.stack([product(a, 2 * a) for a in rows])
    torch.testing.assert_close(torch.vmap(product)(rows, 2 * rows), want)
    common = torch.vmap(product, in_dims=(None, 0))(rows[0], rows)
    torch.testing.assert_close(common, torch.stack([product(rows[0], v) for v in rows]))


def test_linearize_runs_the_function_once(torch, x):
    calls = []

    def g(a):
        calls.append(1)
        return a.sin() * a.sum()

    value, product = torch.func.linearize(g, x)
    for v in (x, 2 * x):
        torch.testing.assert_close(
            product(v), torch.func.jvp(lambda a: a.sin() * a.sum(), (x,), (v,))[1]
        )
    assert len(calls) == 1


def test_refusals(torch, x):
    grad, vjp, jvp = torch.func.grad, torch.func.vjp, torch.func.jvp
    for call, error, text in (
        (lambda: grad(torch.sin)(x), RuntimeError, "Expected f.* to return a scalar Tensor"),
        (
            lambda: grad(lambda a: (a, a))(x),
            RuntimeError,
            "to return a Tensor, got <class 'tuple'>",
        ),
        (lambda: grad(torch.sum, argnums=3)(x), RuntimeError, "Got argnum=3, but only 1"),
        (lambda: grad(torch.sum, argnums="x")(x), RuntimeError, "argnums must be int or Tuple"),
        (lambda: grad(torch.sum)(3.0), ValueError, "must be Tensor, got <class 'float'>"),
        (lambda: grad(torch.sum)(torch.arange(3)), RuntimeError, "only Tensors of floating point"),
        (lambda: grad(lambda a: (a.sum(), 3), has_aux=True)(x), RuntimeError, "Expected tensors"),
        (lambda: vjp(lambda a: 3, x), RuntimeError, "expected f.* to return only tensors"),
        (lambda: vjp(torch.sin, x)[1](x[:2]), RuntimeError, "Mismatch in shape"),
        (lambda: vjp(lambda a: (a, a), x)[1](x), RuntimeError, r"primal output: \(\*, \*\)"),
        (lambda: jvp(torch.sin, x, x), RuntimeError, "Expected primals to be a tuple"),
        (lambda: jvp(torch.sin, (x,), (x[:2],)), RuntimeError, "has a different size than"),
        (lambda: jvp(torch.sin, (x,), (x, x)), RuntimeError, "same python structure"),
    ):
        with pytest.raises(error, match=text):
            call()


# --- gradients for each sample of networks ---


def test_gradients_of_each_sample_of_a_network(torch):
    torch.manual_seed(0)
    F = torch.nn.functional
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.GroupNorm(2, 4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(36, 5),
        torch.nn.LayerNorm(5),
        torch.nn.Tanh(),
        torch.nn.Linear(5, 3),
    )
    images = torch.randn(4, 1, 8, 8)
    labels = torch.tensor([0, 2, 1, 2])
    weights = {name: p.detach() for name, p in net.named_parameters()}

    def loss(weights, image, label):
        result = torch.func.functional_call(net, weights, (image[None],))
        return F.cross_entropy(result, label[None])

    got = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, images, labels)
    for i in range(4):
        net.zero_grad()
        F.cross_entropy(net(images[i : i + 1]), labels[i : i + 1]).backward()
        for name, p in net.named_parameters():
            torch.testing.assert_close(got[name][i], p.grad, rtol=1e-4, atol=1e-5)
