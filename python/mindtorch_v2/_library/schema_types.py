"""The types of arguments in the schemas of operators, and which values fit them."""

import functools
import numbers
import re

import mindtorch_v2 as torch


def is_number(value):
    """Whether a value is a Python or NumPy number."""
    if isinstance(value, numbers.Number):
        return True
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def _is_int(value):
    return isinstance(value, numbers.Integral) or (
        hasattr(value, "__index__") and not isinstance(value, torch.Tensor)
    )


def _is_float(value):
    return _is_int(value) or is_number(value) and not isinstance(value, complex)


def _is_bool(value):
    return isinstance(value, (bool, int)) or type(value).__name__ in ("bool_", "bool")


# What a schema calls a type: (what torch's type of it is called, its kind, which values it takes).
KINDS = {
    "Tensor": ("Tensor", "TensorType", lambda v: torch.overrides.is_tensor_like(v)),
    "SymInt": ("int", "IntType", _is_int),
    "SymBool": ("bool", "BoolType", _is_bool),
    "int": ("int", "IntType", _is_int),
    "float": ("float", "FloatType", _is_float),
    "bool": ("bool", "BoolType", _is_bool),
    "str": ("str", "StringType", lambda v: isinstance(v, str)),
    "Scalar": ("number", "NumberType", is_number),
    "ScalarType": ("int", "IntType", lambda v: isinstance(v, torch.dtype)),
    "Device": ("Device", "DeviceObjType", lambda v: isinstance(v, (torch.device, str, int))),
    "Layout": ("int", "IntType", lambda v: isinstance(v, (torch.layout, int))),
    "MemoryFormat": ("int", "IntType", lambda v: isinstance(v, (torch.memory_format, int))),
    "Generator": ("Generator", "GeneratorType", lambda v: isinstance(v, torch.Generator)),
}


class SchemaType(str):
    """The type of an argument or a result, as torch writes it: "List[Optional[Tensor]]"."""

    @staticmethod
    @functools.cache
    def of(text):
        """The type that a schema writes as "Tensor?[]"."""
        match = re.fullmatch(r"(?P<inner>.+?)(?P<mark>\?|\[(?P<size>\d*)\])?", text)
        mark = match["mark"]
        if mark is None:
            name, kind, accepts = KINDS[text]
            return SchemaType._make(name, text, kind, accepts)
        inner = SchemaType.of(match["inner"])
        if mark == "?":
            return SchemaType._make(
                f"Optional[{inner}]",
                text,
                "OptionalType",
                lambda v: v is None or inner.accepts(v),
                inner,
            )

        # One number stands for a list of so many; not where a size may be symbolic.
        takes_one = match["size"] and match["inner"] in ("int", "float", "bool")

        def accepts(value):
            if isinstance(value, (list, tuple, range)):
                return all(map(inner.accepts, value))
            return takes_one and inner.accepts(value)

        made = SchemaType._make(f"List[{inner}]", text, "ListType", accepts, inner)
        made.list_size = int(match["size"]) if match["size"] else None
        return made

    @staticmethod
    def _make(name, text, kind, accepts, element=None):
        made = SchemaType(name)
        made._text, made._kind, made.accepts, made._element = text, kind, accepts, element
        made.list_size = None
        return made

    @property
    def is_tensor_list(self):
        return "List[" in self and "Tensor" in self

    def kind(self):
        """The name of torch's class of this type, such as "ListType"."""
        return self._kind

    def getElementType(self):
        """The type in a list or an optional."""
        if self._element is None:
            raise RuntimeError(f"type {self} has no element type")
        return self._element

    def declared(self, alias=None):
        """What a schema writes, with what an argument of it may share memory with."""
        return self._text if alias is None else self._text.replace("Tensor", f"Tensor({alias})", 1)

    def __reduce__(self):
        return SchemaType.of, (self._text,)
