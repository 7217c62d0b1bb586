"""autograd.Function inside torch.func's transforms."""

import pytest


def make_cube(torch, **attributes):
    """x ** 3 * scale, with a wrong value of its gradient by scale, to tell it from autograd's."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x, scale):
            return x**3 * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, output)

        @staticmethod
        def backward(ctx, grad):
            x, scale, output = ctx.saved_tensors
            assert output.shape == x.shape
            return grad * 3 * x**2 * scale, (grad * 100).sum()

    for name, value in attributes.items():
        setattr(Cube, name, value)
    return Cube


@pytest.fixture
def rows(torch):
    return torch.linspace(-1, 1, 6, dtype=torch.float64).view(3, 2)


def test_grad(torch, rows):
    cube = make_cube(torch)
    got = torch.func.grad(lambda a, s: cube.apply(a, s).sum(), argnums=(0, 1))(
        rows, torch.tensor(2.0)
    )
    torch.testing.assert_close(got[0], 6 * rows**2)
    assert got[1] == 600
    torch.testing.assert_close(
        torch.func.jvp(lambda a: cube.apply(a, torch.tensor(2.0)), (rows,), (rows,))[1], 6 * rows**3
    )


def test_generated_rules(torch, rows):
    cube = make_cube(torch, generate_vmap_rule=True)
    scale = torch.tensor(2.0, dtype=rows.dtype)
    got = torch.vmap(cube.apply, in_dims=(0, None))(rows, scale)
    torch.testing.assert_close(got, 2 * rows**3)
    each = torch.func.grad(lambda a, s: cube.apply(a, s).sum(), argnums=(0, 1))
    by_x, by_scale = torch.vmap(each, in_dims=(0, None))(rows, scale)
    torch.testing.assert_close(by_x, 6 * rows**2)
    torch.testing.assert_close(by_scale, torch.full((3,), 200.0, dtype=rows.dtype))

    def total(a, s):
        return torch.vmap(cube.apply, in_dims=(1, None))(a, s).sum()

    by_x, by_scale = torch.func.grad(total, argnums=(0, 1))(rows, scale)
    torch.testing.assert_close(by_x, 6 * rows**2)
    assert by_scale == 600
    rows_of_jacobian = torch.func.jacrev(cube.apply)(rows[0], scale)
    torch.testing.assert_close(rows_of_jacobian, torch.diag(6 * rows[0] ** 2))


def test_own_rules(torch, rows):
    seen = []

    def rule(info, in_dims, x, scale):
        seen.append((info.batch_size, info.randomness, in_dims, x.shape))
        return cube.apply(x, scale), in_dims[0]

    cube = make_cube(torch, vmap=staticmethod(rule))
    got = torch.vmap(cube.apply, in_dims=(1, None), randomness="same")(rows, torch.tensor(2.0))
    torch.testing.assert_close(got, 2 * rows.T**3)
    assert seen == [(2, "same", (1, None), (3, 2))]


def test_functions_without_a_rule_are_refused(torch, rows):
    cube = make_cube(torch)
    with pytest.raises(RuntimeError, match="tried to vmap over Cube, but it does not have vmap"):
        torch.vmap(lambda a: cube.apply(a, torch.tensor(2.0)))(rows)
    both = make_cube(torch, generate_vmap_rule=True, vmap=staticmethod(lambda *_: None))
    with pytest.raises(RuntimeError, match="has both generate_vmap_rule=True and an overridden"):
        torch.vmap(lambda a: both.apply(a, torch.tensor(2.0)))(rows)
    wrong = make_cube(torch, vmap=staticmethod(lambda *_: 3))
    with pytest.raises(RuntimeError, match="Got a <class 'int'> instead"):
        torch.vmap(lambda a: wrong.apply(a, torch.tensor(2.0)))(rows)
