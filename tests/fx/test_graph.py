"""Graphs and nodes: built by hand, changed, checked, printed."""

import copy
import operator

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import fx
from mindtorch_v2.fx.graph import _Namespace


def sample_graph():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", torch.Tensor, 3)
    total = graph.call_function(torch.add, (x, y), {"alpha": 2})
    relu = graph.call_method("relu", (total,))
    attribute = graph.get_attr("foo.bar")
    linear = graph.call_module("lin.0", (relu,))
    added = graph.call_function(operator.iadd, (linear, attribute))
    graph.call_function(operator.setitem, (added, 0, 1))
    odd = graph.call_function(getattr, (added, "a b"))
    graph.output((added, [total, odd]))
    return graph


PRINTED = """\
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : torch.Tensor [num_users=1] = placeholder[target=y](default=3)
    %add : [num_users=2] = call_function[target=torch.add](args = (%x, %y), kwargs = {alpha: 2})
    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})
    %foo_bar : [num_users=1] = get_attr[target=foo.bar]
    %lin_0 : [num_users=1] = call_module[target=lin.0](args = (%relu,), kwargs = {})
    %iadd : [num_users=3] = call_function[target=operator.iadd](args = (%lin_0, %foo_bar), kwargs = {})
    %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%iadd, 0, 1), kwargs = {})
    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%iadd, a b), kwargs = {})
    return (iadd, [add, getattr_1])"""  # noqa: E501 - as it is printed

CODE = """
def forward(self, x, y : torch.Tensor = 3):
    add = torch.add(x, y, alpha = 2);  x = y = None
    relu = add.relu()
    foo_bar = self.foo.bar
    lin_0 = getattr(self.lin, "0")(relu);  relu = None
    lin_0 += foo_bar;  iadd = lin_0;  lin_0 = foo_bar = None
    iadd[0] = 1;  setitem = iadd;  setitem = None
    getattr_1 = getattr(iadd, 'a b')
    return (iadd, [add, getattr_1])
"""


def test_a_graph_is_printed_as_torch_prints_it():
    assert str(sample_graph()) == PRINTED


def test_the_code_of_a_graph():
    code = sample_graph().python_code("self")
    assert code.src.strip() == CODE.strip()
    assert code.globals["torch"] is torch


def test_names_are_legal_and_differ():
    names = _Namespace()
    wanted = "x x x_1 x_1 x_5 x sum sum torch inf class a.b 1abc a-b _ x_01 x_1_1 x_1_1".split()
    assert [names.create_name(name, None) for name in wanted] == (
        "x x_1 x_2 x_3 x_5 x_6 sum_1 sum_2 torch_1 inf_1 class_1 a_b _1abc a_b_1 _ x_01 x_1_1 "
        "x_1_2".split()
    )
    assert names.create_name("", None) == "_unnamed"
    one = object()
    assert [names.create_name("q", one), names.create_name("z", one)] == ["q", "q"]
    assert _Namespace().create_name("sum", sum) == "sum"


def test_inserting_and_order():
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    graph.output(relu)
    with graph.inserting_before(relu):
        neg = graph.call_function(torch.neg, (x,))
        graph.call_function(torch.abs, (neg,))
    with graph.inserting_after(x):
        exp = graph.call_function(torch.exp, (x,))
        graph.call_function(torch.log, (exp,))
    with graph.inserting_after():
        graph.call_function(torch.sin, (x,))
    with graph.inserting_before():
        graph.call_function(torch.cos, (x,))
    order = ["cos", "x", "log", "exp", "neg", "abs_1", "relu", "output", "sin"]
    assert [node.name for node in graph.nodes] == order
    assert [node.name for node in reversed(graph.nodes)] == order[::-1]
    assert len(graph.nodes) == 9
    assert x < relu and relu > neg and x <= x and max([x, relu, neg]) is relu
    assert graph.find_nodes(op="call_function", target=torch.neg) == [neg]
    assert graph.output_node().args == (relu,)
    assert (relu.prev.name, relu.next.name) == ("abs_1", "output")


def test_nodes_move():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a, b = graph.call_function(torch.neg, (x,)), graph.call_function(torch.abs, (x,))
    b.append(a)
    assert list(graph.nodes) == [x, b, a]
    b.prepend(a)
    a.append(a)
    assert list(graph.nodes) == [x, a, b] and len(graph.nodes) == 3
    with pytest.raises(AssertionError, match="into a different Graph"):
        x.append(fx.Graph().placeholder("y"))


def test_arguments_and_users():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    cat = graph.call_function(torch.cat, ([x, x],))
    assert list(x.users) == [cat] and cat.all_input_nodes == [x]
    cat.update_arg(0, [y])
    assert list(x.users) == [] and list(y.users) == [cat]
    cat.update_kwarg("dim", 0)
    cat.insert_arg(1, x)
    assert (cat.args, cat.kwargs) == (([y], x), {"dim": 0})
    assert cat.all_input_nodes == [y, x]
    cat.args = (slice(x, None, y),)
    cat.replace_input_with(y, x)
    assert cat.args == (slice(x, None, x),) and list(y.users) == []
    with pytest.raises(AssertionError, match="insert_args index must be between"):
        cat.insert_arg(3, x)


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.args[0].append(1),
        lambda node: node.args[0].__setitem__(0, 1),
        lambda node: node.kwargs.__setitem__("a", 1),
        lambda node: node.kwargs["a"].pop("b"),
        lambda node: node.kwargs.update(c=1),
    ],
)
def test_arguments_cannot_change_in_place(change):
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],), {"a": {"b": x}})
    with pytest.raises(TypeError, match="does not support mutation"):
        change(node)


def test_replace_all_uses_with():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    relu = graph.call_function(torch.relu, (x,))
    neg = graph.call_function(torch.neg, (relu,))
    output = graph.output((relu, neg))
    assert relu.replace_all_uses_with(y, lambda user: user is neg) == [neg]
    assert output.args == ((relu, neg),)
    assert relu.replace_all_uses_with(y) == [output]
    assert output.args == ((y, neg),) and list(y.users) == [neg, output]
    graph.erase_node(relu)
    assert list(graph.nodes) == [x, y, neg, output] and list(x.users) == []


def test_erase_node_errors():
    graph = fx.Graph()
    x = graph.placeholder("x")
    neg = graph.call_function(torch.neg, (x,))
    with pytest.raises(RuntimeError, match="Tried to erase Node x but it still had 1 users"):
        graph.erase_node(x)
    with pytest.raises(RuntimeError, match="Attempting to remove neg from wrong graph!"):
        fx.Graph().erase_node(neg)
    graph.erase_node(neg)
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(neg)


def test_nodes_may_be_erased_during_a_walk():
    graph = fx.symbolic_trace(lambda x: (x.neg().abs(), x.exp())).graph
    graph.output_node().args = (None,)
    for node in reversed(graph.nodes):
        if node.op == "call_method":
            graph.erase_node(node)
    assert [node.name for node in graph.nodes] == ["x", "output"]


def test_dead_code_goes_and_side_effects_stay():
    def program(x):
        a = torch.relu(x)
        a + 1
        torch._assert(x, "m")
        torch.nn.functional.dropout(x.clone())
        return a

    graph = fx.symbolic_trace(program).graph
    assert graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "relu", "_assert", "output"]

    def report(x):
        return x

    fx.has_side_effect(report)
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(report, (x,))
    graph.call_function(operator.setitem, (x, 0, 1))
    graph.output(x)
    assert not graph.eliminate_dead_code()


def test_lint():
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    neg = graph.call_function(torch.neg, (relu,))
    graph.output(neg)
    graph.lint()
    neg.append(relu)
    with pytest.raises(RuntimeError, match="'relu' of Node 'neg' was used before it has been def"):
        graph.lint()
    relu.append(neg)
    neg.name = "relu"
    with pytest.raises(RuntimeError, match="Node redefined name relu!"):
        graph.lint()
    other = fx.Graph()
    other.call_function(torch.relu, (x,))
    with pytest.raises(RuntimeError, match="'x' of Node 'relu' does not belong to this Graph"):
        other.lint()
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    traced.graph.find_nodes(op="call_module")[0].target = "zz"
    with pytest.raises(RuntimeError, match="references nonexistent attribute zz"):
        traced.graph.lint()


def test_mistakes_of_nodes():
    with pytest.raises(AssertionError, match="op 'foo' is not in _legal_ops"):
        fx.Graph().create_node("foo", "x")
    with pytest.raises(ValueError, match="target x has type str but a Callable is expected"):
        fx.Graph().create_node("call_function", "x")
    with pytest.raises(ValueError, match="but a str is expected"):
        fx.Graph().create_node("call_method", torch.relu)
    with pytest.raises(AssertionError, match="Node to insert before is not in graph"):
        fx.Graph().inserting_before(fx.Graph().placeholder("x"))


def test_copies_of_nodes_and_graphs():
    graph, copied, nodes = sample_graph(), fx.Graph(), {}
    for node in graph.nodes:
        nodes[node] = copied.node_copy(node, lambda used: nodes[used])
    assert str(copied) == PRINTED
    next(iter(graph.nodes)).meta["note"] = [1]
    deep = copy.deepcopy(graph)
    assert str(deep) == PRINTED and next(iter(deep.nodes)).meta == {"note": [1]}
    assert all(node.graph is deep for node in deep.nodes)
    into = fx.Graph()
    x = into.placeholder("x")
    result = into.graph_copy(graph, {next(iter(graph.nodes)): x})
    assert str(result) == "(iadd, [add, getattr_1])" and len(into.nodes) == 9


def test_map_arg_and_map_aggregate():
    x = fx.Graph().placeholder("x")
    assert fx.map_arg((x, [1, {"a": x}]), lambda node: node.name) == ("x", [1, {"a": "x"}])
    mapped = fx.node.map_aggregate([1, (2, {"a": 3}), slice(1, 2, None)], lambda v: v and v * 2)
    assert mapped == [2, (4, {"a": 6}), slice(2, 4, None)]
    assert type(mapped) is fx.immutable_collections.immutable_list
    leaves = torch.utils._pytree.tree_leaves(mapped)
    assert leaves == [2, 4, 6, slice(2, 4, None)]


def test_unknown_names_are_unknown():
    for name in ("make_fx", "config"):
        assert not hasattr(fx, name)
    with pytest.raises(ModuleNotFoundError):
        import mindtorch_v2.fx.experimental.symbolic_shapes  # noqa: F401
