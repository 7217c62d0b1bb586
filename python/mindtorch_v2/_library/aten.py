"""torch.ops.aten: torch's own operators by their names, for programs that call them directly.

>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
>>> torch.ops.aten.relu.default._schema
aten::relu(Tensor self) -> Tensor

aten_schemas.txt lists them: the schema of each overload, and its tags. What runs is mindtorch's
function or method of the name, or an entry of aten_functions.py.
"""

import functools
import inspect
import os

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds
from mindtorch_v2._library.operators import (
    OpNamespace,
    OpOverload,
    OpOverloadPacket,
    kernel_keys,
    tensors_in,
)
from mindtorch_v2._library.schema import parse_schema


@functools.cache
def _table():
    """The lines of aten_schemas.txt by the operator's name."""
    found = {}
    path = os.path.join(os.path.dirname(__file__), "aten_schemas.txt")
    with open(path, encoding="utf-8") as file:
        for line in file:
            name = line.partition("(")[0].partition(".")[0]
            found.setdefault(name, []).append(line.rstrip("\n"))
    return found


# Operators whose tensors may be given as numbers.
_TAKE_NUMBERS = frozenset(
    """add sub mul div true_divide floor_divide divide multiply subtract rsub remainder fmod pow
    float_power atan2 arctan2 copysign eq ne lt le gt ge greater greater_equal less less_equal
    not_equal maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm hypot heaviside nextafter xlogy
    special_xlog1py special_zeta where clamp clip lerp fill masked_fill index_fill igamma igammac
    ldexp logaddexp logaddexp2 polar complex special_xlogy isclose""".split()
)


class _AtenOverload(OpOverload):
    """One overload of one of torch's operators."""

    def __init__(self, packet, schema, tags):
        super().__init__(packet, schema, tags)
        self._call = _Call(packet.__name__, schema)
        self.kernels["default"] = self._call

    def __call__(self, /, *args, **kwargs):
        tensors = tensors_in((*args, *kwargs.values()))
        if _C._has_torch_function(tensors):
            return torch.overrides.handle_torch_function(self, tensors, *args, **kwargs)
        return self._call(*self._schema.bind(args, kwargs))

    def has_kernel_for_dispatch_key(self, key):
        """Whether it runs on the device of one of torch's dispatch keys."""
        kind = kernel_keys().get(str(key).rpartition(".")[2])
        return kind in _kinds.ROWS and _kinds.ROWS[kind].has_backend

    def __reduce__(self):
        return _find, (self._overloadpacket.__name__, self._overloadname)


class _Call:
    """How an overload calls the function behind it."""

    def __init__(self, name, schema):
        self.schema = schema
        self.outs = [a.name for a in schema.arguments if a.is_out]
        self.function, known, by_name = _implementation(name, schema.overload_name)
        self.takes_out = "out" in known
        positional = [a.name for a in schema.arguments if not a.kwarg_only]
        self.fills = "reduction" in positional  # its default is another one in torch.<loss>
        # From here on the function takes arguments by their names only.
        self.by_name = [(i, n) for i, n in enumerate(positional) if n in by_name]

    def __call__(self, args, kwargs):
        if self.fills:
            args = self.schema.with_defaults(args, kwargs)[0]
        if self.by_name:
            kwargs = {**kwargs, **{n: args[i] for i, n in self.by_name if i < len(args)}}
            args = args[: self.by_name[0][0]]
        if not self.outs:
            return self._as_declared(self.function(*args, **kwargs))
        outs = tuple(kwargs.pop(name) for name in self.outs)
        if self.takes_out:
            kwargs["out"] = outs[0] if len(outs) == 1 else outs
            return self._as_declared(self.function(*args, **kwargs))
        results = self.function(*args, **kwargs)
        for out, result in zip(outs, results if len(outs) > 1 else [results], strict=True):
            if out.shape != result.shape:
                out.resize_(result.shape)
            out.copy_(result)
        return outs if len(outs) > 1 else outs[0]

    def _as_declared(self, result):
        returns = self.schema.returns
        if len(returns) > 1:
            return tuple(result)
        if returns and returns[0].type.kind() == "ListType":
            return list(result)
        return result if returns else None


class _AtenPacket(OpOverloadPacket):
    """All overloads of one of torch's operators; each is made when it is asked for."""

    def __init__(self, name):
        super().__init__("aten", name)
        self._lines = {}
        for line in _table()[name]:
            overload = line.partition("(")[0].partition(".")[2]
            self._lines[overload or "default"] = line

    def overloads(self):
        """The names of the overloads."""
        return list(self._lines)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__.get("_lines", ()):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        text, _, tags = self._lines[name].partition(" # ")
        takes_numbers = self.__name__.removesuffix("_") in _TAKE_NUMBERS
        schema = parse_schema(f"aten::{text}", takes_numbers)
        tags = [torch.Tag[tag] for tag in (*tags.split(), "pt2_compliant_tag")]
        overload = self._overloads[name] = _AtenOverload(self, schema, tags)
        setattr(self, name, overload)  # the same object the next time
        return overload

    def __dir__(self):
        return [*super().__dir__(), *self._lines]

    def __iter__(self):
        return iter(self._lines)

    def __reduce__(self):
        return _find, (self.__name__, None)


class _Aten(OpNamespace):
    def __getattr__(self, name):
        if name not in _table():
            return super().__getattr__(name)
        packet = _AtenPacket(name)
        setattr(self, name, packet)
        return packet

    def __dir__(self):
        return [*super().__dir__(), *_table()]


def _implementation(name, overload):
    """(the function behind an operator, names of its arguments, those that must be named)."""
    from mindtorch_v2._library.aten_functions import FUNCTIONS

    function = FUNCTIONS.get(f"{name}.{overload}", FUNCTIONS.get(name))
    base, _, suffix = overload.rpartition("_")
    if function is None and suffix == "out":
        function = FUNCTIONS.get(f"{name}.{base}")
    if function is not None:
        return function, (), ()
    for functions in (_C._functions, _C._nn_functions):
        if name in functions:
            return functions[name], *_parameters(name)
    for place in (torch, _C._internal_functions, torch.Tensor, torch.nn.functional):
        found = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
        if callable(found) and not isinstance(found, (type, OpOverloadPacket)):
            return found, *(_parameters(name) if isinstance(place, dict) else _signature(found))
    raise NotImplementedError(f"there is nothing behind torch.ops.aten.{name}")


@functools.cache
def _native_parameters():
    found = {}
    for op in _C._op_schemas():
        for name in (op["name"], *op["aliases"]):
            found.setdefault(name, []).append(op)
    return found


def _parameters(name):
    known, by_position, by_name = set(), set(), set()
    for op in _native_parameters()[name]:
        known |= {"out"} if op["form"] == "out" else set()
        for parameter in op["params"]:
            (by_name if parameter["keyword_only"] else by_position).add(parameter["name"])
    return known, by_name - by_position


def _signature(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (), ()
    return [p.name for p in parameters], [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]


def _find(name, overload):
    packet = getattr(torch.ops.aten, name)
    return packet if overload is None else getattr(packet, overload)


aten = _Aten("aten")
