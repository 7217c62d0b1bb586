"""GraphModule: code, copies, pickling, folders, submodules."""

import copy
import importlib.util
import math
import pickle

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import fx, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.w = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.full((4,), 0.5))
        self.seq = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        return self.seq(self.lin(x)) * self.w + self.shift


X = torch.arange(6.0).view(2, 3) - 2


def test_only_what_the_graph_names_is_copied():
    net = Net()
    traced = fx.symbolic_trace(net)
    assert list(traced.state_dict()) == ["w", "shift", "lin.weight", "lin.bias"]
    assert type(traced).__name__ == "Net" and isinstance(traced, fx.GraphModule)
    assert str(traced).startswith("Net(\n  (lin): Linear(in_features=3, out_features=4")
    assert "(seq): Module(\n    (0): ReLU()" in str(traced) and traced.code in str(traced)
    assert traced.w is net.w


def test_a_changed_graph_is_compiled_anew():
    traced = fx.symbolic_trace(lambda x: torch.neg(x))
    (node,) = traced.graph.find_nodes(op="call_function", target=torch.neg)
    node.target = torch.abs
    assert traced(X).min() == X.neg().min()
    traced.recompile()
    assert torch.equal(traced(X), X.abs())
    other = fx.symbolic_trace(lambda x: x + 1)
    traced.graph = other.graph
    assert traced(1) == 2
    with pytest.raises(AssertionError, match="Expected a Graph instance"):
        traced.graph = 3


def test_objects_do_not_share_code():
    one, two = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x + 2)
    assert (one(0), two(0)) == (1, 2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_whole(copied):
    traced = fx.symbolic_trace(Net()).eval()
    twin = copied(traced)
    assert twin.code == traced.code and str(twin.graph) == str(traced.graph)
    assert not twin.training and twin.graph.owning_module is twin
    assert twin.lin.weight is not traced.lin.weight
    wanted = traced(X)
    with torch.no_grad():
        traced.w.fill_(0)
    assert torch.equal(twin(X), wanted)


def test_notes_of_copies():
    traced = fx.symbolic_trace(Net())
    traced.meta["a"] = 1
    next(iter(traced.graph.nodes)).meta["k"] = [1]
    twin = copy.deepcopy(traced)
    assert twin.meta == {"a": 1} and next(iter(twin.graph.nodes)).meta["k"] == [1]
    shallow = copy.copy(traced)
    assert shallow.graph is traced.graph and shallow.lin is traced.lin


def test_pickles_know_the_functions_they_use():
    traced = fx.symbolic_trace(lambda x: math.floor(x.sum()) + x.to(torch.device("cpu")))
    twin = pickle.loads(pickle.dumps(traced))
    assert twin.code == traced.code and torch.equal(twin(X), traced(X))

    def local(x):
        return x

    graph = fx.Graph()
    graph.output(graph.call_function(local, (graph.placeholder("x"),)))
    with pytest.raises(pickle.PicklingError, match="define it at the top level"):
        pickle.dumps(fx.GraphModule({}, graph))


def test_pickles_of_structured_arguments():
    traced = fx.symbolic_trace(
        lambda x, y: {"s": x["a"] + x["b"], "y": y}, concrete_args={"x": {"a": fx.PH, "b": fx.PH}}
    )
    twin = pickle.loads(pickle.dumps(traced))
    assert twin({"a": 1, "b": 2}, 3) == {"s": 3, "y": 3}


def test_saved_modules(tmp_path):
    traced = fx.symbolic_trace(Net()).eval()
    torch.save(traced, tmp_path / "module.pt")
    loaded = torch.load(tmp_path / "module.pt", weights_only=False)
    assert torch.equal(loaded(X), traced(X))


def test_folders(tmp_path):
    traced = fx.symbolic_trace(Net()).eval()
    with pytest.warns(UserWarning, match="saved as pickled files instead: .'seq'"):
        traced.to_folder(tmp_path / "saved", "Saved")
    names = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert names == ["__init__.py", "module.py", "seq.pt", "state_dict.pt"]
    spec = importlib.util.spec_from_file_location("saved", tmp_path / "saved" / "module.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert torch.equal(module.Saved().eval()(X), traced(X))


def test_attributes_by_name():
    graph = fx.Graph()
    graph.output(graph.get_attr("a.b"))
    module = fx.GraphModule({"a.b": torch.ones(1)}, graph, "Constant")
    assert torch.equal(module(), torch.ones(1)) and type(module).__name__ == "Constant"
    with pytest.raises(RuntimeError, match="but that target was not provided in ``root``!"):
        fx.GraphModule({}, graph)
    with pytest.raises(AttributeError):
        fx.GraphModule(nn.Module(), graph)
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root!"):
        fx.GraphModule(3, fx.Graph())
    with pytest.warns(UserWarning, match="no underlying reference in the owning GraphModule"):
        module.graph.get_attr("nothing")


def test_submodules():
    traced = fx.symbolic_trace(Net())
    assert traced.add_submodule("a.b", nn.ReLU()) and isinstance(traced.a.b, nn.ReLU)
    assert not traced.add_submodule("w.c", nn.ReLU())
    assert traced.delete_submodule("a.b") and not traced.delete_submodule("zz.q")
    assert not traced.delete_submodule("w")
    traced.add_submodule("q", nn.ReLU())
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "lin", "seq", "seq.0", "seq.1"]


def test_readable_code_shows_inner_modules():
    graph = fx.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    outer = fx.GraphModule({"inner": fx.symbolic_trace(lambda x: x.neg())}, graph, "Outer")
    text = outer.print_readable(print_output=False)
    assert text.startswith("class Outer(torch.nn.Module):\n    def forward(self, x):\n")
    assert "        inner = self.inner(x)" in text
    assert "    class inner(torch.nn.Module):\n        def forward(self, x):\n" in text


def test_errors_show_the_generated_line():
    traced = fx.symbolic_trace(lambda x, y: (x + 1) @ y)
    with pytest.raises(RuntimeError) as caught:
        traced(torch.ones(2, 3), torch.ones(2, 3))
    assert any("add @ y" in str(entry.statement) for entry in caught.traceback)


def test_code_can_be_changed_as_it_is_written():
    traced = fx.symbolic_trace(lambda x: x + 1)
    with traced.graph.on_generate_code(lambda _: lambda body: ["x = x * 10\n", *body]):
        traced.recompile()
        assert traced(1) == 11
    traced.recompile()
    assert traced(1) == 2


def test_hooks_of_graphs():
    traced, seen = fx.symbolic_trace(lambda x: x + 1), []
    traced._register_create_node_hook(lambda node: seen.append(("new", node.name)))
    traced._register_erase_node_hook(lambda node: seen.append(("gone", node.name)))
    with traced.graph.inserting_before(traced.graph.output_node()):
        node = traced.graph.call_method("neg", (next(iter(traced.graph.nodes)),))
    traced.graph.erase_node(node)
    assert seen == [("new", "neg"), ("gone", "neg")]
    add = traced.graph.find_nodes(op="call_function")[0]
    with traced._set_replace_hook(lambda old, new, user: seen.append((old.name, new, user.name))):
        add.replace_all_uses_with(next(iter(traced.graph.nodes)))
    assert seen[-1] == ("add", "x", "output")
