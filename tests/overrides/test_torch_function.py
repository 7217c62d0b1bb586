"""__torch_function__ of subclasses of Tensor and of other classes. Runs against torch, too."""

import copy
import importlib
import operator
import pickle

import mindtorch_v2
import pytest

from tests.conftest import TORCH_INSTALLED

LIBRARIES = ["mindtorch_v2", *(["torch"] if TORCH_INSTALLED else [])]


@pytest.fixture(params=LIBRARIES)
def torch(request):
    return importlib.import_module(request.param)


def logging_class(torch):
    """A subclass of Tensor that notes what is called."""

    class Logged(torch.Tensor):
        log = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append(torch.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs)

    return Logged


def duck_class(torch):
    """A class that is no tensor and handles all calls."""

    class Duck:
        def __init__(self):
            self.calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return (torch.overrides.resolve_name(func), types, args, kwargs or {})

    return Duck


# (what is done with a matrix x of the class and a plain one p, the functions that are called)
CALLS = [
    (lambda t, x, p: x + p, "Tensor.add"),
    (lambda t, x, p: p + x, "Tensor.add"),
    (lambda t, x, p: 2 + x, "Tensor.add"),
    (lambda t, x, p: 2 - x, "Tensor.__rsub__"),
    (lambda t, x, p: x / 2, "Tensor.div"),
    (lambda t, x, p: 2 / x, "Tensor.__rtruediv__"),
    (lambda t, x, p: x // 2, "Tensor.__floordiv__"),
    (lambda t, x, p: x % 2, "Tensor.remainder"),
    (lambda t, x, p: x**2, "Tensor.__pow__"),
    (lambda t, x, p: 2**x, "Tensor.__rpow__"),
    (lambda t, x, p: x @ p, "Tensor.matmul"),
    (lambda t, x, p: x < p, "Tensor.lt"),
    (lambda t, x, p: x == p, "Tensor.__eq__"),
    (lambda t, x, p: -x, "Tensor.neg"),
    (lambda t, x, p: abs(x), "Tensor.abs"),
    (lambda t, x, p: operator.iadd(x, 1), "Tensor.add_"),
    (lambda t, x, p: operator.ipow(x, 1), "Tensor.__ipow__"),
    (lambda t, x, p: x[0], "Tensor.__getitem__"),
    (lambda t, x, p: x.T, "Tensor.T.__get__"),
    (lambda t, x, p: x.relu(), "Tensor.relu"),
    (lambda t, x, p: x.to(t.float64), "Tensor.to"),
    (lambda t, x, p: p.type_as(x), "Tensor.type_as"),
    (lambda t, x, p: x.clone(), "Tensor.clone"),
    (lambda t, x, p: x.norm(), "Tensor.norm"),
    (lambda t, x, p: x.new_tensor([1.0]), "Tensor.new_tensor"),
    (lambda t, x, p: t.add(x, p, alpha=2), "add"),
    (lambda t, x, p: t.add(input=p, other=x), "add"),
    (lambda t, x, p: t.cat([p, x]), "cat"),
    (lambda t, x, p: t.add(p, p, out=x), "add"),
    (lambda t, x, p: t.zeros_like(x), "zeros_like"),
    (lambda t, x, p: t.norm(x), "functional.norm"),
    (lambda t, x, p: t.einsum("ij->j", x), "functional.einsum"),
    (lambda t, x, p: t.nn.functional.relu(x), "nn.functional.relu"),
    (lambda t, x, p: t.nn.functional.gelu(x), "nn.functional.gelu"),
    (lambda t, x, p: t.nn.functional.dropout(x), "nn.functional.dropout"),
    (lambda t, x, p: t.nn.functional.mse_loss(x, p), "nn.functional.mse_loss"),
    (lambda t, x, p: t.nn.functional.layer_norm(x, (2,)), "nn.functional.layer_norm"),
    (lambda t, x, p: t.nn.Linear(2, 2)(x), "nn.functional.linear"),
]
# The same where the result is no tensor.
QUESTIONS = [
    (lambda t, x, p: x.shape, "Tensor.shape.__get__"),
    (lambda t, x, p: x.requires_grad, "Tensor.requires_grad.__get__"),
    (lambda t, x, p: setattr(x, "requires_grad", True), "Tensor.requires_grad.__set__"),
    (lambda t, x, p: x.size(0), "Tensor.size"),
    (lambda t, x, p: x.dim(), "Tensor.dim"),
    (lambda t, x, p: len(x), "Tensor.__len__"),
    (lambda t, x, p: 1.0 in x, "Tensor.__contains__"),
    (lambda t, x, p: repr(x), "Tensor.__repr__"),
    (lambda t, x, p: x.tolist(), "Tensor.tolist"),
    (lambda t, x, p: x.numpy(), "Tensor.numpy"),
    (lambda t, x, p: operator.setitem(x, 0, 1.0), "Tensor.__setitem__"),
    (lambda t, x, p: operator.setitem(p, 0, x[0]), "Tensor.__getitem__ torch.Tensor.__setitem__"),
    (lambda t, x, p: bool(x[0, 0]), "Tensor.__getitem__ torch.Tensor.__bool__"),
    (lambda t, x, p: t.equal(x, p), "equal"),
    (lambda t, x, p: t.numel(x), "numel"),
    (lambda t, x, p: x.as_subclass(t.Tensor), ""),
    (lambda t, x, p: t.is_tensor(x), ""),
    (lambda t, x, p: hash(x), ""),
]


def matrix(torch):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_results_are_of_the_class(torch, case):
    call, name = CALLS[case]
    Logged = logging_class(torch)
    result = call(torch, matrix(torch).as_subclass(Logged), matrix(torch))
    assert type(result) is Logged
    assert Logged.log == [f"torch.{name}"]


@pytest.mark.parametrize("case", range(len(QUESTIONS)))
def test_calls_that_give_no_tensor(torch, case):
    call, name = QUESTIONS[case]
    Logged = logging_class(torch)
    result = call(torch, matrix(torch).as_subclass(Logged), matrix(torch))
    assert not isinstance(result, Logged)
    assert Logged.log == ([f"torch.{name}"] if " " not in name else f"torch.{name}".split()) * bool(
        name
    )


DUCKS = [
    (lambda t, d, p: t.add(p, d), "add", 2),
    (lambda t, d, p: t.sum(d, dim=0), "sum", 1),
    (lambda t, d, p: t.cat([p, d]), "cat", 1),
    (lambda t, d, p: p + d, "Tensor.add", 2),
    (lambda t, d, p: d + p, "Tensor.add", 2),
    (lambda t, d, p: d - p, "Tensor.__rsub__", 2),
    (lambda t, d, p: d / p, "Tensor.__rtruediv__", 2),
    (lambda t, d, p: d @ p, "Tensor.__rmatmul__", 2),
    (lambda t, d, p: p > d, "Tensor.gt", 2),
    (lambda t, d, p: p.mul(d), "Tensor.mul", 2),
    (lambda t, d, p: t.nn.functional.gelu(d), "nn.functional.gelu", 1),
    (lambda t, d, p: t.nn.functional.relu(d), "nn.functional.relu", 1),
    (lambda t, d, p: t.nn.functional.dropout(d), "nn.functional.dropout", 1),
    (lambda t, d, p: t.nn.functional.interpolate(d, 2), "nn.functional.interpolate", None),
    (lambda t, d, p: t.norm(d), "functional.norm", 1),
    (lambda t, d, p: t.is_floating_point(d), "is_floating_point", 1),
]


@pytest.mark.parametrize("case", range(len(DUCKS)))
def test_classes_that_are_no_tensors(torch, case):
    call, name, count = DUCKS[case]
    Duck = duck_class(torch)
    result = call(torch, Duck(), matrix(torch))
    assert result[0] == f"torch.{name}" and Duck in result[1]
    assert count is None or len(result[2]) == count


def test_who_is_asked_first(torch):
    asked = []

    def handler(name):
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((name, types))
            return NotImplemented

        return classmethod(__torch_function__)

    First = type("First", (), {"__torch_function__": handler("first")})
    Second = type("Second", (First,), {"__torch_function__": handler("second")})
    Other = type("Other", (), {"__torch_function__": handler("other")})
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.cat'"):
        torch.cat([First(), Other(), Second(), First()])
    # Subclasses before the classes they are made of, else from left to right.
    assert [name for name, _ in asked] == ["second", "first", "other"]
    assert asked[0][1] == (Second, First, Other)


def test_an_operator_goes_to_the_other_operand(torch):
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Adds:
        def __radd__(self, other):
            return "added"

    x = matrix(torch).as_subclass(Refuses)
    assert x + Adds() == "added"
    with pytest.raises(TypeError, match="unsupported operand type"):
        x + 1
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        x.relu()


def test_errors_of_a_handler(torch):
    class Fails(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    x = matrix(torch).as_subclass(Fails)
    for call in (lambda: x + 1, lambda: x.relu(), lambda: x.shape, lambda: len(x), lambda: bool(x)):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(KeyError):
        x[0] = 1


def test_named_results_and_lists(torch):
    class Plain(torch.Tensor):
        pass

    x = matrix(torch).as_subclass(Plain)
    found = torch.max(x, 0)
    assert type(found.values) is Plain and type(found.indices) is Plain
    assert [type(part) for part in x.split(1)] == [Plain, Plain]
    assert [type(row) for row in x] == [Plain, Plain]
    assert type(x.data) is Plain and x.grad is None
    assert type(torch.tensor([1.0]).as_subclass(Plain).sum()) is Plain


def test_gradients_of_a_subclass(torch):
    class Plain(torch.Tensor):
        pass

    leaf = matrix(torch).requires_grad_()
    (leaf.as_subclass(Plain) * 3).sum().backward()
    assert leaf.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    own = matrix(torch).as_subclass(Plain).requires_grad_()
    loss = (own * own).sum()
    assert type(loss) is Plain and loss.grad_fn is not None
    loss.backward()
    assert own.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_switches(torch):
    Logged = logging_class(torch)
    x = matrix(torch).as_subclass(Logged)
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor and x.shape == (2, 2)
        assert not torch._C._is_torch_function_enabled()
        assert not torch.overrides.has_torch_function((x,))
    with torch._C.DisableTorchFunction():
        assert type(torch.add(x, 1)) is torch.Tensor
        with torch._C.DisableTorchFunctionSubclass():
            assert type(x + 1) is torch.Tensor
        assert type(x + 1) is torch.Tensor
    assert Logged.log == []
    assert type(x + 1) is Logged

    class Off(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(matrix(torch).as_subclass(Off) + 1) is torch.Tensor


def test_parameters_stay_plain(torch):
    parameter = torch.nn.Parameter(matrix(torch))
    assert type(parameter + 1) is torch.Tensor and type(parameter.detach()) is torch.Tensor
    assert not torch.overrides.has_torch_function((parameter,))
    assert not torch.overrides.has_torch_function_unary(parameter)

    class Own(torch.nn.Parameter):
        pass

    assert type(Own(matrix(torch)) * 2) is torch.Tensor


def test_lazy_parameters_refuse_to_be_used(torch):
    weight = torch.nn.UninitializedParameter()
    for call in (lambda: weight + 1, lambda: torch.nn.functional.linear(matrix(torch), weight)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            call()
    assert weight.device.type == "cpu" and weight.is_floating_point()


class Kept(mindtorch_v2.Tensor):
    """At the top of a module, as pickle needs it."""


def test_copies_and_pickles():
    x = mindtorch_v2.tensor([1.0, 2.0]).as_subclass(Kept)
    x.note = "kept"
    for made in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Kept and made.tolist() == [1.0, 2.0] and made.note == "kept"
    made = mindtorch_v2.Tensor._make_subclass(Kept, mindtorch_v2.ones(2), True)
    assert type(made) is Kept and made.requires_grad
    assert type(copy.deepcopy(made)) is Kept and copy.deepcopy(made).requires_grad


def test_handle_torch_function_in_python(torch):
    overrides = torch.overrides

    def double(x, scale=2):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x, scale=scale)
        return x * scale

    Duck = duck_class(torch)
    _, types, _, kwargs = double(Duck())
    assert types == (Duck,) and kwargs == {"scale": 2}
    assert double(torch.ones(1)).tolist() == [2.0]

    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="no implementation found for '.*double' on types"):
        double(Refuses())

    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def both(a, b):
        return a + b

    assert both(torch.ones(1), 1).tolist() == [2.0]
    assert both(Duck(), 1)[1] == (Duck,)
