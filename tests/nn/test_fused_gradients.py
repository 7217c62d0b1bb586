"""Norms, softmax, losses and embedding have ops of their own for their gradients. With
create_graph=True a gradient is made of plain steps instead: both must agree."""

import mindtorch_v2 as torch
import pytest

F = torch.nn.functional
NEAR = {"float64": 1e-10, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1e-1}
CLASSES = [2, 0, -100, 3, 1, 2]


def target(*shape):
    count = torch.Size(shape).numel()
    return torch.tensor((CLASSES * count)[:count]).reshape(shape)


def tracked(x, weight, bias):
    """A batch_norm by statistics that were tracked."""
    mean = torch.linspace(-1, 1, x.shape[1], dtype=weight.dtype)
    return F.batch_norm(x, mean, mean * mean + 0.5, weight, bias)


def weighted_loss(x, **settings):
    weight = torch.linspace(0.5, 1.5, 4, dtype=x.dtype)
    places = target(x.shape[0], *x.shape[2:]) if x.dim() > 1 else torch.tensor(2)
    return F.cross_entropy(x, places, weight, **settings)


# Name: function, shapes of its arguments, the first the input.
CASES = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (7,), w, b), (5, 3, 7), (7,), (7,)),
    "layer_norm of rows of 70": (
        lambda x, w, b: F.layer_norm(x, (70,), w, b), (9, 70), (70,), (70,)
    ),
    "layer_norm of planes": (
        lambda x, w, b: F.layer_norm(x, (3, 7), w, b), (5, 3, 7), (3, 7), (3, 7)
    ),
    "layer_norm, weight": (lambda x, w: F.layer_norm(x, (7,), w), (5, 7), (7,)),
    "layer_norm, bias": (lambda x, b: F.layer_norm(x, (7,), None, b), (5, 7), (7,)),
    "layer_norm alone": (lambda x: F.layer_norm(x, (7,), eps=1e-2), (5, 7)),
    "layer_norm of nothing": (lambda x, w, b: F.layer_norm(x, (7,), w, b), (0, 7), (7,), (7,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (7,), w), (5, 3, 7), (7,)),
    "rms_norm of rows of 70": (lambda x, w: F.rms_norm(x, (70,), w), (9, 70), (70,)),
    "rms_norm alone": (lambda x: F.rms_norm(x, (7,)), (5, 7)),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (5, 3, 7), (3,), (3,)
    ),
    "batch_norm of images": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (2, 3, 5, 9), (3,), (3,)
    ),
    "batch_norm of rows": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (9, 19), (19,), (19,)
    ),
    "batch_norm alone": (lambda x: F.batch_norm(x, None, None, training=True), (5, 3, 7)),
    "batch_norm, tracked": (tracked, (5, 3, 7), (3,), (3,)),
    "batch_norm of rows, tracked": (tracked, (5, 3), (3,), (3,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (3, 6, 5), (6,), (6,)),
    "group_norm of images": (lambda x, w, b: F.group_norm(x, 3, w, b), (2, 6, 5, 9), (6,), (6,)),
    "group_norm of rows": (lambda x, w, b: F.group_norm(x, 2, w, b), (3, 38), (38,), (38,)),
    "group_norm alone": (lambda x: F.group_norm(x, 1), (3, 6, 5)),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, None, None, w, b), (3, 4, 6), (4,), (4,)),
    "softmax": (lambda x: x.softmax(-1), (3, 5, 37)),
    "softmax of columns": (lambda x: x.softmax(1), (3, 5, 37)),
    "softmax of long columns": (lambda x: x.softmax(0), (300, 3)),
    "softmax of a number": (lambda x: x.softmax(0), ()),
    "log_softmax": (lambda x: x.log_softmax(-1), (3, 5, 37)),
    "log_softmax of columns": (lambda x: x.log_softmax(1), (3, 5, 37)),
    "softmax of nothing": (lambda x: x.softmax(1), (0, 3)),
    "cross_entropy": (weighted_loss, (6, 4)),
    "cross_entropy, sum": (lambda x: weighted_loss(x, reduction="sum"), (6, 4)),
    "cross_entropy, none": (lambda x: weighted_loss(x, reduction="none"), (6, 4)),
    "cross_entropy of one": (weighted_loss, (4,)),
    "cross_entropy of lines": (weighted_loss, (2, 4, 5)),
    "cross_entropy of images": (lambda x: weighted_loss(x, reduction="none"), (2, 4, 3, 5)),
    "cross_entropy, smooth": (lambda x: weighted_loss(x, label_smoothing=0.2), (6, 4)),
    "cross_entropy of shares": (lambda x, t: F.cross_entropy(x, t), (6, 4), (6, 4)),
    "embedding": (lambda w: F.embedding(torch.tensor([[1, 4], [1, 2]]), w), (5, 7)),
    "embedding, padded": (lambda w: F.embedding(torch.tensor([1, 4, 1]), w, 4), (5, 7)),
    "embedding, by frequency": (
        lambda w: F.embedding(torch.tensor([1, 4, 1]), w, scale_grad_by_freq=True), (5, 7)
    ),
    "embedding of nothing": (lambda w: F.embedding(torch.zeros(0, dtype=torch.int64), w), (5, 7)),
}  # fmt: skip
# Their gradients are scaled, or left out, on purpose.
NO_SLOPES = ("embedding, padded", "embedding, by frequency")
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1) if x.dim() else x,
    "channels last": lambda x: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x,
    "sliced": lambda x: torch.stack([x, x], -1)[..., 0],
}


def inputs_of(shapes, dtype, layout):
    torch.manual_seed(3)
    first, *others = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    made = [LAYOUTS[layout](first.to(dtype)), *(x.to(dtype) for x in others)]
    return [x.detach().requires_grad_() for x in made]


def gradients(function, inputs, create_graph):
    result = function(*inputs)
    torch.manual_seed(5)
    grad = torch.randn(result.shape, dtype=torch.float64).to(result.dtype)
    return torch.autograd.grad(result, inputs, grad, create_graph=create_graph)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_the_steps(name, dtype, layout):
    function, *shapes = CASES[name]
    inputs = inputs_of(shapes, getattr(torch, dtype), layout)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    found = gradients(function, inputs, create_graph=False)
    for grad, x, expected in zip(found, inputs, gradients(function, exact, True), strict=True):
        assert grad.dtype == x.dtype
        assert grad.shape == x.shape
        assert torch.allclose(grad.double(), expected, NEAR[dtype], NEAR[dtype]), name


@pytest.mark.parametrize("name", CASES)
def test_a_part_of_the_gradients(name):
    """What is asked for alone is the same as with all others."""
    function, *shapes = CASES[name]
    inputs = inputs_of(shapes, torch.float64, "contiguous")
    found = gradients(function, inputs, create_graph=False)
    for i, expected in enumerate(found):
        alone = [x.detach().requires_grad_(i == k) for k, x in enumerate(inputs)]
        result = function(*alone)
        torch.manual_seed(5)
        grad = torch.randn(result.shape, dtype=torch.float64)
        (part,) = torch.autograd.grad(result, [alone[i]], grad)
        assert torch.equal(part, expected)


@pytest.mark.parametrize("name", CASES)
def test_second_gradients(name):
    function, *shapes = CASES[name]
    inputs = inputs_of(shapes, torch.float64, "contiguous")
    if sum(x.numel() for x in inputs) > 120:
        inputs = [x.detach()[:2].requires_grad_() if i == 0 else x for i, x in enumerate(inputs)]
    if name not in NO_SLOPES:
        assert torch.autograd.gradcheck(function, inputs)
    if sum(x.numel() for x in inputs) <= 200:
        assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "batch_norm of rows", "group_norm"])
def test_float_parameters_of_halves(name, dtype):
    function, *shapes = CASES[name]
    first, *others = inputs_of(shapes, torch.float32, "contiguous")
    halves = first.detach().to(getattr(torch, dtype)).requires_grad_()
    found = gradients(function, [halves, *others], create_graph=False)
    exact = [x.detach().double().requires_grad_() for x in (halves, *others)]
    assert [g.dtype for g in found] == [halves.dtype, *(x.dtype for x in others)]
    for grad, expected in zip(found, gradients(function, exact, True), strict=True):
        assert torch.allclose(grad.double(), expected, NEAR[dtype], NEAR[dtype])


def test_threads_add_up_to_the_same():
    """Sums over rows are made by each thread and then together."""
    threads = torch.get_num_threads()
    try:
        for name in ("layer_norm of rows of 70", "batch_norm of rows", "batch_norm of images"):
            function, (_, *rest), *shapes = CASES[name]
            inputs = inputs_of([(4000, *rest), *shapes], torch.float64, "contiguous")
            torch.set_num_threads(1)
            alone = gradients(function, inputs, create_graph=False)
            torch.set_num_threads(4)
            for one, many in zip(alone, gradients(function, inputs, False), strict=True):
                assert torch.allclose(one, many, 1e-10, 1e-10)
    finally:
        torch.set_num_threads(threads)


def test_names_of_nodes():
    x = torch.randn(2, 4, 3, requires_grad=True)
    classes = torch.zeros(2, dtype=torch.int64)
    names = {
        "NativeLayerNormBackward0": F.layer_norm(x, (3,)),
        "NativeBatchNormBackward0": F.batch_norm(x, None, None, training=True),
        "NativeGroupNormBackward0": F.group_norm(x, 2),
        "FusedRmsNormBackward0": F.rms_norm(x, (3,)),
        "SoftmaxBackward0": x.softmax(0),
        "LogSoftmaxBackward0": x.log_softmax(0),
        "NllLossBackward0": F.cross_entropy(x[:, :, 0], classes),
        "NllLoss2DBackward0": F.nll_loss(x[..., None], classes.view(2, 1, 1).expand(2, 3, 1)),
        "EmbeddingBackward0": F.embedding(classes, x[0]),
    }
    assert {y.grad_fn.name() for y in names.values()} == set(names)


def test_running_statistics(mode):
    x = torch.tensor([[[1.0, 2.0], [10.0, 14.0]], [[3.0, 6.0], [6.0, 10.0]]], requires_grad=True)
    mean, var = torch.ones(2), torch.full((2,), 4.0)
    with torch.pipeline() if mode == "pipeline" else torch.enable_grad():
        F.batch_norm(x, mean, var, training=True, momentum=0.5).sum().backward()
    assert torch.allclose(mean, torch.tensor([2.0, 5.5]))
    assert torch.allclose(var, torch.tensor([(4 + 14 / 3) / 2, (4 + 32 / 3) / 2]))
    assert not mean.requires_grad
    F.instance_norm(x, mean.zero_(), var.zero_(), momentum=1.0)
    assert torch.allclose(mean, torch.tensor([3.0, 10.0]))
    assert torch.allclose(var, torch.tensor([(0.5 + 4.5) / 2, 8.0]))


def test_targets_are_checked():
    with pytest.raises(IndexError, match="Target 4 is out of bounds."):
        F.nll_loss(torch.zeros(2, 4), torch.tensor([1, 4]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds."):
        F.cross_entropy(torch.zeros(2, 4, 1), torch.tensor([[1], [-1]]))
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        F.nll_loss(torch.zeros(2, 4), torch.tensor([1, 3]), torch.ones(4, dtype=torch.float64))
