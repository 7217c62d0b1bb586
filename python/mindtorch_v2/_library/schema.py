"""The schemas of operators: parsed from text, inferred from annotations, matched with arguments."""

import collections.abc
import dataclasses
import inspect
import re
import types
import typing
from typing import Any

import mindtorch_v2 as torch

_REQUIRED = object()


@dataclasses.dataclass(frozen=True)
class Argument:
    """One parameter of an operator."""

    name: str
    type: str
    default: Any = _REQUIRED
    kwarg_only: bool = False
    alias: str | None = None

    @property
    def default_value(self):
        return None if self.default is _REQUIRED else self.default

    def has_default_value(self):
        return self.default is not _REQUIRED

    @property
    def alias_info(self):
        return self.alias

    @property
    def is_write(self):
        return self.alias is not None and self.alias.endswith("!")

    @property
    def is_tensor_list(self):
        return self.type.startswith("Tensor") and "[" in self.type

    def __str__(self):
        alias = f"({self.alias})" if self.alias else ""
        text = f"{self.type.replace('Tensor', 'Tensor' + alias, 1)} {self.name}"
        return text if self.default is _REQUIRED else f"{text}={_default_text(self.default)}"


@dataclasses.dataclass(frozen=True)
class Return:
    """One result of an operator."""

    name: str
    type: str
    alias_info: str | None = None


@dataclasses.dataclass(frozen=True)
class FunctionSchema:
    """The name, parameters and results of an operator."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Return]

    @property
    def is_mutable(self):
        return any(argument.is_write for argument in self.arguments)

    def bind(self, args, kwargs):
        """The arguments of a call: those by position, in order and without the defaults, and those
        that only have a name. Refuses what does not fit.
        """
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}"
            )
        given, kwargs = list(args), dict(kwargs)
        for argument in positional[len(given) :]:
            if argument.name not in kwargs and any(a.name in kwargs for a in positional):
                self._check_default(argument)
                given.append(argument.default)
            elif argument.name in kwargs:
                given.append(kwargs.pop(argument.name))
            else:
                self._check_default(argument)
        for argument in self.arguments:
            if argument.kwarg_only and argument.name not in kwargs:
                self._check_default(argument)
        known = {argument.name for argument in self.arguments if argument.kwarg_only}
        for name in kwargs:
            if name not in known:
                raise RuntimeError(
                    f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}"
                )
        for i, (argument, value) in enumerate(zip(positional, given, strict=False)):
            self._check_tensor(argument, value, i)
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

    def _check_default(self, argument):
        if argument.default is _REQUIRED:
            raise RuntimeError(
                f"{self.name}() is missing value for argument '{argument.name}'. Declaration: "
                f"{self}"
            )

    def _check_tensor(self, argument, value, position):
        if argument.type != "Tensor" or torch.overrides.is_tensor_like(value):
            return
        raise RuntimeError(
            f"{self.name}() Expected a value of type 'Tensor' for argument '{argument.name}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}"
            f"\nDeclaration: {self}"
        )

    def __str__(self):
        parts, is_named = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not is_named:
                parts.append("*")
                is_named = True
            parts.append(str(argument))
        results = [
            (r.type.replace("Tensor", f"Tensor({r.alias_info})", 1) if r.alias_info else r.type)
            + (f" {r.name}" if r.name else "")
            for r in self.returns
        ]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(parts)}) -> {result}"


# --- from text --------------------------------------------------------------------------------

_TYPES = "Tensor SymInt int float bool str Scalar ScalarType Device Layout MemoryFormat Generator"
_ARGUMENT = re.compile(
    rf"(?P<type>{'|'.join(sorted(_TYPES.split(), key=len, reverse=True))})"
    r"(?:\((?P<alias>[^)]*)\))?(?P<tail>(?:\?|\[\d*\])*)\s*(?P<name>\w*)\s*(?:=\s*(?P<default>.+))?"
)


def _split(text):
    """The parts between commas that lie in no bracket or string."""
    parts, depth, start, quote = [], 0, 0, None
    for i, character in enumerate(text):
        if quote:
            quote = None if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _default_text(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def _read_default(text):
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # contiguous_format, cpu and their like


def _read_argument(text, kwarg_only, schema):
    match = _ARGUMENT.fullmatch(text)
    if match is None or not match["name"]:
        raise RuntimeError(f"cannot read the argument {text!r} of the schema {schema!r}")
    default = _REQUIRED if match["default"] is None else _read_default(match["default"].strip())
    return Argument(
        match["name"], match["type"] + match["tail"], default, kwarg_only, match["alias"]
    )


def _read_return(text, schema):
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise RuntimeError(f"cannot read the result {text!r} of the schema {schema!r}")
    return Return(match["name"], match["type"] + match["tail"], match["alias"])


def parse_schema(text):
    """The schema that a text such as "ns::name.overload(Tensor x, int n=2) -> Tensor" means."""
    match = re.fullmatch(r"\s*([\w:]+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise RuntimeError(
            f"expected a schema like 'name(Tensor x, int n=2) -> Tensor', but got {text!r}"
        )
    name, overload, arguments, results = match.groups()
    read, kwarg_only = [], False
    for part in _split(arguments):
        if part == "*":
            kwarg_only = True
        else:
            read.append(_read_argument(part, kwarg_only, text))
    results = results[1:-1] if results.startswith("(") and results.endswith(")") else results
    returns = [_read_return(part, text) for part in _split(results)]
    return FunctionSchema(name, overload or "", read, returns)


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
