"""torch.utils._pytree: nested containers as a flat list of leaves plus a structure.

    leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})   # [1, 2, 3], TreeSpec(dict, ...)
    tree_unflatten(leaves, spec)
    tree_map(lambda leaf: leaf * 2, {"a": 1, "b": [2, 3]})

Tuples, lists, dicts, named tuples, OrderedDicts, defaultdicts, deques, torch.Size and the named
results of ops are nodes; register_pytree_node adds more. Everything else, None included, is a leaf.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from mindtorch_v2.utils._pytree_nodes import (
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    GetAttrKey,
    KeyEntry,
    MappingKey,
    NodeDef,
    SequenceKey,
    _deregister_pytree_node,
    _register_namedtuple,
    _register_pytree_node,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    node_of,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from mindtorch_v2.utils._pytree_nodes import (  # torch's names, which libraries take
    _flatten_mapping as _dict_flatten,
)
from mindtorch_v2.utils._pytree_nodes import (
    _make_dict as _dict_unflatten,
)
from mindtorch_v2.utils._pytree_nodes import (
    _mapping_keys as _dict_flatten_with_keys,
)
from mindtorch_v2.utils._pytree_spec import (
    _LEAF_SPEC,
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    _get_node_type,
    _is_leaf,
    treespec_dict,
    treespec_dumps,
    treespec_leaf,
    treespec_loads,
    treespec_pprint,
    treespec_tuple,
)

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]


# --- taking apart, putting together -----------------------------------------------------------


def tree_is_leaf(tree, is_leaf=None):
    """Whether `tree` is no container.

    >>> torch.utils._pytree.tree_is_leaf([1])
    False
    """
    return _is_leaf(tree, is_leaf)


def _collect(tree, is_leaf, leaves):
    """Appends the leaves of `tree`; returns its structure."""
    node = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_collect(child, is_leaf, leaves) for child in children])


def tree_flatten(tree, is_leaf=None):
    """The leaves of `tree` as a list, and its structure. What `is_leaf` says yes to is a leaf.

    >>> torch.utils._pytree.tree_flatten([1, (2, 3)])[0]
    [1, 2, 3]
    """
    leaves = []
    return leaves, _collect(tree, is_leaf, leaves)


def tree_unflatten(leaves, treespec):
    """The tree of the given structure with these leaves.

    >>> leaves, spec = torch.utils._pytree.tree_flatten([1, (2, 3)])
    >>> torch.utils._pytree.tree_unflatten([4, 5, 6], spec)
    [4, (5, 6)]
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves one by one.

    >>> list(torch.utils._pytree.tree_iter([1, (2, 3)]))
    [1, 2, 3]
    """
    if _is_leaf(tree, is_leaf):
        yield tree
        return
    for child in node_of(tree).flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves as a list.

    >>> torch.utils._pytree.tree_leaves({"a": 1, "b": [2]})
    [1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The structure alone.

    >>> torch.utils._pytree.tree_structure([1, 2])
    TreeSpec(list, None, [*,
      *])
    """
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments.

    >>> torch.utils._pytree.arg_tree_leaves(1, [2], k={"a": 3})
    [1, 2, 3]
    """
    return tree_leaves((args, kwargs))


# --- functions of every leaf ------------------------------------------------------------------


def tree_map(func, tree, *rests, is_leaf=None):
    """A tree of func(leaf), or func(leaf, leaf of each of rests), which have the same structure.

    >>> torch.utils._pytree.tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(map(func, leaves, *others))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func for every leaf; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), maxlen=0)
    return tree


def _chooses(type_or_types_or_pred):
    import types

    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):
        return lambda value: isinstance(value, type_or_types_or_pred)
    if callable(type_or_types_or_pred):
        return type_or_types_or_pred
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred, /):
    """Makes a function leave values of other types, or that it says no to, as they are.

    >>> @torch.utils._pytree.map_only(int)
    ... def double(value):
    ...     return 2 * value
    >>> double(2), double("a")
    (4, 'a')
    """
    chooses = _chooses(type_or_types_or_pred)

    def wrap(func):
        @functools.wraps(func)
        def only(value):
            return func(value) if chooses(value) else value

        return only

    return wrap


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map over the leaves of some types alone.

    >>> torch.utils._pytree.tree_map_only(int, lambda leaf: leaf + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map_ over the leaves of some types alone."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for every leaf.

    >>> torch.utils._pytree.tree_all(bool, [1, (0,)])
    False
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for some leaf.

    >>> torch.utils._pytree.tree_any(bool, [1, (0,)])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """tree_all over the leaves of some types alone."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """tree_any over the leaves of some types alone."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, which may end above those of `treespec`: each is repeated for all
    that lie below it. None where the structures do not fit.
    """
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    node = node_of(tree)
    children, context = node.flatten_fn(tree)
    if (
        node.type != treespec.type
        or len(children) != treespec.num_children
        or context != treespec.context
    ):
        return None
    leaves = []
    for child, spec in zip(children, treespec.children(), strict=True):
        below = _broadcast_to_and_flatten(child, spec, is_leaf)
        if below is None:
            return None
        leaves += below
    return leaves


# --- paths ------------------------------------------------------------------------------------


def _walk(path, tree, is_leaf):
    if _is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = node_of(tree)
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """Pairs of a leaf's path and the leaf.

    >>> pytree = torch.utils._pytree
    >>> [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path({"a": [1]})]
    [("['a'][0]", 1)]
    """
    return list(_walk((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """Pairs of a leaf's path and the leaf, and the structure.

    >>> torch.utils._pytree.tree_flatten_with_path([5])[0]
    [((SequenceKey(idx=0),), 5)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map of func(path, leaf, ...).

    >>> pytree = torch.utils._pytree
    >>> pytree.tree_map_with_path(lambda path, leaf: (pytree.keystr(path), leaf), [5])
    [('[0]', 5)]
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths = [path for path, _ in pairs]
    leaves = [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def keystr(kp):
    """A path as Python code.

    >>> pytree = torch.utils._pytree
    >>> pytree.keystr((pytree.MappingKey("a"), pytree.GetAttrKey("x")))
    "['a'].x"
    """
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What lies at the end of a path.

    >>> torch.utils._pytree.key_get([5], (torch.utils._pytree.SequenceKey(0),))
    5
    """
    for key in kp:
        obj = key.get(obj)
    return obj
