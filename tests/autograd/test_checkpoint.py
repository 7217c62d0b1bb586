"""torch.utils.checkpoint: the same gradients, with activations computed again."""

import contextlib
import gc
import weakref

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def checkpoint(torch):
    from importlib import import_module

    return import_module(f"{torch.__name__}.utils.checkpoint")


class Counted:
    """A function that counts how often it starts and ends."""

    def __init__(self, function):
        self.function, self.starts, self.ends = function, 0, 0

    def __call__(self, *args, **kwargs):
        self.starts += 1
        result = self.function(*args, **kwargs)
        self.ends += 1
        return result


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@scenario([[[12.0], 2, 2], [[12.0], 2, 1]])
def gradients(torch):
    result = []
    for reentrant in (True, False):
        x, f = leaf(torch, 2.0), Counted(lambda x: x * x * x)
        y = checkpoint(torch).checkpoint(f, x, use_reentrant=reentrant)
        y.sum().backward()
        result.append([x.grad.tolist(), f.starts, f.ends])
    return result


@scenario([["torch.bfloat16", "torch.bfloat16"]] * 2)
def autocast(torch):
    """The second run, in a backward outside of the block, computes in the same dtype."""
    result = []
    for reentrant in (True, False):
        weight, dtypes = leaf(torch, [1.0, 2.0], [3.0, 4.0]), []

        def f(x, weight=weight, dtypes=dtypes):
            y = x @ weight
            dtypes.append(str(y.dtype).replace("mindtorch_v2", "torch"))
            return y * y  # the second run ends when all is saved: not before this

        x = leaf(torch, [1.0, 2.0])
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = checkpoint(torch).checkpoint(f, x, use_reentrant=reentrant)
        y.float().sum().backward()
        assert weight.grad.tolist() == [[14.0, 20.0], [28.0, 40.0]]
        assert not torch.is_autocast_enabled("cpu")
        result.append(dtypes)
    return result


@scenario([[[8.0], [4.0], 6.0], [[8.0], [4.0], 6.0]])
def many_arguments(torch):
    def f(x, n, w, flag):
        return (x * w * n, None if flag else 3, x + 1)

    result = []
    for reentrant in (True, False):
        x, w = leaf(torch, 2.0), leaf(torch, 4.0)
        y, nothing, z = checkpoint(torch).checkpoint(f, x, 2, w, True, use_reentrant=reentrant)
        assert nothing is None
        y.sum().backward()
        result.append([x.grad.tolist(), w.grad.tolist(), (z + 3).item()])
    return result


@scenario([[3.0], [6.0]])
def keywords(torch):
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    f = lambda x, *, w, n: x * w * n  # noqa: E731
    y = checkpoint(torch).checkpoint(f, x, w=w, n=1, use_reentrant=False)
    y.sum().backward()
    return [x.grad.tolist(), (w.grad * 3).tolist()]


@scenario([True, True, True, False])
def random_numbers(torch):
    def f(x):
        return x * torch.rand(4) * torch.rand(4)

    result = []
    for options in ({"use_reentrant": True}, {"use_reentrant": False}):
        x = torch.ones(4, requires_grad=True)
        y = checkpoint(torch).checkpoint(f, x, **options)
        state = torch.get_rng_state()
        y.sum().backward()
        same = torch.allclose(y.detach(), x.grad)
        result.append(same and torch.equal(state, torch.get_rng_state()))
    x = torch.ones(4, requires_grad=True)
    y = checkpoint(torch).checkpoint(f, x, use_reentrant=False, preserve_rng_state=True)
    y.sum().backward()
    result.append(torch.allclose(y.detach(), x.grad))
    x = torch.ones(4, requires_grad=True)
    y = checkpoint(torch).checkpoint(f, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    return [*result, torch.allclose(y.detach(), x.grad)]


@scenario([[1, 0], [1, 1], [1, 1]])
def early_stop(torch):
    c = checkpoint(torch)

    def runs(**options):
        x, f = leaf(torch, 2.0), Counted(lambda x: x * x + 1)
        y = c.checkpoint(f, x, use_reentrant=False, **options)
        f.starts = f.ends = 0
        y.sum().backward()
        return [f.starts, f.ends]

    with c.set_checkpoint_early_stop(False):
        third = runs()
    return [runs(), runs(early_stop=False), third]


@scenario([[12.0], [24.0], 3, [12.0], [12.0]])
def more_than_one_backward(torch):
    x, f = leaf(torch, 2.0), Counted(lambda x: x * x * x)
    y = checkpoint(torch).checkpoint(f, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    y.backward()
    count = f.starts
    y = checkpoint(torch).checkpoint(f, x, use_reentrant=False).sum()
    (grad,) = torch.autograd.grad(y, x, create_graph=True)
    return [first, x.grad.tolist(), count, grad.tolist(),
            torch.autograd.grad(grad.sum(), x)[0].tolist()]  # fmt: skip


@scenario([[True, True], [True, True]])
def nested(torch):
    c, result = checkpoint(torch), []
    for reentrant in (True, False):
        inner = lambda x: x.sin().cos()  # noqa: E731
        outer = lambda x: c.checkpoint(inner, x.exp(), use_reentrant=reentrant).sin()  # noqa: E731, B023
        x, plain = leaf(torch, 0.5), leaf(torch, 0.5)
        y = c.checkpoint(outer, x, use_reentrant=reentrant)
        y.sum().backward()
        expected = plain.exp().sin().cos().sin()
        expected.sum().backward()
        result.append([torch.equal(y.detach(), expected.detach()),
                       torch.allclose(x.grad, plain.grad)])  # fmt: skip
    return result


@scenario([["first", "again"], [4.0]])
def contexts(torch):
    seen = []

    @contextlib.contextmanager
    def note(name):
        seen.append(name)
        yield

    x = leaf(torch, 2.0)
    y = checkpoint(torch).checkpoint(
        lambda x: x * x,
        x,
        use_reentrant=False,
        context_fn=lambda: (note("first"), note("again")),
    )
    y.sum().backward()
    return [seen, x.grad.tolist()]


@scenario([[True, 6], [True, 6]])
def sequences(torch):
    result = []
    for reentrant in (True, False):
        layers = [Counted(f) for f in (torch.sin, torch.cos, torch.sin, torch.cos)]
        x, plain = leaf(torch, 0.5), leaf(torch, 0.5)
        y = checkpoint(torch).checkpoint_sequential(layers, 2, x, use_reentrant=reentrant)
        y.sum().backward()
        plain.sin().cos().sin().cos().sum().backward()
        result.append([torch.allclose(x.grad, plain.grad), sum(f.starts for f in layers)])
    return result


@scenario([
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
    "and recomputation.\nNumber of tensors saved during forward: 2\nNumber of tensors saved during "
    "recomputation: 1.",
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
    "than during the forward pass.\ntensor at position 0:\nsaved metadata: {'shape': "
    "torch.Size([2]), 'dtype': torch.float32, 'device': device(type='cpu')}\nrecomputed metadata: "
    "{'shape': torch.Size([4]), 'dtype': torch.float32, 'device': device(type='cpu')}",
    None,
])  # fmt: skip
def another_second_run(torch):
    c = checkpoint(torch)

    def backward(first, again, **options):
        functions = [first, again]
        x = leaf(torch, 1.0, 2.0)
        y = c.checkpoint(lambda x: functions.pop(0)(x), x, use_reentrant=False, **options)
        try:
            y.sum().backward()
        except c.CheckpointError as raised:
            return str(raised)

    fewer = backward(lambda x: x.sin().cos(), torch.sin)
    larger = backward(lambda x: x.sin(), lambda x: x.repeat(2).sin())
    ignored = backward(torch.sin, lambda x: x.double().sin(), determinism_check="none")
    return [fewer.partition("\n\n")[0], larger.partition("\n.")[0].partition("\n\n")[0], ignored]


GRAD = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
    "`inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
)


@scenario([
    ("ValueError", "Unexpected keyword arguments: n"),
    ("ValueError", "Passing `context_fn` or `debug` is only supported when use_reentrant=False."),
    ("ValueError", "determinism_check should be one of ['default', 'none'], but got some"),
    ("RuntimeError", GRAD),
    ("RuntimeError", GRAD),
    ("RuntimeError", "none of output has requires_grad=True, this checkpoint() is not necessary"),
])  # fmt: skip
def mistakes(torch):
    run, x = checkpoint(torch).checkpoint, leaf(torch, 1.0)
    return [
        error(run, torch.sin, x, use_reentrant=True, n=3),
        error(run, torch.sin, x, use_reentrant=True, debug=True),
        error(run, torch.sin, x, use_reentrant=False, determinism_check="some"),
        error(torch.autograd.grad, run(torch.sin, x, use_reentrant=True).sum(), x),
        error(run(torch.sin, x, use_reentrant=True).sum().backward, inputs=[x]),
        error(run(lambda x: x.detach(), x, use_reentrant=True).sum().backward),
    ]


@scenario([False, False])
def without_gradients(torch):
    run = checkpoint(torch).checkpoint
    with torch.no_grad():
        quiet = run(torch.sin, leaf(torch, 1.0), use_reentrant=False)
    return [quiet.requires_grad, run(torch.sin, torch.ones(1), use_reentrant=False).requires_grad]


test_gives, test_torch_agrees = make_tests(scenario)


def test_warnings(torch):
    x = leaf(torch, 1.0)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        torch.utils.checkpoint.checkpoint(torch.sin, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        torch.utils.checkpoint.checkpoint(torch.sin, x.detach(), use_reentrant=True)


@pytest.mark.parametrize("reentrant", [True, False])
def test_no_activation_is_kept(torch, reentrant):
    seen = []

    def f(x):
        for _ in range(4):
            x = x.sin()
            seen.append(weakref.ref(x))
        return x + 1

    def alive():
        gc.collect()
        return sum(ref() is not None for ref in seen)

    x = torch.ones(1, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant)
    assert alive() == 0
    y.sum().backward()
    assert alive() == 0 and len(seen) > 4


def test_the_inner_of_two_keeps_no_activation_of_the_outer(torch):
    seen, run = [], torch.utils.checkpoint.checkpoint

    def outer(x):
        middle = x.exp()
        seen.append(weakref.ref(middle))
        return run(torch.sin, middle, use_reentrant=False)

    x = torch.ones(1, requires_grad=True)
    y = run(outer, x, use_reentrant=False)
    gc.collect()
    assert seen[0]() is None
    y.backward()
    expected = torch.ones(1, requires_grad=True)
    expected.exp().sin().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_functions_that_catch_exceptions_stop_early_too(torch):
    ends = []

    def f(x):
        try:
            return x * x
        except Exception:
            ends.append("caught")
            raise

    x = torch.ones(1, requires_grad=True)
    torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False).backward()
    assert x.grad.tolist() == [2.0] and not ends


def test_debug_shows_where_tensors_were_saved(torch):
    functions = [lambda x: x.sin().cos(), torch.sin]

    def chosen_by_run(x):
        return functions.pop(0)(x)

    x = torch.ones(1, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(chosen_by_run, x, use_reentrant=False, debug=True)
    with pytest.raises(torch.utils.checkpoint.CheckpointError) as raised:
        y.backward()
    assert "Tensor 1 in forward" in str(raised.value) and "chosen_by_run" in str(raised.value)
    with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        y = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    y.backward()


def test_arguments_of_the_helpers(torch):
    c = torch.utils.checkpoint
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        c.detach_variable([torch.ones(1)])
    x = torch.ones(1, requires_grad=True)
    (other, number) = c.detach_variable((x * 2, 3))
    assert other.is_leaf and other.requires_grad and number == 3
    assert c.get_device_states(x.cpu(), [x.cpu()]) == ([], [])
    before = c.DefaultDeviceType.get_device_type()
    c.DefaultDeviceType.set_device_type("npu")
    assert c.DefaultDeviceType.get_device_type() == "npu"
    c.DefaultDeviceType.set_device_type(before)
