"""The schemas of operators: parsed from text, inferred from annotations, matched with arguments."""

import collections.abc
import dataclasses
import inspect
import types
import typing
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._library.schema_types import SchemaType, is_number

_REQUIRED = object()


@dataclasses.dataclass(frozen=True)
class AliasInfo:
    """Which other arguments and results may share memory with one, and whether it is written to."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool

    def __str__(self):
        before, after = ("|".join(sorted(names)) for names in (self.before_set, self.after_set))
        write = "!" if self.is_write else ""
        return before + write if before == after else f"{before}{write} -> {after}"


@dataclasses.dataclass(frozen=True)
class Argument:
    """One parameter of an operator."""

    name: str
    type: SchemaType
    default: Any = _REQUIRED
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None

    @property
    def default_value(self):
        return None if self.default is _REQUIRED else self.default

    def has_default_value(self):
        return self.default is not _REQUIRED

    @property
    def real_type(self):
        return self.type

    @property
    def N(self):
        return self.type.list_size

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        return self.kwarg_only and self.is_write

    def __str__(self):
        text = f"{self.type.declared(self.alias_info)} {self.name}"
        return text if self.default is _REQUIRED else f"{text}={_default_text(self.default)}"


@dataclasses.dataclass(frozen=True)
class Return:
    """One result of an operator."""

    name: str
    type: SchemaType
    alias_info: AliasInfo | None = None

    def __str__(self):
        text = self.type.declared(self.alias_info)
        return f"{text} {self.name}" if self.name else text


@dataclasses.dataclass(frozen=True, repr=False)
class FunctionSchema:
    """The name, parameters and results of an operator."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Return]
    takes_numbers: bool = False  # where a tensor is expected

    @property
    def is_mutable(self):
        return any(argument.is_write for argument in self.arguments)

    def bind(self, args, kwargs):
        """The arguments of a call: those by position, in order and without the defaults, and those
        that only have a name. Refuses what does not fit.
        """
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        self._check_count(len(args), len(kwargs), len(positional))
        given, kwargs = list(args), dict(kwargs)
        for argument in positional[len(given) :]:
            if argument.name not in kwargs and any(a.name in kwargs for a in positional):
                self._check_default(argument)
                given.append(argument.default)
            elif argument.name in kwargs:
                given.append(kwargs.pop(argument.name))
            else:
                self._check_default(argument)
        named = {argument.name: argument for argument in self.arguments if argument.kwarg_only}
        for argument in named.values():
            if argument.name not in kwargs:
                self._check_default(argument)
        for name, value in kwargs.items():
            if name not in named:
                raise RuntimeError(
                    f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}"
                )
            self._check_value(named[name], value, None)
        for i, (argument, value) in enumerate(zip(positional, given, strict=False)):
            self._check_value(argument, value, i)
            if argument.type == "bool":
                given[i] = bool(value)  # or 1 would be taken for a dimension
        return tuple(given), kwargs

    def with_defaults(self, args, kwargs):
        """(all arguments by position, all by name)."""
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        named = [argument for argument in self.arguments if argument.kwarg_only]
        rest = [argument.default for argument in positional[len(args) :]]
        return (*args, *rest), {a.name: kwargs.get(a.name, a.default_value) for a in named}

    def written(self, args, kwargs):
        """The tensors among the arguments that the operator writes to."""
        found = []
        for i, argument in enumerate(self.arguments):
            if argument.is_write:
                value = args[i] if i < len(args) else kwargs.get(argument.name)
                found += value if isinstance(value, (list, tuple)) else [value]
        return [tensor for tensor in found if isinstance(tensor, torch.Tensor)]

    def _check_count(self, by_position, by_name, positional):
        if by_position > positional and positional < len(self.arguments):
            raise RuntimeError(
                f"{self.name}() takes {positional} positional argument(s) but {by_position} "
                f"was/were given.  Declaration: {self}"
            )
        if by_position + by_name > len(self.arguments):
            raise RuntimeError(
                f"{self.name}() expected at most {len(self.arguments)} argument(s) but received "
                f"{by_position + by_name} argument(s). Declaration: {self}"
            )

    def _check_default(self, argument):
        if argument.default is _REQUIRED:
            raise RuntimeError(
                f"{self.name}() is missing value for argument '{argument.name}'. Declaration: "
                f"{self}"
            )

    def _check_value(self, argument, value, position):
        if argument.type.accepts(value) or value is argument.default:
            return
        if self.takes_numbers and argument.type == "Tensor" and is_number(value):
            return
        where = "" if position is None else f"Position: {position}\n"
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{argument.type}' for argument "
            f"'{argument.name}' but instead found type '{type(value).__name__}'.\n{where}"
            f"Value: {value!r}\nDeclaration: {self}"
        )

    def __str__(self):
        parts, is_named = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not is_named:
                parts.append("*")
                is_named = True
            parts.append(str(argument))
        results = [str(result) for result in self.returns]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(parts)}) -> {result}"

    __repr__ = __str__


# --- from text --------------------------------------------------------------------------------


def _default_text(value):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):  # 17 digits, and a point where nothing else says it is no int
        text = f"{value:.17g}"
        return text if set(text) & set(".en") else text + "."
    return str(value)


def _read_alias(text):
    if not text:
        return None
    before, _, after = (part.strip() for part in text.partition("->"))
    is_write = before.endswith("!")
    before = frozenset(before.removesuffix("!").split("|"))
    return AliasInfo(before, frozenset(after.split("|")) if after else before, is_write)


def _read_default(text):
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # contiguous_format, cpu and their like


def parse_schema(text, takes_numbers=False):
    """The schema that a text such as "ns::name.overload(Tensor x, int n=2) -> Tensor" means."""
    name, overload, arguments, results = _C._parse_schema(text)
    try:
        read = [
            Argument(
                name_of,
                SchemaType.of(kind),
                _REQUIRED if default is None else _read_default(default),
                kwarg_only,
                _read_alias(alias),
            )
            for kind, alias, name_of, default, kwarg_only in arguments
        ]
        returns = [
            Return(name_of, SchemaType.of(kind), _read_alias(alias))
            for kind, alias, name_of, *_ in results
        ]
    except KeyError as error:
        raise RuntimeError(f"schema {text!r}: there is no type {error}") from None
    return FunctionSchema(name, overload, read, returns, takes_numbers)


# --- from annotations -------------------------------------------------------------------------

_SCALARS = {int: "SymInt", float: "float", bool: "bool", str: "str"}


def _plain_types():
    from numbers import Number

    others = {
        torch.Tensor: "Tensor",
        torch.dtype: "ScalarType",
        torch.device: "Device",
        Number: "Scalar",
    }
    return {**_SCALARS, **others}


def _type_text(annotation):
    """The schema's type of an annotation, None where there is none."""
    plain = _plain_types().get(annotation) if not isinstance(annotation, list) else None
    if plain is not None:
        return plain
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        present = [entry for entry in inner if entry is not type(None)]
        if set(present) == {int, float, bool} and len(present) == 3:
            text = "Scalar"
        elif len(present) == 1 and len(inner) == 2:
            text = _type_text(present[0])
        else:
            return None
        return text and (text + "?" if len(present) < len(inner) else text)
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        text = _type_text(inner[0])
        return text and text + "[]"
    return None


def _return_text(annotation, refuse):
    if annotation in (None, type(None)):
        return "()"
    if typing.get_origin(annotation) is tuple:
        parts = [_type_text(entry) for entry in typing.get_args(annotation)]
        text = None if None in parts else f"({', '.join(parts)})"
    else:
        text = _type_text(annotation)
    if text is None:
        refuse(f"Return has unsupported type {annotation}.")
    return text


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function by its annotations; `mutates_args` names the arguments it writes
    to, or is "unknown" for all tensors.

    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def refuse(problem):
        raise ValueError(f"infer_schema(func): {problem} Got func with signature {signature})")

    if "return" not in hints and signature.return_annotation is inspect.Signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    parts, is_named = [], False
    kinds = inspect.Parameter
    for i, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is kinds.KEYWORD_ONLY and not is_named:
            parts.append("*")
            is_named = True
        if parameter.annotation is kinds.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        text = _type_text(hints[name])
        if text is None:
            refuse(f"Parameter {name} has unsupported type {hints[name]}.")
        is_written = name in mutates_args if mutates_args != "unknown" else "Tensor" in text
        if is_written:
            if "Tensor" not in text:
                refuse(f"Parameter {name} is in mutable_args but only Tensors can be mutated.")
            text = text.replace("Tensor", f"Tensor(a{i}!)", 1)
        default = "" if parameter.default is kinds.empty else f"={_inferred(parameter, refuse)}"
        parts.append(f"{text} {name}{default}")
    unknown = set() if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if unknown:
        refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args "
            "should contain the names of all args that the custom op mutates, or just the string "
            "'unknown' if you don't know."
        )
    result = _return_text(hints.get("return"), refuse)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _inferred(parameter, refuse):
    default = parameter.default
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, torch.dtype):
        return str(default).removeprefix("torch.")
    if isinstance(default, torch.device):
        return f'"{default}"'
    if default is None or isinstance(default, (int, float, bool)):
        return str(default)
    refuse(
        f"Parameter {parameter.name} has an unsupported default value type {type(default)}. "
        "Use None and set it in the function."
    )
