"""Sequential, lists and dicts of modules and parameters, lazy modules."""

import copy
import warnings
from collections import OrderedDict

import pytest

from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def names(modules):
    return [type(module).__name__ for module in modules]


@scenario([
    ["ReLU", "Tanh", "Sigmoid", "ELU"], ["Tanh", "Sigmoid"], ["Sequential", "a"], "ELU",
    ["0", "1", "2"], ["GELU", "Tanh", "ELU"], ["Mish", "GELU", "Tanh", "ELU"], 8, "Mish",
    ["ReLU", "ReLU", "ReLU"],
    ("IndexError", "index 9 is out of range"),
    ("ValueError", "add operator supports only objects of Sequential class, but <class 'list'> is "
     "given."),
    ("AssertionError", True),
    ("IndexError", "Index out of range: 9"),
    ("TypeError", "int is not a Module subclass"),
])  # fmt: skip
def sequential(torch):
    nn = torch.nn
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    s.append(nn.ELU())
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    result = [names(s), names(s[1:3]), [type(named[:1]).__name__, *named[:1]._modules]]
    result.append(type(s[-1]).__name__)
    del s[2]
    result.append(list(s._modules))
    s[0] = nn.GELU()
    result.append(names(s))
    s.insert(0, nn.Mish())
    result.append(names(s))
    result.append(len(s + s))
    result.append(type(s.pop(0)).__name__)
    result.append(names(nn.Sequential(nn.ReLU()) * 3))
    wrong = error(s.insert, 0, 3)
    result += [
        error(s.__getitem__, 9),
        error(s.__add__, [1]),
        (wrong[0], wrong[1].startswith("module should be of type")),
        error(s.insert, 9, nn.ReLU()),
        error(s.append, 3),
    ]
    return result


@scenario([
    ["Linear", "Linear", "ReLU", "Tanh"], ["0.weight", "0.bias"], ["Linear", "ReLU"], 6,
    ["Mish", "Linear", "Linear", "ReLU"], "ReLU", ["0", "1", "2"],
    ("TypeError", "ModuleList.extend should be called with an iterable, but got int"),
    ("IndexError", "index 7 is out of range"),
    ("NotImplementedError", 'Module [ModuleList] is missing the required "forward" function'),
])  # fmt: skip
def module_list(torch):
    nn = torch.nn
    m = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    m += [nn.ReLU()]
    m.append(nn.Tanh())
    result = [names(m), list(m.state_dict())[:2], names(m[1:3])]
    result.append(len(m + nn.ModuleList([nn.ReLU(), nn.ReLU()])))
    del m[3]
    m.insert(0, nn.Mish())
    result.append(names(m))
    result.append(type(m.pop(-1)).__name__)
    result.append(list(m._modules))
    result += [error(nn.ModuleList, 3), error(m.__getitem__, 7), error(m, 1)]
    return result


@scenario([
    ["b", "a", "c"], ["Linear", "ReLU", "Tanh"], True, "ReLU", ["b", "c"], 0,
    ("TypeError", "module name should be a string. Got int"),
    ("ValueError", "ModuleDict update sequence element #0 has length 1; 2 is required"),
    ("KeyError", "attribute 'keys' already exists"),
])  # fmt: skip
def module_dict(torch):
    nn = torch.nn
    m = nn.ModuleDict({"b": nn.Linear(1, 1), "a": nn.ReLU()})
    m.update([("c", nn.Tanh())])
    result = [list(m), names(m.values()), "a" in m, type(m.pop("a")).__name__, list(m.keys())]
    m.clear()
    result.append(len(m))
    result += [
        error(m.__setitem__, 3, nn.ReLU()),
        error(m.update, [(1,)]),
        error(m.__setitem__, "keys", nn.ReLU()),
    ]
    return result


@scenario([
    ["0", "2"], 3, [True, False, True], [1.0, 5.0], ["0", "1"],
    ("RuntimeError", "ParameterList should not be called."),
    ("IndexError", "index 3 is out of range"),
])  # fmt: skip
def parameter_list(torch):
    nn = torch.nn
    p = nn.ParameterList([torch.ones(1), "text"])
    p.append(nn.Parameter(torch.ones(1)))
    result = [list(p.state_dict()), len(p), [isinstance(v, nn.Parameter) for v in p]]
    p[2] = torch.tensor([5.0])
    result.append([p[0].item(), p[-1].item()])
    result.append(list(p[::2].state_dict()))
    result += [error(p, 1), error(p.__getitem__, 3)]
    return result


@scenario([
    ["a", "b"], True, 2.0, ["a", "b", "c"], "c", ["b", "a"], 7.0, 0,
    ("TypeError", "Index given to ParameterDict cannot be used as a key as it is not a string "
     "(type is 'int'). Open an issue on github if you need non-string keys."),
])  # fmt: skip
def parameter_dict(torch):
    nn = torch.nn
    p = nn.ParameterDict({"b": torch.ones(1), "a": torch.tensor([2.0])})
    result = [list(p), isinstance(p["a"], nn.Parameter), p["a"].item()]
    q = p | nn.ParameterDict({"c": torch.ones(1)})
    result.append(list(q))
    result.append(q.popitem()[0])
    result.append(list(reversed(p)))
    result.append(p.setdefault("d", torch.tensor([7.0])).item())
    p.clear()
    result.append(len(p))
    result.append(error(p.__setitem__, 3, torch.ones(1)))
    return result


@scenario([
    "<UninitializedParameter>", True,
    ("RuntimeError", True),
    ["LazyLinear", "LazyLinear", "Linear"], (2, 3), [(2, 3), 3],
    (2, 5), ["Linear", (2, 5)], True,
])  # fmt: skip
def lazy(torch):
    nn = torch.nn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = nn.LazyLinear(2)
        result = [repr(layer.weight), layer.has_uninitialized_params()]
        shape = error(lambda: layer.weight.shape)
        result.append((shape[0], shape[1].startswith("Can't access the shape of an uninit")))
        other = copy.deepcopy(layer)
        kinds = [type(layer).__name__, type(other).__name__]
        layer(torch.ones(4, 3))
        result.append([*kinds, type(layer).__name__])
        result.append(tuple(layer.weight.shape))
        result.append([tuple(layer.weight.shape), layer.in_features])
        # The copy learns from its own first input, or from a file.
        other.load_state_dict(nn.Linear(5, 2).state_dict())
        result.append(tuple(other.weight.shape))
        other(torch.ones(1, 5))
        result.append([type(other).__name__, tuple(other.weight.shape)])
        result.append(not other._forward_pre_hooks)
    return result


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected(torch, function, expected):
    assert function(torch) == expected


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_in_torch(oracle, function, expected):
    assert function(oracle) == expected
