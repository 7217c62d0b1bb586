"""torch.ops.aten: torch's own operators by their names, for programs that call them directly.

>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])

An operator is here if mindtorch has a function or a method of its name. All overloads of a name are
that one function, which looks at its arguments itself.
"""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._library.operators import OpNamespace, OpOverloadPacket

# What torch calls the overloads of its functions of tensors.
_OVERLOADS = frozenset(
    """default out Tensor Scalar Tensor_out Scalar_out Scalar_Tensor Tensor_Scalar Tensor_Tensor
    Tensor_mode Scalar_mode dim dim_IntList dims int self other correction dtype using_ints
    generator input input_dtype ScalarList List Dimname value indices stable
    start start_step sizes dim_max dim_min dim_values n_scalar x_scalar padding Sequence
    float_Tensor Tensor_float float_float memory_format source_Storage vec scalar
    p ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype self_int self_tensor
    """.split()
)


class _AtenOverload:
    """One overload of one of torch's operators."""

    def __init__(self, packet, name):
        self._overloadpacket = packet
        self._overloadname = name
        self.__name__ = f"{packet.__name__}.{name}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def namespace(self):
        return "aten"

    def name(self):
        """ "aten::name", with the overload's name behind a dot if it has one."""
        name = self._overloadpacket._qualified_op_name
        return name if self._overloadname == "default" else f"{name}.{self._overloadname}"

    def __call__(self, /, *args, **kwargs):
        return self._overloadpacket(*args, **kwargs)

    def __str__(self):
        return f"aten.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _find, (self._overloadpacket.__name__, self._overloadname)


class _AtenPacket(OpOverloadPacket):
    """All overloads of one of torch's operators."""

    def __init__(self, name, function):
        super().__init__("aten", name)
        self._function = function

    def __call__(self, /, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        if name not in _OVERLOADS:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = self._overloads[name] = _AtenOverload(self, name)
        setattr(self, name, overload)  # the same object the next time
        return overload

    def __reduce__(self):
        return _find, (self.__name__, None)


class _Aten(OpNamespace):
    def __getattr__(self, name):
        function = _function(name)
        if function is None:
            return super().__getattr__(name)
        packet = _AtenPacket(name, function)
        setattr(self, name, packet)
        return packet


def _function(name):
    if name.startswith("__"):
        return None
    if name in _C._functions:
        return _C._functions[name]
    for place in (torch, torch.nn.functional, torch.Tensor):
        found = getattr(place, name, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None


def _find(name, overload):
    packet = getattr(torch.ops.aten, name)
    return packet if overload is None else getattr(packet, overload)


aten = _Aten("aten")
