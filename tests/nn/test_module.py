"""torch.nn.Module: what belongs to it, how it is found, moved, copied and shown."""

import copy
import io
import pickle
from collections import OrderedDict

import pytest

from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def make_model(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("scale", torch.ones(2))
            self.register_buffer("cache", torch.zeros(1), persistent=False)
            self.register_parameter("nothing", None)

        def forward(self, x):
            return self.linear(x) * self.scale

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Block()
            self.second = self.first  # the same module under two names
            self.own = nn.Parameter(torch.ones(3))
            self.act = nn.ReLU()

        def forward(self, x):
            return self.act(self.first(x))

    return Model()


NAMES = ["own", "first.linear.weight", "first.linear.bias"]


@scenario(
    [
        NAMES,
        [*NAMES, "second.linear.weight", "second.linear.bias"],
        ["own"],
        ["p.own", "p.first.linear.weight", "p.first.linear.bias"],
        ["first.scale", "first.cache"],
        ["", "first", "first.linear", "act"],
        ["", "first", "first.linear", "second", "second.linear", "act"],
        ["first", "act"],
        ["Block", "ReLU"],
        [1, 4],
    ]
)
def finding(torch):
    m = make_model(torch)
    return [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(remove_duplicate=False)],
        [n for n, _ in m.named_parameters(recurse=False)],
        [n for n, _ in m.named_parameters("p")],
        [n for n, _ in m.named_buffers()],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_modules(remove_duplicate=False)],
        [n for n, _ in m.named_children()],
        [type(c).__name__ for c in m.children()],
        [len(list(m.parameters(recurse=False))), len(list(m.modules()))],
    ]


@scenario([
    ["own", "first.linear.weight", "first.linear.bias", "first.scale"],
    ["own", "first.scale", "first.linear.weight", "first.linear.bias",
     "second.scale", "second.linear.weight", "second.linear.bias"],
    ["", "first", "first.linear", "second", "second.linear", "act"],
    [{"version": 1}],
    True,
    [False, True],
])  # fmt: skip
def state_dict_keys(torch):
    m = make_model(torch)
    state = m.state_dict()
    alone = m.state_dict(prefix="x.")
    kept = m.state_dict(keep_vars=True)
    return [
        [k for k in ("own", "first.linear.weight", "first.linear.bias", "first.scale")
         if k in state],
        list(state),
        list(state._metadata),
        [state._metadata["first.linear"]],
        all(k.startswith("x.") for k in alone),
        [isinstance(s["own"], torch.nn.Parameter) for s in (state, kept)],
    ]  # fmt: skip


@scenario([
    "<All keys matched successfully>",
    ("RuntimeError", "Error(s) in loading state_dict for Linear:\n\t"
     'Missing key(s) in state_dict: "bias". \n\tUnexpected key(s) in state_dict: "extra", '
     '"sub.x". '),
    "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['extra', 'sub.x'])",
    ("RuntimeError", "Error(s) in loading state_dict for Linear:\n\tsize mismatch for weight: "
     "copying a param with shape torch.Size([3, 3]) from checkpoint, the shape in current model is "
     "torch.Size([1, 2])."),
    ("TypeError", "Expected state_dict to be dict-like, got <class 'int'>."),
    [True, True, False],
    ("RuntimeError", 'Error(s) in loading state_dict for Linear:\n\tWhile copying the parameter '
     'named "bias", expected torch.Tensor or Tensor-like object from checkpoint but received '
     "<class 'int'>"),
])  # fmt: skip
def loading(torch):
    nn = torch.nn
    layer = nn.Linear(2, 1)
    state = layer.state_dict()
    wrong = OrderedDict(weight=state["weight"], extra=torch.ones(1))
    wrong["sub.x"] = torch.ones(1)
    other = nn.Linear(2, 1)
    before = other.weight
    result = [
        repr(other.load_state_dict(state)),
        error(other.load_state_dict, wrong),
        repr(other.load_state_dict(wrong, strict=False)),
        error(other.load_state_dict, {**state, "weight": torch.ones(3, 3)}),
        error(other.load_state_dict, 3),
    ]
    other.weight.requires_grad_(False)
    same = other.weight is before
    other.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)}, assign=True)
    result.append([same, isinstance(other.weight, nn.Parameter), other.weight.requires_grad])
    result.append(error(other.load_state_dict, {**state, "bias": 3}))
    return result


@scenario([
    ("AttributeError", "cannot assign parameters before Module.__init__() call"),
    ("AttributeError", "cannot assign module before Module.__init__() call"),
    ("AttributeError", "cannot assign buffer before Module.__init__() call"),
    ("TypeError", "cannot assign 'torch.FloatTensor' as parameter 'weight' "
     "(torch.nn.Parameter or None expected)"),
    ("TypeError", "cannot assign 'int' as child module 'sub' (torch.nn.Module or None expected)"),
    ("TypeError", "cannot assign 'int' as buffer 'buf' "
     "(torch.nn.Buffer, torch.Tensor or None expected)"),
    ("AttributeError", "'M' object has no attribute 'missing'"),
    ("KeyError", 'parameter name can\'t contain "."'),
    ("KeyError", 'buffer name can\'t be empty string ""'),
    ("KeyError", "attribute 'weight' already exists"),
    ("KeyError", 'module name can\'t contain ".", got: a.b'),
    ("TypeError", "int is not a Module subclass"),
    ("TypeError", "buffer name should be a string. Got int"),
    ("TypeError", "cannot assign 'int' object to buffer 'b' (torch Tensor or None required)"),
    ("TypeError", "cannot assign 'torch.FloatTensor' object to parameter 'p' "
     "(torch.nn.Parameter or None required)"),
    ("NotImplementedError", 'Module [M] is missing the required "forward" function'),
    ("AttributeError", "M has no attribute `x`"),
    ("AttributeError", "`weight` is not an nn.Module"),
    ("AttributeError", "`buf` is not an nn.Parameter"),
    ("AttributeError", "`weight` is not a buffer"),
    ("ValueError", "training mode is expected to be boolean"),
    ("TypeError", "nn.Module.to only accepts floating point or complex dtypes, but got desired "
     "dtype=torch.int64"),
    ("TypeError", "M.__init__() takes 1 positional argument but 2 were given"),
    ("TypeError", "M.__init__() got an unexpected keyword argument 'x'"),
])  # fmt: skip
def error_texts(torch):
    nn = torch.nn

    def before_init(value):
        class Early(nn.Module):
            def __init__(self):
                self.x = value

        Early()

    class EarlyBuffer(nn.Module):
        def __init__(self):
            self.register_buffer("x", torch.ones(1))

    class M(nn.Module):
        pass

    m = M()
    m.weight = nn.Parameter(torch.ones(1))
    m.sub = nn.ReLU()
    m.register_buffer("buf", torch.ones(1))
    return [
        error(before_init, nn.Parameter(torch.ones(1))),
        error(before_init, nn.ReLU()),
        error(EarlyBuffer),
        error(setattr, m, "weight", torch.ones(1)),
        error(setattr, m, "sub", 3),
        error(setattr, m, "buf", 3),
        error(getattr, m, "missing"),
        error(m.register_parameter, "a.b", None),
        error(m.register_buffer, "", None),
        error(m.register_buffer, "weight", None),
        error(m.add_module, "a.b", nn.ReLU()),
        error(m.add_module, "a", 3),
        error(m.register_buffer, 3, None),
        error(m.register_buffer, "b", 3),
        error(m.register_parameter, "p", torch.ones(1)),
        error(m, 1),
        error(m.get_submodule, "x"),
        error(m.get_submodule, "weight"),
        error(m.get_parameter, "buf"),
        error(m.get_buffer, "weight"),
        error(m.train, 1),
        error(m.to, torch.int64),
        error(M, 3),
        error(M, x=3),
    ]


@scenario([
    [["a"], [], [], []], [[], ["a"], [], []], [[], [], [], ["a"]], [[], [], ["a"], []],
    [[], [], ["a"], []], [["a"], [], [], []], [], True,
])  # fmt: skip
def attributes_change_kind(torch):
    nn = torch.nn
    m = nn.Module()

    def where():
        return [[n for n in place if n == "a"]
                for place in (m._parameters, m._buffers, m._modules, m.__dict__)]  # fmt: skip

    result = []
    m.a = nn.Parameter(torch.ones(1))
    result.append(where())
    del m.a
    m.a = nn.Buffer(torch.ones(1), persistent=False)
    result.append(where())
    del m.a
    m.a = 3
    result.append(where())
    m.a = nn.ReLU()
    result.append(where())
    m.a = None  # a place that is empty stays a module's
    result.append(where())
    m.a = nn.Parameter(torch.ones(1))
    result.append(where())
    result.append(list(m._non_persistent_buffers_set))
    result.append("a" in dir(m))
    return result


@scenario(["linear", "Block", True, (3, 2), True, ["first", "act"], "Linear(in_features=2, "
           "out_features=3, bias=True)"])  # fmt: skip
def lookups(torch):
    m = make_model(torch)
    m.set_submodule("first.linear", torch.nn.Linear(2, 3))
    return [
        next(iter(dict(m.first.named_children()))),
        type(m.get_submodule("first")).__name__,
        m.get_submodule("") is m,
        tuple(m.get_parameter("first.linear.weight").shape),
        m.get_buffer("first.scale") is m.first.scale,
        [n for n, _ in m.named_children()],
        repr(m.get_submodule("first.linear")),
    ]


@scenario([
    ["torch.float64", "torch.float64", "torch.int64"], True,
    ["torch.float16"], ["torch.bfloat16"], ["torch.float32"],
    "meta", [(2, 2)], ["cpu", False],
    ("NotImplementedError", "Cannot copy out of meta tensor; no data! Please use "
     "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a "
     "different device."),
])  # fmt: skip
def conversions(torch):
    m = make_model(torch)
    m.register_buffer("count", torch.tensor(1))
    before = m.own
    m.own.grad = torch.ones(3)
    m.double()
    result = [[str(m.own.dtype), str(m.own.grad.dtype), str(m.count.dtype)], m.own is before]
    result.append([str(m.half().own.dtype)])
    result.append([str(m.to(torch.bfloat16).own.dtype)])
    result.append([str(m.float().own.dtype)])
    meta = m.to("meta")
    result.append(meta.own.device.type)
    result.append([tuple(m.first.linear.weight.shape)])
    text = error(m.to, "cpu")
    m.to_empty(device="cpu")
    result.append([m.own.device.type, m.own.is_meta])
    result.append(text)
    return result


@scenario([[False, False], [True, True], [None, [0.0, 0.0, 0.0]], [False, False],
           ["Linear", "Block", "ReLU", "Model"]])  # fmt: skip
def doing_with_all(torch):
    m = make_model(torch)
    seen = []
    m.eval()
    result = [[m.training, m.first.linear.training]]
    m.train()
    result.append([m.training, m.act.training])
    m.own.grad = torch.ones(3)
    m.zero_grad()
    none = m.own.grad
    m.own.grad = torch.ones(3)
    m.zero_grad(set_to_none=False)
    result.append([none, m.own.grad.tolist()])
    m.requires_grad_(False)
    result.append([p.requires_grad for p in m.parameters()][:2])
    m.apply(lambda module: seen.append(type(module).__name__))
    result.append(seen)
    return result


@scenario([[True, True, False, True], [True, True, True], [True, True]])
def copies(torch):
    m = make_model(torch)
    m.own.requires_grad_(False)
    other = copy.deepcopy(m)
    result = [[
        other.first is other.second,
        torch.equal(other.own, m.own),
        other.own.requires_grad,
        other.own.data_ptr() != m.own.data_ptr(),
    ]]  # fmt: skip
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    again = pickle.loads(pickle.dumps(layer))
    result.append([
        repr(again) == repr(layer),
        torch.equal(again[0].weight, layer[0].weight),
        isinstance(again[0].weight, torch.nn.Parameter),
    ])  # fmt: skip
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    result.append([list(state) == list(layer.state_dict()), hasattr(state, "_metadata")])
    return result


@scenario([["Extra", {"value": 3}], 5, ("RuntimeError", "Error(s) in loading state_dict for "
           'Extra:\n\tMissing key(s) in state_dict: "_extra_state". ')])  # fmt: skip
def extra_state(torch):
    class Extra(torch.nn.Module):
        value = 3

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    m = Extra()
    state = m.state_dict()
    m.load_state_dict({"_extra_state": {"value": 5}})
    return [["Extra", state["_extra_state"]], m.value, error(m.load_state_dict, {})]


@scenario(
    [
        "Model(\n"
        "  (first): Block(\n    (linear): Linear(in_features=2, out_features=2, bias=True)\n  )\n"
        "  (second): Block(\n    (linear): Linear(in_features=2, out_features=2, bias=True)\n  )\n"
        "  (act): ReLU()\n)",
        "Sequential()",
        "Two(\n  one line\n  and another\n)",
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n  (3): ReLU()\n)",
    ]
)
def reprs(torch):
    class Two(torch.nn.Module):
        def extra_repr(self):
            return "one line\nand another"

    nn = torch.nn
    return [
        repr(make_model(torch)),
        repr(nn.Sequential()),
        repr(Two()),
        repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()])),
    ]


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected(torch, function, expected):
    assert function(torch) == expected


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_in_torch(oracle, function, expected):
    assert function(oracle) == expected
