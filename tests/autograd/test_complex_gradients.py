"""Gradients of complex numbers, dL/dx + i dL/dy: by finite differences, and torch's."""

import mindtorch_v2 as torch
import numpy as np
import pytest

A = np.array([[0.3 + 0.5j, -1.2 + 0.7j, 0.9 - 1.1j], [1.4 + 0.2j, -0.6 - 0.8j, 0.5 + 1.3j]])
B = np.array([[1.1 - 0.4j, 0.6 + 0.9j, -0.7 + 0.3j], [-0.5 + 1.2j, 1.3 + 0.1j, 0.4 - 0.9j]])
F = np.array([[0.4, -0.7, 1.1], [0.9, 0.2, -1.3]])
W = np.array([[0.2 + 1j, -0.4], [0.7 - 0.3j, 0.5j], [-1.1, 0.6 + 0.8j]])


def write_part(lib, x, y):
    z = x * 1
    z.real.copy_(y)
    return z


def write_parts(lib, x, y):
    z = x * 1
    z.real.add_(y.real)
    z.imag.mul_(2)
    return z


def write_pairs(lib, x):
    z = x * 1
    lib.view_as_complex(z[:, :2].contiguous())
    pairs = z[:, :2].clone()
    lib.view_as_complex(pairs).mul_(1 + 2j)
    return pairs


def write_in_place(lib, x, y):
    z = x * 1
    z.mul_(y)
    z.add_(2j)
    z[0] = y[1]
    return z


UNARY = (
    "abs angle neg sgn square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos "
    "tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid conj real imag view_as_real sum "
    "mean prod var std clone tril triu t sinc"
).split()
BINARY = ("add", "sub", "mul", "div", "pow")
CASES = {
    **{name: (lambda lib, x, name=name: getattr(lib, name)(x), A) for name in UNARY},
    **{name: (lambda lib, x, y, name=name: getattr(lib, name)(x, y), A, B) for name in BINARY},
    "mul_real": (lambda lib, x, y: x * y, A, F),
    "div_real": (lambda lib, x, y: x / y, F, A),
    "pow_of_real": (lambda lib, x, y: x.abs() ** y, F, B),
    "mul_number": (lambda lib, x: x * (2 - 1j), A),
    "pow_number": (lambda lib, x: x**3 + x**-1 + x**2.5 + x**1j, A),
    "number_pow": (lambda lib, x: 2**x, A),
    "broadcast": (lambda lib, x, y: x * y[0], A, B),
    "alpha": (lambda lib, x, y: lib.add(x, y, alpha=2j), A, B),
    "addcmul": (lambda lib, x, y: lib.addcmul(x, y, y, value=1j), A, B),
    "addcdiv": (lambda lib, x, y: lib.addcdiv(x, y, x + 3, value=1j), A, B),
    "lerp": (lambda lib, x, y: lib.lerp(x, y, 0.3) + lib.lerp(x, y, x), A, B),
    "matmul": (lambda lib, x, y: x @ y, A, W),
    "dot": (lambda lib, x, y: lib.dot(x[0], y[0]), A, B),
    "vdot": (lambda lib, x, y: lib.vdot(x[0], y[0]), A, B),
    "addmm": (lambda lib, s, x, y: lib.addmm(s, x, y, beta=0.5, alpha=1j), A[:, :2], B, W),
    "einsum": (lambda lib, x, y: lib.einsum("ij,jk->ik", x, y), A, W),
    "linear": (lambda lib, x, y: lib.nn.functional.linear(x, y), A, B),
    "cumsum": (lambda lib, x: x.cumsum(1), A),
    "cumprod": (lambda lib, x: x.cumprod(1), A),
    "norm": (lambda lib, x: x.norm() + x.norm(p=1) + lib.linalg.vector_norm(x, 3), A),
    "var_dim": (lambda lib, x: x.var(1) + x.std(1), A),
    "cat_of_kinds": (lambda lib, x, y: lib.cat([x, y]), A, F),
    "where": (lambda lib, x, y: lib.where(x.real > 0, x, y), A, B),
    "index": (lambda lib, x: x[[0, 1, 0]], A),
    "index_add": (lambda lib, x, y: x.index_add(0, lib.tensor([0, 0]), y, alpha=2), A, B),
    "masked_fill": (lambda lib, x: x.masked_fill(x.real > 0, 1j), A),
    "moved": (lambda lib, x: x.t().flip(0).roll(1).repeat(2, 1)[:, :1].expand(6, 3), A),
    "mH": (lambda lib, x: x.mH, A),
    "complex": (lambda lib, x, y: lib.complex(x, y), F, F * 2),
    "polar": (lambda lib, x, y: lib.polar(x.abs(), y), F, F * 2),
    "to_complex": (lambda lib, x: x.to(lib.complex128) * 1j, F),
    "length": (lambda lib, x: (x * x.conj()).real.sqrt(), A),
    "write_part": (write_part, A, F),
    "write_parts": (write_parts, A, B),
    "write_pairs": (write_pairs, F),
    "write_in_place": (write_in_place, A, B),
}


def loss(lib, function, xs):
    y = function(lib, *xs)
    weight = lib.tensor(np.linspace(0.5, 1.5, y.numel()).reshape(tuple(y.shape)))
    return (y.real * weight + y.imag * weight * 0.3).sum() if y.is_complex() else (y * weight).sum()


def gradients(lib, function, values):
    xs = [lib.tensor(value, requires_grad=True) for value in values]
    return xs, lib.autograd.grad(loss(lib, function, xs), xs, create_graph=True)


@pytest.mark.parametrize("name", CASES)
def test_finite_differences(name):
    function, *values = CASES[name]
    _, found = gradients(torch, function, values)

    def value_at(values):
        return loss(torch, function, [torch.tensor(value) for value in values]).item()

    step = 1e-6
    for number, (value, grad) in enumerate(zip(values, found, strict=True)):
        assert grad.dtype is torch.tensor(value).dtype
        expected = np.zeros(value.shape, value.dtype)
        for place in np.ndindex(*value.shape):
            for direction in (1, 1j) if np.iscomplexobj(value) else (1,):
                sides = []
                for sign in (1, -1):
                    moved = [v.copy() for v in values]
                    moved[number][place] += sign * step * direction
                    sides.append(value_at(moved))
                expected[place] += direction * (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(grad.detach().cpu().numpy(), expected, rtol=1e-6, atol=1e-7)


def test_only_real_losses_start_a_pass():
    x = torch.tensor([1 + 2j], requires_grad=True)
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        (x * 2).sum().backward()
    y = x * 2
    y.backward(torch.tensor([1j]))
    assert x.grad.tolist() == [2j]


def test_training_a_complex_weight():
    """Gradient descent finds the weight, also through optimizers that step over lists."""
    torch.manual_seed(0)
    inputs = torch.randn(64, 3, dtype=torch.complex64)
    wanted = torch.tensor([[1 + 2j], [-1j], [0.5]])
    for make in (torch.optim.SGD, torch.optim.Adam):
        weight = torch.nn.Parameter(torch.zeros(3, 1, dtype=torch.complex64))
        optimizer = make([weight], lr=0.1)
        for _ in range(300):
            optimizer.zero_grad()
            (inputs @ (weight - wanted)).abs().square().mean().backward()
            optimizer.step()
        assert (weight - wanted).abs().max().item() < 1e-2


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_of_torch(torch_gives, name):
    function, *values = CASES[name]

    def derivatives(lib):
        xs, first = gradients(lib, function, values)
        total = sum(
            (grad.abs() ** 2).sum() if grad.is_complex() else (grad**2).sum()
            for grad in first
            if grad.requires_grad
        )
        second = ()
        if not isinstance(total, int):
            second = lib.autograd.grad(total, xs, allow_unused=True)
        zero = lib.zeros(1, dtype=lib.float64)
        found = [(zero if g is None else g).detach() for g in (*first, *second)]
        return [each.resolve_conj().cpu().numpy() for each in found]

    for got, want in zip(derivatives(torch), torch_gives(derivatives), strict=False):
        np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), 1e-8, 1e-8)
