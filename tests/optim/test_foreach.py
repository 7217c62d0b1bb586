"""torch._foreach_* and torch._fused_*: torch's numbers, in one pass over the list."""

import mindtorch_v2
import numpy
import pytest

from tests.nn.compare import assert_same

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()

# Behind `_foreach_`: the arguments after the list. `b` and `c` are lists like it, `t` is a tensor
# of one number.
CALLS = [
    *[f"{name}(a)" for name in UNARY],
    *[
        f"{name}(a, {other})"
        for name in ("add", "sub", "mul", "div", "pow")
        for other in ("b", "2", "0.5", "[1, 2, 0.5]")
    ],
    "add(a, b, alpha=0.25)",
    "sub(a, b, alpha=2)",
    *[f"{name}(a, t)" for name in ("add", "mul", "div")],
    "add(a, t, alpha=2)",
    *[
        f"{name}(a, {other})"
        for name in ("maximum", "minimum", "clamp_min", "clamp_max")
        for other in ("b", "0.5", "[0.1, 0.9, 0.5]")
    ],
    "lerp(a, b, 0.25)",
    "lerp(a, b, [0.25, 0.75, 0.5])",
    "lerp(a, b, c)",
    *[
        f"{name}(a, b, c{value})"
        for name in ("addcmul", "addcdiv")
        for value in ("", ", -0.5", ", [1, 0.5, 2]", ", torch.tensor([1.0, 0.5, 2.0])")
    ],
    "add([x.int() for x in a], 2)",
    "add([x.int() for x in a], [2, 0.5, True])",
    "mul([a[0], a[1].double(), a[2]], b)",
    "add(a, [b[0].double(), b[1], b[2][:, :1]])",
    "mul([x.t() if x.dim() == 2 else x for x in a], 2)",
    "sqrt([torch.empty(0), a[0]])",
    "exp([x.half() for x in a])",
    "mul([x.bfloat16() for x in a], 0.1)",
]


def lists(torch):
    rng = numpy.random.default_rng(0)

    def like():
        shapes = ((5,), (), (3, 4))
        return [torch.tensor(rng.uniform(0.1, 0.9, shape).astype("float32")) for shape in shapes]

    names = {"a": like(), "b": like(), "c": like(), "t": torch.tensor(0.75), "torch": torch}
    return names | {"scalars": lambda values: torch.tensor(values, device="cpu")}


def call(torch, text, in_place=False):
    names = lists(torch)
    head, _, rest = text.partition("(")
    function = getattr(torch, "_foreach_" + head + ("_" if in_place else ""))
    rest = rest.replace("torch.tensor([", "scalars([")  # wherever the lists are
    given = eval(f"(lambda *args, **kwargs: (args, kwargs))({rest}", names)
    return given[0][0], function(*given[0], **given[1])


@pytest.mark.parametrize("text", CALLS)
def test_values(torch_gives, text):
    _, ours = call(mindtorch_v2, text)
    theirs = torch_gives(lambda torch: call(torch, text)[1])
    assert type(ours) is type(theirs) is tuple
    assert [str(x.dtype) for x in ours] == [str(x.dtype) for x in theirs]
    assert [x.stride() for x in ours] == [x.stride() for x in theirs]
    assert_same(list(ours), list(theirs), 1e-5, 1e-6)


# torch rounds the factor here, unlike anywhere else.
@pytest.mark.parametrize("text", [text for text in CALLS if "bfloat16" not in text])
def test_in_place(torch_gives, text):
    def outcome(library):
        try:
            return call(library, text, in_place=True)[0]
        except RuntimeError as error:
            return str(error).splitlines()[0]

    ours, theirs = outcome(mindtorch_v2), torch_gives(outcome)
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, list):
        assert [str(x.dtype) for x in ours] == [str(x.dtype) for x in theirs]
        assert_same(ours, theirs, 1e-5, 1e-6)


@pytest.mark.parametrize("text", [text for text in CALLS if "empty" not in text])
def test_in_a_pipeline(torch, text):
    expected = call(torch, text)[1]
    with torch.pipeline():
        values = call(torch, text)[1]
    assert all(torch.equal(x, y) for x, y in zip(values, expected, strict=True))


def test_others(torch):
    a = lists(torch)["a"]
    norms = [x.norm().item() for x in a]
    assert [x.item() for x in torch._foreach_norm(a)] == pytest.approx(norms)
    assert [x.item() for x in torch._foreach_norm(a, 1)] == pytest.approx(
        [x.abs().sum().item() for x in a]
    )
    assert [x.item() for x in torch._foreach_norm(a, float("inf"))] == pytest.approx(
        [x.max().item() for x in a]
    )
    assert [x.item() for x in torch._foreach_max(a)] == [x.max().item() for x in a]
    assert torch._foreach_pow(2, [torch.tensor([1.0, 3.0])])[0].tolist() == [2, 8]
    copies = torch._foreach_clone(a)
    torch._foreach_zero_(a)
    assert all(x.abs().max() == 0 for x in a) and copies[1] > 0
    assert torch._foreach_copy_(a, copies) is a
    assert all(torch.equal(x, y) for x, y in zip(a, copies, strict=True))
    strided = [torch.zeros(3, 4).t()]
    torch._foreach_copy_(strided, [torch.arange(12.0).reshape(4, 3)])
    assert strided[0][1].tolist() == [3, 4, 5]
    torch._foreach_zero_(strided)
    assert strided[0].abs().max() == 0


def test_large_lists(torch):
    """More than one thread, and slices of a tensor on each."""
    a = [torch.arange(n, dtype=torch.float32) for n in (100_000, 3, 70_001, 1)]
    torch.set_num_threads(2)
    try:
        for x, y in zip(torch._foreach_add(a, 1), a, strict=True):
            assert torch.equal(x, y + 1)
        for x, y in zip(torch._foreach_mul(a, [1, 2, 3, 4]), a, strict=True):
            assert torch.equal(x, y * {100_000: 1, 3: 2, 70_001: 3, 1: 4}[y.numel()])
        for x, y in zip(torch._foreach_norm(a), a, strict=True):
            assert x.item() == pytest.approx(y.double().norm().item(), rel=1e-6)
    finally:
        torch.set_num_threads(1)


def test_gradients(torch):
    """Autograd sees each tensor of a list."""
    a = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)]
    products = torch._foreach_mul(torch._foreach_mul(a, a), 2)
    (products[0].sum() + products[1]).backward()
    assert a[0].grad.tolist() == [4, 8] and a[1].grad.item() == 12
    b = torch._foreach_mul(a, 1)
    torch._foreach_mul_(b, 3)
    b[0].sum().backward()
    assert a[0].grad.tolist() == [7, 11]
    norms = torch._foreach_norm([torch.tensor([3.0, 4.0], requires_grad=True)])
    assert norms[0].requires_grad


MISTAKES = [
    ("_foreach_add([], 1)", "Tensor list must have at least one tensor."),
    (
        "_foreach_add([torch.ones(1)], [torch.ones(1), torch.ones(1)])",
        "Tensor lists must have the same number of tensors, got 1 and 2",
    ),
    (
        "_foreach_add_([torch.ones(1, requires_grad=True)], 1)",
        "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    (
        "_foreach_addcmul([torch.ones(1)], [torch.ones(1)], [torch.ones(1)], torch.ones(2))",
        "Expected length of scalars to match input of length 1 but got 2 instead.",
    ),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes(torch_gives, text, words):
    def mistake(torch):
        with pytest.raises(RuntimeError) as raised:
            eval(f"torch.{text}".replace("ones(2)", "ones(2, device='cpu')"), {"torch": torch})
        return str(raised.value)

    assert words in mistake(mindtorch_v2) and words in torch_gives(mistake)


# --- steps of optimizers --------------------------------------------------------------------------

RATES = "beta1=0.8, beta2=0.9, weight_decay=0.1, eps=1e-4"
STEPS = [
    f"_fused_adam_(p, g, m, v, [], s, lr=0.1, {RATES}, amsgrad=False, maximize=False)",
    f"_fused_adam_(p, g, m, v, x, s, lr=0.1, {RATES}, amsgrad=True, maximize=True)",
    f"_fused_adamw_(p, g, m, v, [], s, lr=0.1, {RATES}, amsgrad=False, maximize=False)",
    f"_fused_adamw_(p, g, m, v, x, s, lr=torch.tensor(0.1), {RATES}, amsgrad=True, maximize=True)",
    f"_fused_adamw_(p, g, m, v, [], s, lr=0.1, {RATES}, amsgrad=False, maximize=False, "
    "grad_scale=torch.tensor(4.0), found_inf=torch.tensor(0.0))",
    f"_fused_adamw_(p, g, m, v, [], s, lr=0.1, {RATES}, amsgrad=False, maximize=False, "
    "grad_scale=torch.tensor(4.0), found_inf=torch.tensor(1.0))",
    "_fused_sgd_(p, g, m, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.5, nesterov=False, "
    "maximize=False, is_first_step=False)",
    "_fused_sgd_(p, g, m, weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=True, "
    "maximize=True, is_first_step=True)",
    "_fused_sgd_(p, g, [], weight_decay=0.1, momentum=0.0, lr=torch.tensor(0.1), dampening=0.0, "
    "nesterov=False, maximize=False, is_first_step=False, grad_scale=torch.tensor(2.0))",
    "_fused_adagrad_(p, g, v, s, lr=0.1, lr_decay=0.1, weight_decay=0.1, eps=1e-4, maximize=True)",
]


def take_step(torch, text, dtype, layout, device="cpu"):
    rng = numpy.random.default_rng(0)

    def like(low):
        made = []
        for shape in ((5,), (1,), (37, 41), (2, 3, 2, 2)):
            x = torch.tensor(rng.uniform(low, 1, shape).astype("float32"), dtype=dtype)
            if layout == "transposed" and len(shape) == 2:
                x = x.t().contiguous().t()
            if layout == "channels_last" and len(shape) == 4:
                x = x.contiguous(memory_format=torch.channels_last)
            made.append(x.to(device))
        return made

    names = {"p": like(-1), "m": like(-1), "v": like(0), "x": like(0), "torch": torch}
    layout = layout.replace("transposed", "plain")  # gradients may lie otherwise
    names["g"] = like(-1)
    names["s"] = [torch.tensor(float(i + 1), device=device) for i in range(4)]
    eval(f"torch.{text}", names)
    return [names[key] for key in "pgmvxs"]


@pytest.mark.parametrize("layout", ["plain", "transposed", "channels_last"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("text", STEPS)
def test_fused_steps(torch_gives, text, dtype, layout, default_device):
    """torch's numbers for plain floats; its kernels of bfloat16 and of other layouts err."""
    wide = "float64" if dtype == "float64" else "float32"
    ours = take_step(mindtorch_v2, text, getattr(mindtorch_v2, dtype), layout, default_device)
    theirs = torch_gives(
        lambda torch: take_step(torch, text, getattr(torch, wide), "plain"), key=f"{text} {wide}"
    )
    tolerance = {"float32": 2e-5, "float64": 1e-9, "bfloat16": 2e-2}[dtype]
    assert_same(ours, theirs, tolerance, tolerance)
