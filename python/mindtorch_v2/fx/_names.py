"""Names: of functions and types in generated code and printed graphs, of nodes in a graph."""

import builtins
import collections
import keyword
import math
import operator
import re
import types
import typing
from typing import NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.fx import _pytree as fx_pytree
from mindtorch_v2.overrides import resolve_name
from mindtorch_v2.utils import _pytree as pytree

_OURS = "mindtorch_v2"


class _CustomBuiltin(NamedTuple):
    """A name that all generated code may use, and the statement that defines it in a file."""

    import_str: str
    obj: object


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin(f"import {_OURS} as torch", torch),
    "device": _CustomBuiltin(f"from {_OURS} import device", torch.device),
    "fx_pytree": _CustomBuiltin(f"import {_OURS}.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin(f"import {_OURS}.utils._pytree as pytree", pytree),
}


def _register_custom_builtin(name, import_str, obj):
    """Gives all generated code a name of one's own."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


# --- functions and types ----------------------------------------------------------------------


def _torch_module(name):
    """torch.nn for mindtorch_v2.nn."""
    return "torch" + name.removeprefix(_OURS) if name.split(".")[0] == _OURS else name


def _get_qualified_name(func):
    """The dotted name of a function or class, with torch's name for what is torch's.

    >>> from mindtorch_v2.fx.node import _get_qualified_name
    >>> _get_qualified_name(torch.nn.functional.relu), _get_qualified_name(len)
    ('torch.nn.functional.relu', 'len')
    """
    name = getattr(func, "__name__", None)
    if name is None:
        raise RuntimeError(f"Unable to find a name of {func!r}: it has no __name__")
    if getattr(builtins, name, None) is func:
        return name
    known = resolve_name(func) if isinstance(func, typing.Hashable) else None
    if known is not None:
        return known
    module = _torch_module(getattr(func, "__module__", None) or "")
    qualname = getattr(func, "__qualname__", name) if isinstance(func, type) else name
    if module == "_operator":
        module = "operator"
    if module.startswith("torch.") and getattr(torch, name, None) is func:
        module = "torch"  # defined in a file of its own, such as torch._checks
    return f"{module}.{qualname}" if module else qualname


def _is_from_torch(obj):
    """Whether the qualified name of `obj`, read in code that knows torch, gives it."""
    try:
        path = _get_qualified_name(obj).split(".")
    except RuntimeError:
        return False
    if path[0] != "torch":
        return False
    found = torch
    for part in path[1:]:
        found = getattr(found, part, None)
    return found is obj


def _pretty_print_target(target):
    """The target of a node in a printed graph."""
    if isinstance(target, str):
        return target
    if not hasattr(target, "__name__"):
        return repr(target)
    module = getattr(target, "__module__", None)
    if module == "builtins":
        return f"builtins.{target.__name__}"
    return _get_qualified_name(target)


def _type_repr(obj):
    """A type as annotations are printed."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{_torch_module(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace(f"{_OURS}.", "torch.")


_GENERIC_ORIGINS = {
    list: list,
    dict: dict,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
    type: type,
    collections.abc.Callable: typing.Callable,
    types.UnionType: typing.Union,
}
_TYPING_ORIGINS = {
    list: typing.List,  # noqa: UP006 - the annotation said so
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
    type: typing.Type,  # noqa: UP006
}


def type_expression(annotation, add_global):
    """Code that gives `annotation`; add_global(name, object) makes an object known to the code."""
    if annotation == ():
        return "()"
    origin = typing.get_origin(annotation)
    if origin is None or origin is typing.Literal:
        return add_global(_type_repr(annotation), annotation)
    table = _GENERIC_ORIGINS if isinstance(annotation, types.GenericAlias) else _TYPING_ORIGINS
    origin = table.get(origin, _GENERIC_ORIGINS.get(origin, origin))
    arguments = typing.get_args(annotation)
    if isinstance(arguments and arguments[0], list):  # Callable[[int], str]
        inner = ",".join(type_expression(a, add_global) for a in arguments[0])
        inside = [f"[{inner}]", *(type_expression(a, add_global) for a in arguments[1:])]
    else:
        inside = [type_expression(a, add_global) for a in arguments]
    name = add_global(_type_repr(origin), origin)
    return f"{name}[{','.join(inside)}]" if inside else name


# --- nodes ------------------------------------------------------------------------------------


def _snake_case(name):
    """linear_1 for Linear1."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<!^)([A-Z])(?=[a-z])", r"_\1\2", name).lower()


_NOT_IN_NAMES = re.compile(r"[^0-9a-zA-Z_]+")
_COUNTED = re.compile(r"(.+)_([1-9][0-9]*)")


class _Namespace:
    """The names of one graph: no two objects have the same.

    >>> from mindtorch_v2.fx.graph import _Namespace
    >>> names = _Namespace()
    >>> names.create_name("relu", None), names.create_name("relu", None)
    ('relu', 'relu_1')
    """

    def __init__(self):
        self._names = {}  # by object
        self._used_names = set()
        self._last_count = {}  # of each name that was counted up

    def create_name(self, candidate, obj):
        """A name like `candidate` that is legal in Python and not taken; the name that `obj`
        has if it has one."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = _NOT_IN_NAMES.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        counted = _COUNTED.fullmatch(candidate)
        base, count = (counted[1], int(counted[2])) if counted else (candidate, 0)
        if candidate in self._used_names or (not counted and self._is_illegal_name(candidate, obj)):
            count = max(count, self._last_count.get(base, 0))
            while True:
                count += 1
                candidate = f"{base}_{count}"
                if candidate not in self._used_names:
                    break
        self._last_count[base] = count
        self._used_names.add(candidate)
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Gives `obj` a name that is taken already."""
        self._names.setdefault(obj, name)

    def _is_illegal_name(self, name, obj):
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return getattr(builtins, name) is not obj
        if name in _custom_builtins:
            return _custom_builtins[name].obj is not obj
        return False

    def _rename_object(self, obj, name):
        self._names[obj] = name
        self._used_names.add(name)


# Format of a call of operator.<name>.
magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
}
reflectable_magic_methods = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "matmul": "{} @ {}",
}
magic_methods.update(reflectable_magic_methods)
inplace_methods = {
    "iadd": "{} += {}",
    "iand": "{} &= {}",
    "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}",
    "imatmul": "{} @= {}",
    "ior": "{} |= {}",
    "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}",
    "itruediv": "{} /= {}",
    "ixor": "{} ^= {}",
    "setitem": "{}[{}] = {}",
}


def operator_format(target, formats):
    """The format in `formats` of a function of module operator, or None."""
    name = getattr(target, "__name__", None)
    if getattr(target, "__module__", None) != "_operator" or name not in formats:
        return None
    return formats[name] if getattr(operator, name, None) is target else None
