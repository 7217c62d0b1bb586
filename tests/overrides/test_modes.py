"""torch.overrides: modes, which are tested against torch, too, and the tables of functions."""

import importlib
import inspect
import pickle
import threading

import mindtorch_v2
import pytest
from mindtorch_v2 import _C, overrides

from tests.conftest import TORCH_INSTALLED

LIBRARIES = ["mindtorch_v2", *(["torch"] if TORCH_INSTALLED else [])]
F = importlib.import_module("mindtorch_v2.nn.functional")


@pytest.fixture(params=LIBRARIES)
def torch(request):
    return importlib.import_module(request.param)


def log_mode(torch):
    class Log(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(torch.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    return Log


def test_a_mode_sees_all_calls(torch):
    with log_mode(torch)() as log:
        x = torch.zeros(2)
        x + 1
        x.relu()
        assert x.shape == (2,)
        x[0]
        torch.tensor([1.0])
        torch.arange(3)
        torch.nn.functional.dropout(x)
        torch.nn.functional.gelu(x)
        _ = -x
        x.to(torch.float64)
    torch.ones(1)
    assert log.names == [
        "torch.zeros",
        "torch.Tensor.add",
        "torch.Tensor.relu",
        "torch.Tensor.shape.__get__",
        "torch.Tensor.__getitem__",
        "torch.tensor",
        "torch.arange",
        "torch.nn.functional.dropout",
        "torch.nn.functional.gelu",
        "torch.Tensor.neg",
        "torch.Tensor.to",
    ]


def test_modes_nest(torch):
    order = []

    class Named(torch.overrides.TorchFunctionMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    outer, inner = Named("outer"), Named("inner")
    with outer, inner:
        assert torch.overrides._get_current_function_mode() is inner
        assert torch.overrides._get_current_function_mode_stack() == [outer, inner]
        torch.zeros(1)
    assert order == ["inner", "outer"]
    assert torch.overrides._get_current_function_mode() is None


def test_a_mode_comes_before_classes(torch):
    order = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append("class")
            return "handled"

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append("mode")
            return NotImplemented

    x = torch.ones(1).as_subclass(Sub)
    with Mode():
        assert torch.add(x, 1) == "handled"
        with pytest.raises(TypeError, match="mode object"):
            torch.zeros(1)
    assert order == ["mode", "class", "mode"]


def test_a_mode_changes_results(torch):
    class Meta(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (torch.zeros, torch.empty):
                kwargs["device"] = "meta"
            return func(*args, **kwargs)

    with Meta():
        assert torch.zeros(2).device.type == "meta"
        assert torch.nn.Linear(2, 2).weight.device.type == "meta"


def test_a_mode_after_an_error(torch):
    class Fails(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError), Fails():
            torch.zeros(1) + 1
    assert torch.zeros(1).tolist() == [0.0]


def test_switched_off(torch):
    with log_mode(torch)() as log:
        with torch._C.DisableTorchFunctionSubclass():
            torch.zeros(1)
        with torch._C.DisableTorchFunction():
            torch.zeros(1)
            with torch.overrides._enable_torch_function():
                torch.ones(1)
    assert log.names == ["torch.zeros", "torch.ones"]


def test_a_mode_belongs_to_its_thread(torch):
    with log_mode(torch)() as log:
        thread = threading.Thread(target=lambda: torch.zeros(1) + 1)
        thread.start()
        thread.join()
    assert log.names == []


def test_a_thread_that_ends_inside_a_mode():
    mode = overrides.BaseTorchFunctionMode()
    thread = threading.Thread(target=mode.__enter__)
    thread.start()
    thread.join()
    assert overrides._get_current_function_mode_stack() == []
    assert mindtorch_v2.zeros(1).tolist() == [0.0]


def test_modes_in_a_pipeline_and_with_gradients():
    with log_mode(mindtorch_v2)() as log, mindtorch_v2.pipeline():
        x = mindtorch_v2.ones(2, requires_grad=True)
        y = (x * 3).sum()
    assert log.names == ["torch.ones", "torch.Tensor.mul", "torch.Tensor.sum"]
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_only_modes_are_pushed():
    with pytest.raises(TypeError, match="__torch_function__"):
        _C._push_on_torch_function_stack(3)
    with pytest.raises(RuntimeError, match="no mode"):
        _C._pop_torch_function_stack()


# --- the tables -------------------------------------------------------------------------------


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func


def test_every_function_in_the_table_can_be_handled():
    functions = overrides.get_overridable_functions()
    assert len(functions[mindtorch_v2]) > 300 and len(functions[mindtorch_v2.Tensor]) > 400
    missed = []
    for place, found in functions.items():
        if isinstance(place, (type(mindtorch_v2), type)) and place is not mindtorch_v2.Tensor:
            for function in found:
                try:
                    handled = function(Duck()) is function
                except Exception as error:
                    handled = error
                if handled is not True:
                    missed.append((overrides.resolve_name(function), handled))
    assert missed == []


def test_every_method_in_the_table_can_be_handled():
    class Sub(mindtorch_v2.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            raise LookupError

    missed = []
    for place, functions in overrides.get_overridable_functions().items():
        if place is not mindtorch_v2.Tensor and isinstance(place, (type(mindtorch_v2), type)):
            continue
        for function in functions:
            seen = []
            x = mindtorch_v2.ones(1).as_subclass(Sub)
            for extra in ((), (1,), (1, 1)):
                try:
                    function(x, *extra)
                except LookupError:
                    break
                except TypeError:  # another number of arguments
                    continue
            if not seen:
                missed.append(overrides.resolve_name(function))
    assert missed == []


def test_names():
    torch = mindtorch_v2
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert overrides.resolve_name(F.relu) == "torch.nn.functional.relu"
    assert overrides.resolve_name(print) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert torch.zeros in overrides.get_ignored_functions()
    assert torch.add not in overrides.get_ignored_functions()


def test_names_of_torch(torch_gives):
    theirs = torch_gives(lambda torch: sorted(torch.overrides.__all__))
    assert sorted(overrides.__all__) == theirs


def test_stand_ins_have_the_parameters():
    stand_ins = overrides.get_testing_overrides()
    assert stand_ins[mindtorch_v2.add](1, 2) == -1
    parameters = list(inspect.signature(stand_ins[mindtorch_v2.add]).parameters)
    assert parameters == ["input", "other", "alpha", "out"]
    assert list(inspect.signature(stand_ins[F.dropout]).parameters)[0] == "input"
    assert all(callable(function) for function in stand_ins.values())


def test_python_functions_look_as_before():
    assert inspect.isfunction(F.dropout) and F.dropout.__name__ == "dropout"
    assert list(inspect.signature(F.dropout).parameters) == ["input", "p", "training", "inplace"]
    assert inspect.getsource(F.dropout).startswith("def dropout(")
    assert pickle.loads(pickle.dumps(F.dropout)) is F.dropout
    assert pickle.loads(pickle.dumps(F.mse_loss)) is F.mse_loss
    assert "dropout" in repr(F.dropout) and F.dropout.__doc__
    assert pickle.loads(pickle.dumps(mindtorch_v2.norm)) is mindtorch_v2.norm


def test_is_tensor_like():
    class Other:
        pass

    assert overrides.is_tensor_like(mindtorch_v2.ones(1)) and overrides.is_tensor_like(Duck())
    assert not overrides.is_tensor_like(3) and not overrides.is_tensor_like(Other())
