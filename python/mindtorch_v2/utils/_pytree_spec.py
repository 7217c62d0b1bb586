"""TreeSpec, the structure of a tree, and how it is written down."""

import json
import textwrap
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

from mindtorch_v2.utils._pytree_nodes import (
    BUILT_IN,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    is_namedtuple_instance,
    node_of,
)

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
_MAPPINGS = (dict, OrderedDict, defaultdict)


def _get_node_type(tree):
    """The key of SUPPORTED_NODES for a container; of a leaf, its class."""
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_instance(tree):
        return namedtuple
    return kind


def _is_leaf(tree, is_leaf=None):
    if is_leaf is not None and is_leaf(tree):
        return True
    return node_of(tree) is None


class TreeSpec:
    """The structure of a tree: the class of its container, what else that container needs to be
    made again, and the structures of its entries.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs):
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = sum(child.num_leaves for child in children_specs)

    @property
    def context(self):
        """What the container needs besides its entries: the keys of a dict."""
        return self._context

    @property
    def children_specs(self):
        """The structures of the entries; children() gives them without a warning."""
        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a "
            "single child, or `treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self):
        """Whether it is the structure of a single leaf."""
        return False

    def children(self):
        """The structures of the entries."""
        return list(self._children)

    def child(self, index):
        """The structure of one entry."""
        return self._children[index]

    def unflatten(self, leaves):
        """The tree of this structure with the given leaves."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        entries = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(entries, self._context)

    def flatten_up_to(self, tree):
        """The parts of `tree` where this structure has leaves; `tree` must have at least it."""
        found = []
        self._take(tree, found)
        return found

    def _take(self, tree, found):
        kind = _get_node_type(tree)
        if self.type in _MAPPINGS and kind in _MAPPINGS:
            entries = self._in_own_order(tree)
        else:
            entries = self._checked_entries(tree, kind)
        for child, entry in zip(self._children, entries, strict=True):
            child._take(entry, found)

    def _check_arity(self, count):
        if count != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {count}.")

    def _in_own_order(self, mapping):
        # Dicts of any kind fit where the keys are the same, in whatever order.
        self._check_arity(len(mapping))
        keys = self._context[1] if self.type is defaultdict else self._context
        if set(mapping) != set(keys):
            missing, extra = set(keys) - set(mapping), set(mapping) - set(keys)
            text = f" missing key(s): {missing};" if missing else ""
            text += f" extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch;{text}.")
        return [mapping[key] for key in keys]

    def _checked_entries(self, tree, kind):
        if kind != self.type:
            which = "Node type" if self.type in BUILT_IN else "Type"
            raise ValueError(f"{which} mismatch; expected {self.type!r}, but got {kind!r}.")
        entries, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        self._check_arity(len(entries))
        if kind is not deque and context != self._context:  # a deque may have another limit
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; "
                f"expected {self._context!r}, but got {context!r}."
            )
        return entries

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type == other.type
            and self.num_leaves == other.num_leaves
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self):
        context = self._context
        if self.type is defaultdict:
            context = (context[0], *context[1])
        elif self.type in _MAPPINGS:
            context = tuple(context)
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self):
        name = getattr(self.type, "__name__", repr(self.type))
        # Every line but the first lies deeper.
        children = textwrap.indent(",\n".join(map(repr, self._children)), "  ").lstrip()
        return f"TreeSpec({name}, {self._context}, [{children}])"

    def __reduce__(self):
        return TreeSpec, (self.type, self._context, self._children)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self):
        return True

    def _build(self, leaves):
        return next(leaves)

    def _take(self, tree, found):
        found.append(tree)

    def __repr__(self):
        return "*"

    def __reduce__(self):
        return LeafSpec, ()


_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The structure of a leaf.

    >>> torch.utils._pytree.treespec_leaf()
    *
    """
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The structure of a tuple of things of the given structures.

    >>> pytree = torch.utils._pytree
    >>> pytree.treespec_tuple([pytree.treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dict of things of the given structures.

    >>> pytree = torch.utils._pytree
    >>> pytree.treespec_dict(a=pytree.treespec_leaf())
    TreeSpec(dict, ['a'], [*])
    """
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


# --- written down -----------------------------------------------------------------------------


class _EnumEncoder(json.JSONEncoder):
    def default(self, value):
        import enum

        if isinstance(value, enum.Enum):
            place = f"{type(value).__module__}:{type(value).__qualname__}"
            return {"__enum__": True, "fqn": place, "name": value.name}
        return super().default(value)


def _decode_enum(found):
    if "__enum__" not in found:
        return found
    import functools
    import importlib

    module, _, name = found["fqn"].partition(":")
    cls = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    return cls[found["name"]]


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None or node.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=_EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec.children()]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def _from_json(found):
    if found["type"] is None:
        return _LEAF_SPEC
    if found["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {found['type']} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[found["type"]]
    node = SUPPORTED_SERIALIZED_TYPES[kind]
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(found["context"])
    else:
        context = json.loads(found["context"], object_hook=_decode_enum)
    return TreeSpec(kind, context, [_from_json(child) for child in found["children_spec"]])


def _check_protocol(protocol):
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        known = [DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {known}")


def treespec_dumps(treespec, protocol=None):
    """A structure as JSON, which torch can read, too.

    >>> spec = torch.utils._pytree.tree_structure([1, 2])
    >>> text = torch.utils._pytree.treespec_dumps(spec)
    >>> torch.utils._pytree.treespec_loads(text) == spec
    True
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol is None:
        protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    _check_protocol(protocol)
    return json.dumps((protocol, _to_json(treespec)), cls=_EnumEncoder)


def treespec_loads(serialized):
    """The structure that treespec_dumps wrote.

    >>> torch.utils._pytree.treespec_loads('[1, {"type": null, "context": null}]')
    *
    """
    protocol, found = json.loads(serialized, object_hook=_decode_enum)
    _check_protocol(protocol)
    return _from_json(found)


def treespec_pprint(treespec):
    """The structure as Python code that would make it, with * for each leaf.

    >>> torch.utils._pytree.treespec_pprint(torch.utils._pytree.tree_structure([1, {"a": 2}]))
    "[*, {'a': *}]"
    """
    import pprint

    class Leaf:
        def __repr__(self):
            return "*"

    return pprint.pformat(treespec.unflatten([Leaf()] * treespec.num_leaves))
