"""torch.utils._pytree. Every test that takes `pytree` runs against torch, too, if installed."""

import copy
import dataclasses
import importlib
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple

import mindtorch_v2
import pytest
from mindtorch_v2.utils import _pytree as ours

from tests.conftest import TORCH_INSTALLED

Point = namedtuple("Point", "x y")
LIBRARIES = ["mindtorch_v2", *(["torch"] if TORCH_INSTALLED else [])]
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


@pytest.fixture
def pytree(library):
    return importlib.import_module(f"{library}.utils._pytree")


def tree():
    return {
        "b": [1, (2, None)],
        "a": Point(3, 4),
        "o": OrderedDict(z=5, y=6),
        "d": defaultdict(list, q=7),
        "q": deque([8, 9], maxlen=3),
    }


LEAVES = [1, 2, None, 3, 4, 5, 6, 7, 8, 9]


def test_flatten_and_back(pytree):
    leaves, spec = pytree.tree_flatten(tree())
    assert leaves == LEAVES == list(pytree.tree_iter(tree())) == pytree.tree_leaves(tree())
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree()
    assert type(again["a"]) is Point and again["q"].maxlen == 3
    assert again["d"].default_factory is list
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (10, 17, 5)
    assert spec == pytree.tree_structure(tree()) and hash(spec) == hash(
        pytree.tree_structure(tree())
    )
    assert spec != pytree.tree_structure([1])


def test_order_of_keys_is_part_of_the_structure(pytree):
    assert pytree.tree_leaves({"b": 1, "a": 2}) == [1, 2]
    assert pytree.tree_structure({"a": 1, "b": 2}) != pytree.tree_structure({"b": 1, "a": 2})


def test_text_of_a_structure(pytree):
    assert repr(pytree.tree_structure({"b": [1, (2, 3)], "a": Point(1, 2)})) == (
        "TreeSpec(dict, ['b', 'a'], [TreeSpec(list, None, [*,\n"
        "    TreeSpec(tuple, None, [*,\n"
        "      *])]),\n"
        f"  TreeSpec(namedtuple, {Point}, [*,\n"
        "    *])])"
    )
    assert (
        repr(pytree.tree_structure({"a": {}})) == "TreeSpec(dict, ['a'], [TreeSpec(dict, [], [])])"
    )


def test_results_of_ops_and_sizes(library, pytree):
    torch = importlib.import_module(library)
    found = torch.max(torch.ones(2, 2), 0)
    leaves, spec = pytree.tree_flatten({"max": found, "shape": torch.Size([2, 3])})
    assert len(leaves) == 4
    again = pytree.tree_unflatten(leaves, spec)
    assert type(again["max"]) is type(found) and again["max"].values is found.values
    assert again["shape"] == (2, 3) and type(again["shape"]) is tuple
    assert pytree.is_structseq(found) and not pytree.is_namedtuple(found)


def test_other_struct_sequences_are_leaves(pytree):
    import time

    assert pytree.tree_structure(time.localtime()).is_leaf()


def test_maps(pytree):
    assert pytree.tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    # Dicts are matched by their keys.
    assert pytree.tree_map(lambda a, b: (a, b), {"a": 1, "b": 2}, {"b": 3, "a": 4}) == {
        "a": (1, 4),
        "b": (2, 3),
    }
    assert pytree.tree_map(str, [1, (2,)], is_leaf=lambda x: isinstance(x, tuple)) == ["1", "(2,)"]
    assert pytree.tree_map_only(int, lambda x: -x, {"a": 1, "b": 2.0}) == {"a": -1, "b": 2.0}
    assert pytree.tree_map_only((int, str), lambda x: 2 * x, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pytree.tree_map_only(int | str, lambda x: 2 * x, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pytree.tree_map_only(lambda x: x == 2, lambda x: 0, [1, 2]) == [1, 0]
    seen = []
    given = [1, (2,)]
    assert pytree.tree_map_(seen.append, given) is given and seen == [1, 2]
    assert pytree.tree_all(bool, [1, [1]]) and not pytree.tree_all(bool, [1, [0]])
    assert pytree.tree_any(bool, [0, [1]]) and not pytree.tree_any(bool, [0, [0]])
    assert pytree.tree_all_only(int, bool, [1, 0.0]) and not pytree.tree_any_only(str, bool, [1])
    assert pytree.arg_tree_leaves(1, [2], k={"a": 3}) == [1, 2, 3]


def test_broadcast(pytree):
    spec = pytree.tree_structure({"a": [1, 2], "b": 3})
    assert pytree._broadcast_to_and_flatten(7, spec) == [7, 7, 7]
    assert pytree._broadcast_to_and_flatten({"a": 7, "b": 8}, spec) == [7, 7, 8]
    assert pytree._broadcast_to_and_flatten([7, 8], spec) is None


def test_paths(pytree):
    pairs, spec = pytree.tree_flatten_with_path(tree())
    assert spec == pytree.tree_structure(tree())
    assert [pytree.keystr(path) for path, _ in pairs] == [
        "['b'][0]",
        "['b'][1][0]",
        "['b'][1][1]",
        "['a'].x",
        "['a'].y",
        "['o']['z']",
        "['o']['y']",
        "['d']['q']",
        "['q'][0]",
        "['q'][1]",
    ]
    assert [pytree.key_get(tree(), path) for path, _ in pairs] == LEAVES
    assert pairs[0][0] == (pytree.MappingKey("b"), pytree.SequenceKey(0))
    assert repr(pairs[3][0]) == "(MappingKey(key='a'), GetAttrKey(name='x'))"
    named = pytree.tree_map_with_path(
        lambda path, leaf: pytree.keystr(path) + str(leaf), {"k": [5]}
    )
    assert named == {"k": ["['k'][0]5"]}


ERRORS = [
    (
        lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
        ValueError,
        "`leaves` has length 1",
    ),
    (lambda p: p.tree_unflatten([1], 3), TypeError, "instance of PyTreeSpec but got item of type"),
    (
        lambda p: p.tree_map(max, [1, 2], [1]),
        ValueError,
        "Node arity mismatch; expected 2, but got 1.",
    ),
    (
        lambda p: p.tree_map(max, [1], (1,)),
        ValueError,
        "Node type mismatch; expected <class 'list'>",
    ),
    (lambda p: p.tree_map(max, [1], 1), ValueError, "Node type mismatch; expected <class 'list'>"),
    (
        lambda p: p.tree_map(max, {"a": 1}, {"b": 1}),
        ValueError,
        r"missing key\(s\): {'a'}; extra key",
    ),
    (
        lambda p: p.register_pytree_node(list, None, None),
        ValueError,
        "already registered as pytree",
    ),
    (lambda p: p.treespec_dumps(3), TypeError, "Expected `treespec` to be an instance"),
    (
        lambda p: p.treespec_dumps(p.tree_structure(Point(1, 2))),
        NotImplementedError,
        "namedtuple class",
    ),
    (lambda p: p.treespec_dumps(p.tree_structure([]), 2), ValueError, "Unknown protocol 2"),
    (lambda p: p.treespec_loads("[2, {}]"), ValueError, "Unknown protocol 2"),
    (lambda p: p.tree_map_only(3, str, [1]), TypeError, "must be a type, a tuple of types"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(pytree, case):
    call, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        call(pytree)


DUMPED = (
    '[1, {"type": "builtins.dict", "context": "[\\"b\\", \\"q\\"]", "children_spec": [{"type": '
    '"builtins.list", "context": "null", "children_spec": [{"type": null, "context": null, '
    '"children_spec": []}]}, {"type": "collections.deque", "context": "3", "children_spec": '
    '[{"type": null, "context": null, "children_spec": []}]}]}]'
)


def test_written_down(pytree):
    spec = pytree.tree_structure({"b": [1], "q": deque([1], maxlen=3)})
    assert pytree.treespec_dumps(spec) == DUMPED
    assert pytree.treespec_loads(DUMPED) == spec
    both = pytree.tree_structure([defaultdict(list, a=1), OrderedDict(z=1), ()])
    assert pytree.treespec_loads(pytree.treespec_dumps(both)) == both


def test_named_tuples_written_down(library, pytree):
    Named = namedtuple(f"Named_{library}", "a b")
    pytree._register_namedtuple(Named, serialized_type_name=f"tests.{library}.Named")
    spec = pytree.tree_structure([Named(1, 2)])
    text = pytree.treespec_dumps(spec)
    assert f'"context": "tests.{library}.Named"' in text
    assert pytree.treespec_loads(text) == spec


def test_own_containers(library, pytree):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(
        Pair,
        lambda pair: ([pair.a], pair.b),
        lambda entries, b: Pair(entries[0], b),
        serialized_type_name=f"tests.{library}.Pair",
    )
    leaves, spec = pytree.tree_flatten([Pair([1, 2], "k"), 3])
    assert leaves == [1, 2, 3]
    assert pytree.tree_unflatten(leaves, spec)[0].b == "k"
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn for type"):
        pytree.tree_flatten_with_path(Pair(1, 2))
    pytree._deregister_pytree_node(Pair)
    assert pytree.tree_is_leaf(Pair(1, 2))


def test_dataclasses_and_constants(pytree):
    @dataclasses.dataclass
    class Data:
        x: int
        y: int = 2

    pytree.register_dataclass(Data)
    pairs, spec = pytree.tree_flatten_with_path(Data([1], None))
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [(".x[0]", 1)]
    assert pytree.tree_unflatten([5], spec) == Data([5], None)

    class Name(str):
        pass

    pytree.register_constant(Name)
    leaves, spec = pytree.tree_flatten([Name("a"), 1])
    assert leaves == [1] and pytree.tree_unflatten([2], spec) == [Name("a"), 2]
    assert pytree.is_constant_class(Name)
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(type("Plain", (), {}))


def test_structures_are_copied_and_pickled():
    spec = ours.tree_structure([1, {"a": (2, 3)}])
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec))
    assert ours.treespec_tuple([ours.treespec_leaf()]) == ours.tree_structure((1,))
    assert ours.treespec_dict(a=ours.treespec_leaf()) == ours.tree_structure({"a": 1})


def test_names_of_torch():
    assert mindtorch_v2.utils._pytree is ours


def test_all_names_of_torch(torch_gives):
    theirs = torch_gives(lambda torch: sorted(torch.utils._pytree.__all__))
    assert sorted(set(ours.__all__)) == theirs


def test_backward_hook():
    layer = mindtorch_v2.nn.Linear(2, 1)
    seen = []
    hook = mindtorch_v2.utils.hooks.BackwardHook(
        layer,
        [lambda module, grad_input, grad_output: seen.append((module, grad_input, grad_output))],
        [lambda module, grad_output: (grad_output[0] * 2,)],
    )
    x = mindtorch_v2.ones(3, 2, requires_grad=True)
    (args,) = hook.setup_input_hook((x,))
    hook.setup_output_hook(layer(args)).sum().backward()
    ((module, (grad_input,), (grad_output,)),) = seen
    assert module is layer and grad_output.tolist() == [[2.0]] * 3
    assert mindtorch_v2.equal(grad_input, layer.weight.detach().expand(3, 2) * 2)
    assert mindtorch_v2.equal(x.grad, grad_input)
