"""Jacobians, Hessians and products with them."""

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def plain(value):
    return [plain(v) for v in value] if isinstance(value, tuple) else value.tolist()


@scenario([
    [[1.0, 4.0], [2.0, 4.0]],
    [5.0, [2.0, 4.0]],
    [[[2.0, 6.0], 4.0], [[4.0, 5.0], [1.0, 2.0]]],
])  # fmt: skip
def vjp(torch):
    vjp, x, y = torch.autograd.functional.vjp, torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0])
    return [
        plain(vjp(lambda x: x * x, x, torch.ones(2))),
        plain(vjp(lambda x: (x * x).sum(), x)),
        plain(vjp(lambda x, y: (x * y, 2 * x.sum() - 2), (x, y), (torch.ones(2), torch.ones(())))),
    ]


@scenario([[[1.0, 4.0], [2.0, 0.0]], [9.0, 6.0], [[2.0, 6.0], [3.0, 0.0]]])
def jvp(torch):
    jvp, x, y = torch.autograd.functional.jvp, torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0])
    one = torch.tensor([1.0, 0.0])
    return [
        plain(jvp(lambda x: x * x, x, one)),
        plain(jvp(lambda x: (x * x).sum(), torch.tensor(3.0))),
        plain(jvp(lambda x, y: x * y, (x, y), (one, one))),
    ]


@scenario([
    [[2.0, 0.0], [0.0, 4.0]],
    [[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]], [[1.0, 1.0], [1.0, 1.0]]],
    [2, 3, 3],
    True,
    [[2.0, 0.0], [0.0, 4.0]],
    [[2.0, 0.0], [0.0, 4.0]],
])  # fmt: skip
def jacobian(torch):
    jacobian, x = torch.autograd.functional.jacobian, torch.tensor([1.0, 2.0])
    w = x.clone().requires_grad_()
    return [
        plain(jacobian(lambda x: x * x, x)),
        plain(jacobian(lambda x, y: (x * 1, x.sum() + y.sum()), (x, x))),
        list(jacobian(lambda x: torch.ones(2, 3) * x, torch.ones(3)).shape),
        jacobian(lambda x: x * x, w, create_graph=True).requires_grad,
        plain(jacobian(lambda x: x * x, w, vectorize=True)),
        plain(jacobian(lambda x: x * x, x, vectorize=True, strategy="reverse-mode")),
    ]


@scenario([
    [[6.0, 0.0], [0.0, 12.0]],
    [[[[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]],
     [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]],
    [9.0, [6.0, 12.0]],
    [9.0, [6.0, 12.0]],
    [3.0, [0.0, 0.0]],
])  # fmt: skip
def hessian(torch):
    functional, x, v = torch.autograd.functional, torch.tensor([1.0, 2.0]), torch.ones(2)
    cubes = lambda x: (x * x * x).sum()  # noqa: E731
    return [
        plain(functional.hessian(cubes, x)),
        plain(functional.hessian(lambda x, y: (x * y).sum(), (x, x))),
        plain(functional.vhp(cubes, x, v)),
        plain(functional.hvp(cubes, x, v)),
        plain(functional.vhp(lambda x: x.sum(), x, v)),
    ]


NOT_ALLOWED = "This is not allowed in strict mode"
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input 0 is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on "
    "the inputs (this would be violated by a linear function for example)."
)
INDEPENDENT = (
    "Output 0 of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)


@scenario([
    INDEPENDENT,
    f"The output of the user-provided function is independent of input 1. {NOT_ALLOWED}.",
    f"The output of the user-provided function is independent of input 1. {NOT_ALLOWED}.",
    f"Output 0 of the user-provided function is independent of input 1. {NOT_ALLOWED}.",
    "The jacobian of the user-provided function is independent of input 0. "
    f"{NOT_ALLOWED} when create_graph=True.",
    LINEAR,
    LINEAR,
])  # fmt: skip
def strict(torch):
    f, x = torch.autograd.functional, torch.tensor([1.0, 2.0])
    return [
        error(f.vjp, lambda x: torch.ones(2), x, x, strict=True)[1],
        error(f.vjp, lambda x, y: x * 1, (x, x), x, strict=True)[1],
        error(f.jvp, lambda x, y: x * 1, (x, x), (x, x), strict=True)[1],
        error(f.jacobian, lambda x, y: x * 1, (x, x), strict=True)[1],
        error(f.jacobian, lambda x: x * 2, x, strict=True, create_graph=True)[1],
        error(f.hvp, lambda x: x.sum(), x, x, strict=True)[1],
        error(f.hessian, lambda x: x.sum(), x, strict=True)[1],
    ]


@scenario([
    ("RuntimeError", "The vector v can only be None if the user-provided function returns a single "
     "Tensor with a single element."),
    ("RuntimeError", "The vector v can only be None if the input to the user-provided function is "
     "a single Tensor with a single element."),
    ("RuntimeError", "v has invalid size: should be torch.Size([2]) but got torch.Size([3])."),
    ("RuntimeError", "The given v should contain a single Tensor."),
    ("TypeError", "The inputs given to vjp must be either a Tensor or a tuple of Tensors but the "
     "given inputs has type <class 'int'>."),
    ("TypeError", "The outputs of the user-provided function given to vjp must be either a Tensor "
     "or a tuple of Tensors but the value at index 1 has type <class 'int'>."),
    ("TypeError", "The outputs of the user-provided function given to vjp must be either a Tensor "
     "or a tuple of Tensors but the given outputs of the user-provided function has type "
     "<class 'int'>."),
    ("RuntimeError", "The Tensor returned by the function given to hessian should contain a single "
     "element"),
    ("RuntimeError", "The function given to vhp should return a single Tensor"),
    ("RuntimeError", "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
     "not supported together. Please either set `strict=False` or `vectorize=False`."),
    ("NotImplementedError", "Computing Jacobian using forward-AD or forward-over-reverse Hessian "
     "isonly implemented for `vectorize=True`."),
])  # fmt: skip
def mistakes(torch):
    f, x = torch.autograd.functional, torch.tensor([1.0, 2.0])
    square = lambda x: x * x  # noqa: E731
    return [
        error(f.vjp, square, x),
        error(f.jvp, square, x),
        error(f.vjp, square, x, torch.ones(3)),
        error(f.vjp, square, x, (x, x)),
        error(f.vjp, square, 3),
        error(f.vjp, lambda x: (x * 1, 3), x, x),
        error(f.vjp, lambda x: 3, x, x),
        error(f.hessian, square, x),
        error(f.vhp, lambda x: (x.sum(), x.sum()), x, x),
        error(f.jacobian, square, x, strict=True, vectorize=True),
        error(f.jacobian, square, x, strategy="forward-mode"),
    ]


@scenario([[True, True], [False, False], [12.0], None])
def graphs_of_results(torch):
    f, x = torch.autograd.functional, torch.tensor([2.0], requires_grad=True)
    kept = f.vjp(lambda x: x * x * x, x, torch.ones(1), create_graph=True)
    freed = f.vjp(lambda x: x * x * x, x, torch.ones(1))
    grad = torch.autograd.grad(kept[1], x)[0]
    return [[t.requires_grad for t in kept], [t.requires_grad for t in freed], grad.tolist(),
            x.grad]  # fmt: skip


test_gives, test_torch_agrees = make_tests(scenario)


def test_jacobian_of_nothing(torch):
    jacobian = torch.autograd.functional.jacobian(lambda x: x[:0] * 1, torch.ones(2))
    assert jacobian.shape == (0, 2)
