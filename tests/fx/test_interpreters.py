"""Interpreter, Transformer, replace_pattern, ShapeProp, notes."""

import operator

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
import pytest
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher
from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return torch.relu(self.lin(x)) * self.w


X = torch.arange(6.0).view(2, 3)


def test_interpreter_gives_what_the_module_gives():
    traced = fx.symbolic_trace(Net())
    interpreter = fx.Interpreter(traced)
    assert torch.equal(interpreter.run(X), traced(X))
    assert [node.op for node in interpreter.env] == ["output"]  # values are freed on the way
    keeping = fx.Interpreter(traced, garbage_collect_values=False)
    keeping.run(X)
    assert list(keeping.env) == list(traced.graph.nodes)
    arguments = [X]
    assert torch.equal(fx.Interpreter(traced).boxed_run(arguments), traced(X)) and not arguments


def test_interpreter_with_known_values():
    traced = fx.symbolic_trace(lambda x: torch.neg(x) + 1)
    (neg,) = traced.graph.find_nodes(op="call_function", target=torch.neg)
    assert fx.Interpreter(traced).run(5, initial_env={neg: 10}) == 11


def test_interpreter_says_where_it_failed():
    interpreter = fx.Interpreter(fx.symbolic_trace(lambda x, y: x @ y))
    with pytest.raises(RuntimeError, match="While executing %matmul : .num_users=1. = call_fun"):
        interpreter.run(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter y"):
        interpreter.run(torch.ones(2, 3))


def test_transformer():
    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is operator.mul:
                return torch.sigmoid(args[0])
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return super().call_method("abs" if target == "neg" else target, args, kwargs)

    net = Net()
    changed = Swap(fx.symbolic_trace(net)).transform()
    assert torch.equal(changed(X), torch.sigmoid(torch.relu(net.lin(X))))
    assert changed.lin is net.lin
    changed = Swap(fx.symbolic_trace(lambda x, by=3: (x.neg(), [by]))).transform()
    assert changed(torch.tensor(-2.0)) == (2.0, [3])


def test_replace_pattern():
    def program(x, w1, w2):
        m1 = torch.cat([torch.neg(w1), w2]).sum()
        m2 = torch.cat([torch.neg(w1), w2]).sum()
        return x + torch.max(m1) + torch.max(m2)

    def pattern(a1, a2):
        return torch.cat([torch.neg(a1), a2]).sum()

    def replacement(w1, w2):
        return torch.stack([w1, w2])

    traced = fx.symbolic_trace(program)
    matches = fx.replace_pattern(traced, pattern, replacement)
    assert traced.code.strip() == (
        """\
def forward(self, x, w1, w2):
    stack = torch.stack([w1, w2])
    max_1 = torch.max(stack);  stack = None
    add = x + max_1;  x = max_1 = None
    stack_1 = torch.stack([w1, w2]);  w1 = w2 = None
    max_2 = torch.max(stack_1);  stack_1 = None
    add_1 = add + max_2;  add = max_2 = None
    return add_1"""
    )
    maps = [{str(k): str(v) for k, v in match.nodes_map.items()} for match in matches]
    assert maps == [
        {"sum_1": "sum_1", "cat": "cat", "neg": "neg", "a1": "w1", "a2": "w2"},
        {"sum_1": "sum_2", "cat": "cat_1", "neg": "neg_1", "a1": "w1", "a2": "w2"},
    ]


@pytest.mark.parametrize(
    ("program", "pattern", "replacement", "wanted", "count"),
    [
        # The result of one place is an argument of the next.
        (lambda x: x + 1 + 2 + 3, lambda a, b: a + b, lambda a, b: a - b, 10 - 6, 3),
        # Numbers must agree.
        (lambda x: (x + 1, x + 2), lambda a: a + 1, lambda a: a * 9, (90, 12), 1),
        # Nothing outside may use what goes.
        (lambda x: (-(x + 1), x + 1), lambda a: -(a + 1), lambda a: a * 9, (90, 11), 1),
        (lambda x: (lambda y: (-y, y))(x + 1), lambda a: -(a + 1), lambda a: a, (-11, 11), 0),
        # An input that is used twice is the same value twice.
        (lambda x: (x * x, x * 2), lambda a: a * a, lambda a: a, (10, 20), 1),
        # The replacement is one of the inputs.
        (lambda x: (x + 0) * 2, lambda a: a + 0, lambda a: a, 20, 1),
    ],
)
def test_what_matches(program, pattern, replacement, wanted, count):
    traced = fx.symbolic_trace(program)
    assert len(fx.replace_pattern(traced, pattern, replacement)) == count
    traced.graph.lint()
    assert traced(10) == wanted


def test_several_results():
    def pattern(a, b):
        s = a.add(b)
        return s, s.mul(3)

    traced = fx.symbolic_trace(lambda x, y: x.add(y).mul(3) - 1)
    matches = fx.replace_pattern(traced, pattern, lambda a, b: (a, b))
    assert len(matches) == 1 and traced(5, 7) == 6


def test_modules_match_by_name_and_replacements_bring_theirs():
    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.extra = nn.Linear(3, 4)
            self.bias = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return self.extra(x) + self.bias

    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(1, 1)

        def forward(self, x):
            return torch.relu(self.lin(x))

    traced, new = fx.symbolic_trace(Net()), Replacement()
    matches = fx.replace_pattern(traced, fx.symbolic_trace(Pattern()), new)
    assert len(matches) == 1
    assert [name for name, _ in traced.named_modules()] == ["", "extra"]
    assert torch.allclose(traced(X), new(X) * traced.w)


def test_filters_literals_and_callbacks():
    traced = fx.symbolic_trace(lambda x: (x + 1, x + 2))
    found = replace_pattern_with_filters(
        traced,
        lambda a: a + 7,
        lambda a: a * 9,
        [lambda match, *_: 2 in match.returning_nodes[0].args],
        ignore_literals=True,
    )
    assert traced(1) == (2, 9) and [str(n) for n in found[0].replacements] == ["mul"]

    def callback(match, graph, pattern):
        by = match.returning_nodes[0].args[1]
        return fx.symbolic_trace(lambda a: a - by).graph

    traced = fx.symbolic_trace(lambda x: (x + 1, x + 2))
    replace_pattern_with_filters(
        traced, lambda a: a + 7, ignore_literals=True, replacement_callback=callback
    )
    assert traced(10) == (9, 8)


def test_matcher():
    pattern = fx.symbolic_trace(lambda a: torch.relu(a)).graph
    graph = fx.symbolic_trace(lambda x: torch.relu(torch.relu(x))).graph
    matches = SubgraphMatcher(pattern).match(graph)
    assert [str(m.returning_nodes) for m in matches] == ["[relu]", "[relu_1]"]
    assert [str(m.placeholder_nodes) for m in matches] == ["[x]", "[relu]"]
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(fx.Graph())


def test_shapes():
    traced = fx.symbolic_trace(Net())
    ShapeProp(traced).propagate(X)
    found = {node.name: node.meta["tensor_meta"] for node in traced.graph.nodes}
    assert found["relu"] == (
        torch.Size([2, 4]),
        torch.float32,
        True,
        (4, 1),
        torch.contiguous_format,
        False,
        {},
    )
    assert found["x"].shape == (2, 3) and not found["x"].requires_grad
    traced = fx.symbolic_trace(lambda x: torch.split(x, 1))
    ShapeProp(traced).propagate(torch.ones(2, 3, device="meta"))
    assert [m.shape for m in traced.graph.output_node().meta["tensor_meta"]] == [(1, 3)] * 2
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%matmul"):
        ShapeProp(fx.symbolic_trace(lambda x: x @ x)).propagate(X)


def test_notes_are_carried_on():
    from mindtorch_v2.fx import traceback

    traced = fx.symbolic_trace(lambda x: torch.relu(x))
    (relu,) = traced.graph.find_nodes(op="call_function", target=torch.relu)
    relu.meta.update(custom={"stage": 1}, mine=2)
    new = fx.Transformer(traced).transform()
    (relu,) = new.graph.find_nodes(op="call_function", target=torch.relu)
    assert relu.meta == {"custom": {"stage": 1}}
    assert not traceback.has_preserved_node_meta()


def test_arguments_by_name():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x):
            return F.relu(self.lin(x))

    traced = fx.symbolic_trace(Model())
    (relu,) = traced.graph.find_nodes(op="call_function", target=F.relu)
    pair = relu.normalized_arguments(traced, normalize_to_only_use_kwargs=True)
    assert pair.args == () and pair.kwargs == {"input": relu.prev, "inplace": False}
    pair = relu.prev.normalized_arguments(traced, normalize_to_only_use_kwargs=True)
    assert list(pair.kwargs) == ["input"]
