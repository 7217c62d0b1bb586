"""symbolic_trace, Tracer, Proxy, wrap, concrete_args."""

import dataclasses
import math
import typing

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
import pytest
from mindtorch_v2 import fx, nn


def code_of(program, **kwargs):
    return fx.symbolic_trace(program, **kwargs).code.strip()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.w = nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.zeros(4))
        self.seq = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))
        self.c = torch.ones(2)
        self.k = 3

    def forward(self, x: torch.Tensor, *, scale: float = 2.0) -> torch.Tensor:
        y = self.seq(self.lin(x)) * self.w + self.b
        y += 1
        return F.relu(y, inplace=True) * self.k + self.c.sum() * scale


NET_CODE = """\
def forward(self, x : torch.Tensor, scale : float = 2.0):
    lin = self.lin(x);  x = None
    seq_0 = getattr(self.seq, "0")(lin);  lin = None
    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
    w = self.w
    mul = seq_1 * w;  seq_1 = w = None
    b = self.b
    add = mul + b;  mul = b = None
    add_1 = add + 1;  add = None
    relu = torch.nn.functional.relu(add_1, inplace = True);  add_1 = None
    mul_1 = relu * 3;  relu = None
    _tensor_constant0 = self._tensor_constant0
    mul_2 = _tensor_constant0.mul(scale);  _tensor_constant0 = scale = None
    add_2 = mul_1 + mul_2;  mul_1 = mul_2 = None
    return add_2"""


def test_a_module():
    net = Net().eval()
    traced = fx.symbolic_trace(net)
    assert traced.code.strip() == NET_CODE
    x = torch.randn(2, 3)
    assert torch.equal(traced(x), net(x))
    assert not traced.training and traced.lin is net.lin
    assert traced.graph.find_nodes(op="call_module")[0].meta["nn_module_stack"] == {
        "lin": ("lin", nn.Linear)
    }


def test_gradients_flow_through_a_traced_module():
    net = Net().eval()
    traced = fx.symbolic_trace(net)
    x = torch.randn(2, 3)
    net(x).sum().backward()
    wanted = net.lin.weight.grad.clone()
    net.lin.weight.grad = None
    traced(x).sum().backward()
    assert torch.equal(net.lin.weight.grad, wanted)


def test_operators_and_containers():
    def program(x, y):
        z = x[0, 1:, ..., None] - y.shape[0] + x.size(-1)
        return {"a": [z, (2**x, 5 % x)], "m": x.T @ y, "n": ~x, "d": x.to(torch.float16)}

    assert code_of(program) == (
        """\
def forward(self, x, y):
    getitem = x[(0, slice(1, None, None), Ellipsis, None)]
    getattr_1 = y.shape
    getitem_1 = getattr_1[0];  getattr_1 = None
    sub = getitem - getitem_1;  getitem = getitem_1 = None
    size = x.size(-1)
    add = sub + size;  sub = size = None
    pow_1 = 2 ** x
    mod = 5 % x
    getattr_2 = x.T
    matmul = getattr_2 @ y;  getattr_2 = y = None
    invert = ~x
    to = x.to(torch.float16);  x = None
    return {'a': [add, (pow_1, mod)], 'm': matmul, 'n': invert, 'd': to}"""
    )


def test_names_of_builtins_are_not_taken():
    assert code_of(lambda input, max: (input.sum(), torch.sum(max))) == (
        """\
def forward(self, input, max):
    input_1 = input
    max_1 = max
    sum_1 = input_1.sum();  input_1 = None
    sum_2 = torch.sum(max_1);  max_1 = None
    return (sum_1, sum_2)"""
    )


def test_unpacking():
    def program(x):
        a, (b, c) = x
        return a + b + c

    traced = fx.symbolic_trace(program)
    assert traced((1, (2, 3))) == 6


def test_variadic_parameters():
    def program(x, n: int = 3, *args, **kwargs):
        return x + n, args, kwargs

    traced = fx.symbolic_trace(program)
    assert [node.target for node in traced.graph.nodes][:4] == ["x", "n", "*args", "**kwargs"]
    assert traced(1, 2, 3, 4, k=5) == (3, (3, 4), {"k": 5})


def test_annotations():
    def program(
        x: typing.List[torch.Tensor],  # noqa: UP006 - old annotations are annotations
        y: typing.Optional[int] = None,  # noqa: UP045
        z: list[int] = (),
    ) -> tuple[torch.Tensor, int]:
        return x[0], y

    traced = fx.symbolic_trace(program)
    assert "x : typing_List[torch.Tensor], y : typing_Union[int,NoneType] = None" in traced.code
    assert "z : list[int] = ()) -> tuple[torch.Tensor,int]:" in traced.code
    assert traced([7]) == (7, None)


def test_constants():
    def program(x):
        return x.clamp(-math.inf, math.inf) + torch.ones(2), x.to(torch.device("cpu"))

    traced = fx.symbolic_trace(program)
    assert "clamp(-inf, inf)" in traced.code and "to(device(type='cpu'))" in traced.code
    assert torch.equal(traced(torch.ones(2))[0], torch.tensor([2.0, 2.0]))


def test_negative_constants_beside_operators():
    traced = fx.symbolic_trace(lambda x: (x**-1, (-2) ** x, x - -3))
    assert traced(2) == (0.5, 4, 5)


def test_named_tuples_and_results_of_ops():
    class Pair(typing.NamedTuple):
        left: object
        right: object

    traced = fx.symbolic_trace(lambda x: Pair(torch.max(x, 0).values, x))
    found = traced(torch.tensor([1.0, 3.0]))
    assert type(found) is Pair and found.left == 3


def test_dataclasses_become_calls():
    @dataclasses.dataclass
    class Output:
        value: object

    traced = fx.symbolic_trace(lambda x: Output(x + 1))
    assert traced(1) == Output(2)


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        (lambda x: 1 if x > 0 else 2, fx.proxy.TraceError, "inputs to control flow"),
        (lambda x: [a for a in x], fx.proxy.TraceError, "Proxy object cannot be iterated"),
        (lambda x: torch.cat([*x]), fx.proxy.TraceError, "Proxy object cannot be iterated"),
        (
            eval("lambda x: len(x)", {}),
            RuntimeError,
            "'len' is not supported in symbolic tracing by default",
        ),
        (lambda x: {x: 1}, RuntimeError, "Keys for dictionaries used as an argument"),
        (lambda x: int(x), TypeError, r"int\(\)"),
        (lambda x: torch.relu(x) + object(), NotImplementedError, "argument of type"),
    ],
)
def test_what_cannot_be_traced(program, error, text):
    with pytest.raises(error, match=text):
        fx.symbolic_trace(program)
    assert issubclass(fx.proxy.TraceError, ValueError)


def test_modules_are_as_before_after_an_error():
    before = nn.Module.__getattr__, nn.Module.__call__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    assert (nn.Module.__getattr__, nn.Module.__call__) == before
    assert not fx._symbolic_trace.is_fx_tracing()


def test_asserts_can_be_traced():
    class Asserting(fx.Tracer):
        trace_asserts = True

    names = {}  # pytest changes the assert statements of this file
    exec("def program(x):\n    assert x > 0\n    return x + 1", names)
    graph = Asserting().trace(names["program"])
    assert [node.name for node in graph.nodes] == ["x", "gt", "_assert", "add", "output"]
    traced = fx.GraphModule({}, graph)
    assert traced(1) == 2
    with pytest.raises(AssertionError):
        traced(-1)


# --- functions that stay one call -------------------------------------------------------------


@fx.wrap
def opaque(x, by):
    return x * 2 if by > 1 else x


fx.wrap("len")


def test_wrapped_functions_are_one_call():
    def program(x):
        return opaque(x, 2) + len(x) + math.floor(x[0])

    traced = fx.symbolic_trace(program)
    targets = [n.target for n in traced.graph.find_nodes(op="call_function")]
    assert opaque in targets and len in targets and math.floor in targets
    assert 'wrap("math_floor")' in traced.code
    assert torch.equal(traced(torch.tensor([1.5, 1.0])), torch.tensor([6.0, 5.0]))
    assert opaque.__name__ == "opaque" and opaque(1, 2) == 2
    again = fx.symbolic_trace(traced)
    assert math.floor in [n.target for n in again.graph.find_nodes(op="call_function")]


def test_wrap_mistakes():
    with pytest.raises(NotImplementedError, match="at the top level of a module"):
        fx.wrap("opaque")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)


# --- tracers ----------------------------------------------------------------------------------


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x):
        return torch.relu(x) * self.weight


def test_leaf_modules():
    class Leaf(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Inner) or super().is_leaf_module(m, module_qualified_name)

    model = nn.Sequential(Inner(), nn.Sequential(nn.ReLU()))
    plain = fx.symbolic_trace(model).graph
    assert [n.target for n in plain.nodes if n.op in ("get_attr", "call_module")] == [
        "0.weight",
        "1.0",
    ]
    graph = Leaf().trace(model)
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["0", "1.0"]
    assert torch.equal(fx.GraphModule(model, graph)(torch.ones(2)), model(torch.ones(2)))


def test_a_module_that_is_not_inside():
    outside = nn.ReLU()
    with pytest.raises(NameError, match="module is not installed as a submodule"):
        fx.symbolic_trace(lambda x: outside(x))


def test_stack_traces_and_buffers():
    class Noting(fx.Tracer):
        record_stack_traces = True
        proxy_buffer_attributes = True

    class Buffered(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.ones(2))

        def forward(self, x):
            return self.table.sum() + x

    graph = Noting().trace(Buffered())
    assert [n.name for n in graph.nodes] == ["x", "table", "sum_1", "add", "output"]
    assert "test_tracing.py" in graph.find_nodes(op="call_method")[0].stack_trace


def test_shapes_of_parameters_can_be_constants():
    class Shaped(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x * 2 if self.weight.shape[0] == 2 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Shaped())
    assert [n.name for n in graph.nodes if n.op == "call_function"] == ["mul"]


def test_proxies_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = torch.cat([x, x]).view(2, -1) + 1
    graph.output(y.node)
    assert torch.equal(fx.GraphModule(nn.Module(), graph)(torch.ones(2)), torch.full((2, 2), 2.0))
    other = fx.Proxy(fx.Graph().placeholder("y"))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        torch.add(x, other)


# --- fixed arguments --------------------------------------------------------------------------


def choose(a, b, c=None):
    return a if b else a * 2


def test_fixed_arguments_are_checked():
    traced = fx.symbolic_trace(choose, concrete_args={"b": False, "c": None})
    assert traced.code.strip().splitlines()[0] == "def forward(self, a, b_1, c_1 = None):"
    assert traced(3, False) == 6
    text = "b has been specialized to have value False but got another value"
    with pytest.raises(AssertionError, match=text):
        traced(3, True)
    with pytest.raises(AssertionError, match="c has been specialized to have value None"):
        traced(3, False, 1)
    assert fx.symbolic_trace(choose, concrete_args=(fx.PH, True, None))(3, True) == 3
    with pytest.raises(RuntimeError, match="Tracing expected 3 arguments but got 1"):
        fx.symbolic_trace(choose, concrete_args=(True,))


def test_arguments_with_a_structure():
    def program(x, y):
        return {"o": x["a"] + x["b"][0], "p": y}

    traced = fx.symbolic_trace(program, concrete_args={"x": {"a": fx.PH, "b": [fx.PH, 3]}})
    assert traced.code.strip() == (
        """\
def forward(self, x, y):
    x_1, x_2, x_3, y, = fx_pytree.tree_flatten_spec([x, y], self._in_spec)
    eq = x_3 == 3;  x_3 = None
    _assert = torch._assert(eq, 'x has been specialized to have value 3 but got another value');  eq = _assert = None
    add = x_1 + x_2;  x_1 = x_2 = None
    return pytree.tree_unflatten([add, y], self._out_spec)"""  # noqa: E501 - as it is generated
    )
    assert traced({"a": 1, "b": [2, 3]}, 5) == {"o": 3, "p": 5}
    assert fx.Interpreter(traced).run({"a": 1, "b": [2, 3]}, 5) == {"o": 3, "p": 5}


def test_a_module_with_structured_arguments():
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, batch):
            return self.lin(batch["x"]), batch["y"]

    model = Nested()
    traced = fx.symbolic_trace(model, concrete_args={"batch": {"x": fx.PH, "y": fx.PH}})
    x = torch.ones(1, 2)
    out, y = traced({"x": x, "y": 4})
    assert torch.equal(out, model.lin(x)) and y == 4
