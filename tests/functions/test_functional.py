"""Functions made of ops, against torch: nn.functional, linalg, norm."""

import warnings

import pytest

VALUES = [[-2.5, -0.5, 0.0], [0.25, 1.5, 7.0]]


@pytest.fixture
def both(torch, torch_gives):
    """Calls with both libraries and compares."""
    return lambda call: compare(outcome(torch, call), torch_gives(outcome, call))


def outcome(library, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(library, library.tensor(VALUES))
            return tuple(result.shape), result.dtype.itemsize, result.tolist()
        except Exception as error:
            return type(error)


def compare(ours, theirs):
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours == theirs
        return
    assert ours[:2] == theirs[:2]
    assert flat(ours[2]) == pytest.approx(flat(theirs[2]), rel=1e-5, abs=1e-6, nan_ok=True)


def flat(values):
    return [v for part in values for v in flat(part)] if isinstance(values, list) else [values]


@pytest.mark.parametrize(
    "name",
    "relu relu6 elu celu selu leaky_relu hardtanh hardsigmoid hardswish silu mish gelu softplus "
    "softshrink hardshrink tanhshrink softsign logsigmoid sigmoid tanh".split(),
)
def test_activations(both, name):
    both(lambda t, x: getattr(t.nn.functional, name)(x))
    both(lambda t, x: getattr(t.nn.functional, name)(x.t()))


@pytest.mark.parametrize(
    "name, args",
    [
        ("relu", ()),
        ("relu6", ()),
        ("elu", (0.5,)),
        ("celu", (0.5,)),
        ("selu", ()),
        ("leaky_relu", (0.2,)),
        ("hardtanh", (-0.5, 0.75)),
        ("hardsigmoid", ()),
        ("hardswish", ()),
        ("silu", ()),
        ("mish", ()),
        ("threshold", (0.5, 9.0)),
    ],
)
def test_inplace_activations(both, name, args):
    def call(t, x):
        assert getattr(t.nn.functional, name)(x, *args, inplace=True) is x
        return x

    both(call)
    both(lambda t, x: getattr(t.nn.functional, name)(x, *args))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.nn.functional.softmax(x, dim=1),
        lambda t, x: t.nn.functional.softmax(x),
        lambda t, x: t.nn.functional.softmax(x, -1, dtype=t.float64),
        lambda t, x: t.nn.functional.log_softmax(x, 0),
        lambda t, x: t.nn.functional.softmin(x, 1),
        lambda t, x: t.nn.functional.glu(x[:, :2]),
        lambda t, x: t.nn.functional.glu(x, 0),
        lambda t, x: t.nn.functional.glu(x),
        lambda t, x: t.nn.functional.prelu(x, t.tensor([0.25])),
        lambda t, x: t.nn.functional.prelu(x, t.tensor([0.25, 0.5, 1.0])),
        lambda t, x: t.nn.functional.prelu(x, t.tensor([0.25, 0.5])),
        lambda t, x: t.nn.functional.prelu(x[0], t.tensor([0.25])),
        lambda t, x: t.nn.functional.prelu(x[0, 0], t.tensor(0.25)),
        lambda t, x: t.nn.functional.normalize(x),
        lambda t, x: t.nn.functional.normalize(x, p=1, dim=0),
        lambda t, x: t.nn.functional.normalize(x * 0),
        lambda t, x: t.nn.functional.cosine_similarity(x, x.flip(0)),
        lambda t, x: t.nn.functional.one_hot(t.tensor([[0, 2], [1, 0]])),
        lambda t, x: t.nn.functional.one_hot(t.tensor([0, 2]), 5),
        lambda t, x: t.nn.functional.one_hot(t.tensor([0, 2]), 2),
        lambda t, x: t.nn.functional.one_hot(t.tensor([-1])),
        lambda t, x: t.nn.functional.one_hot(x),
        lambda t, x: t.nn.functional.linear(x, t.ones(4, 3), t.arange(4.0)),
        lambda t, x: t.nn.functional.hardtanh(x, 2.0, 1.0),
    ],
)
def test_nn_functions(both, call):
    both(call)


@pytest.mark.parametrize(
    "pad, options",
    [
        ((1, 2), {}),
        ((1, 2, 0, 3), {"value": 7.0}),
        ((-1, 2, 1, -1), {}),
        ((0, 0), {}),
        ((1,), {}),
        ((1, 1, 1, 1, 1, 1), {}),
        ((-2, -2), {}),
        ((2, 1), {"mode": "reflect"}),
        ((3, 0), {"mode": "reflect"}),
        ((3, 1), {"mode": "replicate"}),
        ((3, 1), {"mode": "circular"}),
        ((4, 1), {"mode": "circular"}),
        ((1, 1), {"mode": "no_such_mode"}),
    ],
)
def test_pad(torch, torch_gives, pad, options):
    def padded(library):
        # Modes other than constant want a batch and channels in torch.
        x = library.tensor([VALUES]) if options.get("mode") else library.tensor(VALUES)
        try:
            return library.nn.functional.pad(x, pad, **options).tolist()
        except Exception as error:
            return type(error)

    assert padded(torch) == torch_gives(padded)


INF = float("inf")


@pytest.mark.parametrize("p", [None, "fro", 0, 1, 2, 3, 0.5, INF, -INF, -1])
@pytest.mark.parametrize("dim, keepdim", [(None, False), (0, False), (1, True), ((0, 1), False)])
def test_norm(both, p, dim, keepdim):
    both(lambda t, x: t.norm(x, p, dim, keepdim))
    both(lambda t, x: x.norm(p, dim, keepdim))


def test_norm_refuses(both):
    both(lambda t, x: t.norm(x, "no such norm"))
    both(lambda t, x: t.norm(x.long()))
    both(lambda t, x: t.norm(x, dtype=t.float64))
    both(lambda t, x: t.norm(x[0], "nuc"))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.linalg.vector_norm(x, 3, 0, True),
        lambda t, x: t.linalg.norm(x),
        lambda t, x: t.linalg.norm(x, 1),
        lambda t, x: t.linalg.norm(x, -1),
        lambda t, x: t.linalg.norm(x, INF),
        lambda t, x: t.linalg.norm(x, -INF, (1, 0)),
        lambda t, x: t.linalg.norm(x, "fro"),
        lambda t, x: t.linalg.norm(x, 3, 1),
        lambda t, x: t.linalg.norm(x[0], 1),
        lambda t, x: t.linalg.norm(x.expand(2, 2, 3), 1),
        lambda t, x: t.linalg.matrix_norm(x.expand(2, 2, 3), 1, keepdim=True),
        lambda t, x: t.linalg.matrix_norm(x[0]),
        lambda t, x: t.linalg.multi_dot([x, x.t(), x, x.t()]),
        lambda t, x: t.linalg.multi_dot([x[0], x.t(), x[:, 0]]),
        lambda t, x: t.linalg.multi_dot([x]),
        lambda t, x: t.linalg.vecdot(x, x),
        lambda t, x: t.linalg.vecdot(x, x, dim=0),
        lambda t, x: t.linalg.matmul(x, x.t()),
        lambda t, x: t.linalg.matrix_power(x[:, :2], 5),
        lambda t, x: t.linalg.matrix_power(x[:, :2], 0),
        lambda t, x: t.linalg.matrix_power(x, 2),
        lambda t, x: t.linalg.diagonal(x, offset=1),
        lambda t, x: t.special.expit(x),
        lambda t, x: t.special.psi(x),
    ],
)
def test_linalg_and_special(both, call):
    both(call)


@pytest.mark.parametrize(
    "shapes",
    [(), ((2, 1), (3,)), ((), (0,)), (5, (1,)), ((2,), (3,)), ((-1,),), ((0, 1), (1, 4))],
)
def test_broadcast_shapes(torch, torch_gives, shapes):
    def shape(library):
        try:
            return tuple(library.broadcast_shapes(*shapes))
        except (RuntimeError, ValueError) as error:
            return type(error)

    assert shape(torch) == torch_gives(shape)
