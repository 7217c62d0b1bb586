"""The classes that torch.utils._pytree takes for containers, and how each is taken apart."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

from mindtorch_v2._C import Size

# --- one step of a path -----------------------------------------------------------------------


class KeyEntry:
    """One step from a container to an entry."""

    def get(self, parent):
        """The entry of `parent`."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class SequenceKey(KeyEntry):
    """The step to parent[idx]."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, parent):
        return parent[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey(KeyEntry):
    """The step to parent[key]."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, parent):
        return parent[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey(KeyEntry):
    """The step to parent.name."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, parent):
        return getattr(parent, self.name)


# --- tuples with names ------------------------------------------------------------------------


def is_namedtuple(obj):
    """Whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls):
    """Whether `cls` is a class of named tuples."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(fields, tuple)
        and all(type(name) is str for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj):
    """Whether `obj` is a named tuple."""
    return isinstance(obj, tuple) and is_namedtuple_class(type(obj))


def is_structseq(obj):
    """Whether `obj` is a struct sequence, as torch.max gives, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether `cls` is a class of struct sequences."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in _STRUCTSEQ_COUNTS)
    )


def is_structseq_instance(obj):
    """Whether `obj` is a struct sequence."""
    return is_structseq_class(type(obj))


_STRUCTSEQ_COUNTS = ("n_sequence_fields", "n_fields", "n_unnamed_fields")


# --- the registry -----------------------------------------------------------------------------


@dataclasses.dataclass
class NodeDef:
    """How the containers of one class are taken apart, put together and written down."""

    type: Any
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None
    serialized_type_name: str | None = None
    to_dumpable_context: Callable | None = None
    from_dumpable_context: Callable | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, NodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


def node_of(tree):
    """How `tree` is taken apart, None for a leaf."""
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is not None:
        return node
    if not isinstance(tree, tuple):
        return None
    if is_namedtuple_class(kind):
        return SUPPORTED_NODES[namedtuple]
    if kind.__module__.partition(".")[2] == "return_types":  # made when an op first returns one
        make = lambda entries, _: kind(entries)  # noqa: E731
        node = SUPPORTED_NODES[kind] = NodeDef(kind, _flatten_tuple, make, _sequence_keys)
    return node


def _add(node):
    SUPPORTED_NODES[node.type] = node
    SUPPORTED_SERIALIZED_TYPES[node.type] = node
    if node.serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[node.serialized_type_name] = node.type


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Makes `cls` a container: flatten_fn(container) gives its entries and whatever else it needs,
    which unflatten_fn(entries, context) makes a container of again.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> torch.utils._pytree.register_pytree_node(
    ...     Pair, lambda pair: ([pair.a, pair.b], None), lambda entries, _: Pair(*entries))
    >>> torch.utils._pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    _add(
        NodeDef(
            cls,
            flatten_fn,
            unflatten_fn,
            flatten_with_keys_fn,
            serialized_type_name,
            to_dumpable_context,
            from_dumpable_context,
        )
    )


def _register_pytree_node(
    cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options
):
    """The old name of register_pytree_node."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    """Makes `cls` a leaf again."""
    node = SUPPORTED_NODES.pop(cls)
    SUPPORTED_SERIALIZED_TYPES.pop(cls, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def _register_namedtuple(cls, *, serialized_type_name):
    """Gives a class of named tuples a name to be written down by."""
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls
    SUPPORTED_SERIALIZED_TYPES[cls] = NodeDef(
        namedtuple, _flatten_tuple, _make_namedtuple, _namedtuple_keys, serialized_type_name
    )


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass a container of its fields; those that are None are part of the structure.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> torch.utils._pytree.register_dataclass(Point)
    >>> torch.utils._pytree.tree_leaves(Point(1, 2))
    [1, 2]
    """
    drop_field_names = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
    elif field_names is None:
        field_names = [field.name for field in dataclasses.fields(cls) if field.init]
    else:
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        unknown = set(field_names) - known
        if unknown:
            raise ValueError(
                f"Unexpected fields {sorted(unknown)} in {cls.__name__}; it has {sorted(known)}"
            )
    field_names = [name for name in field_names if name not in drop_field_names]

    def split(value):
        present = [name for name in field_names if getattr(value, name) is not None]
        return present, [name for name in field_names if name not in present]

    def flatten(value):
        present, absent = split(value)
        return [getattr(value, name) for name in present], [present, absent]

    def flatten_with_keys(value):
        entries, (present, absent) = flatten(value)
        keys = [GetAttrKey(name) for name in present]
        return list(zip(keys, entries, strict=True)), [present, absent]

    def unflatten(entries, context):
        present, absent = context
        values = dict(zip(present, entries, strict=True))
        return cls(**values, **dict.fromkeys(absent))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """A value that is part of the structure."""

    value: Any


def register_constant(cls):
    """Makes values of `cls` part of the structure, with no leaves. They must have == and hash().

    >>> class Name(str):
    ...     pass
    >>> torch.utils._pytree.register_constant(Name)
    >>> torch.utils._pytree.tree_leaves([Name("a"), 1])
    [1]
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether register_constant was called for `cls`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# --- what is there from the start -------------------------------------------------------------


def _flatten_list(value):
    return value, None


def _flatten_tuple(value):
    return list(value), None


def _flatten_namedtuple(value):
    return list(value), type(value)


def _flatten_mapping(value):
    return list(value.values()), list(value.keys())


def _flatten_defaultdict(value):
    return list(value.values()), [value.default_factory, list(value.keys())]


def _flatten_deque(value):
    return list(value), value.maxlen


def _sequence_keys(value):
    return [(SequenceKey(i), entry) for i, entry in enumerate(value)], None


def _deque_keys(value):
    return _sequence_keys(value)[0], value.maxlen


def _namedtuple_keys(value):
    pairs = zip(type(value)._fields, value, strict=True)
    return [(GetAttrKey(name), entry) for name, entry in pairs], type(value)


def _mapping_keys(value):
    return [(MappingKey(key), entry) for key, entry in value.items()], list(value.keys())


def _defaultdict_keys(value):
    return _mapping_keys(value)[0], _flatten_defaultdict(value)[1]


def _make_tuple(entries, _):
    return tuple(entries)


def _make_dict(entries, keys):
    return dict(zip(keys, entries, strict=True))


def _make_ordereddict(entries, keys):
    return OrderedDict(zip(keys, entries, strict=True))


def _make_defaultdict(entries, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, entries, strict=True))


def _make_namedtuple(entries, cls):
    return cls(*entries)


def _dump_namedtuple(cls):
    if cls not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return SUPPORTED_SERIALIZED_TYPES[cls].serialized_type_name


def _dump_defaultdict(context):
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(dumped):
    import importlib

    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


for _node in (
    NodeDef(
        tuple, _flatten_tuple, lambda entries, _: tuple(entries), _sequence_keys, "builtins.tuple"
    ),
    NodeDef(list, _flatten_list, lambda entries, _: list(entries), _sequence_keys, "builtins.list"),
    NodeDef(dict, _flatten_mapping, _make_dict, _mapping_keys, "builtins.dict"),
    NodeDef(
        namedtuple,
        _flatten_namedtuple,
        _make_namedtuple,
        _namedtuple_keys,
        "collections.namedtuple",
        _dump_namedtuple,
        SERIALIZED_TYPE_TO_PYTHON_TYPE.__getitem__,
    ),
    NodeDef(
        OrderedDict,
        _flatten_mapping,
        _make_ordereddict,
        _mapping_keys,
        "collections.OrderedDict",
    ),
    NodeDef(
        defaultdict,
        _flatten_defaultdict,
        _make_defaultdict,
        _defaultdict_keys,
        "collections.defaultdict",
        _dump_defaultdict,
        _load_defaultdict,
    ),
    NodeDef(deque, _flatten_deque, deque, _deque_keys, "collections.deque"),
    NodeDef(Size, _flatten_tuple, _make_tuple, _sequence_keys, "torch.Size"),
):
    _add(_node)
BUILT_IN = frozenset(SUPPORTED_NODES)
