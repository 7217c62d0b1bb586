"""Writes the typed C++ front of every op from the schemas in mindtorch/ops/definitions.

usage: make_functions.py DEFINITIONS_DIR OUTPUT_DIR

A definition is a C++ statement with one schema string and, in the same statement, the names of its
variants (kInplaceVariant, kOutVariant, kInplaceAndOut, kFunctionalVariant) and its Python place.
From each come a declaration and a body:

    mindtorch/functional/functions.h      free functions: mindtorch::add(a, b)
    mindtorch/functional/functions.cpp    their bodies, and the methods' bodies
    mindtorch/tensor/tensor_methods.inc   method declarations inside class Tensor: a.add(b)
"""

import pathlib
import re
import sys

ARG_TYPES = {
    "Tensor": "const Tensor&",
    "Operand": "const Tensor&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "TensorList",
    "Scalar": "const Scalar&",
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "int[]": "IntList",
    "float[]": "std::span<const double>",
    "ScalarType": "DType",
    "Device": "Device",
    "MemoryFormat": "MemoryFormat",
    "str": "std::string_view",
    "Generator": "Generator*",
}
RETURN_TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "Scalar": "Scalar",
    "int": "int64_t",
    "bool": "bool",
    "float": "double",
}
RESERVED = {"and", "or", "not", "xor", "default"}
# Tensor has these as plain members; the ops of the same name are reached as free functions.
MEMBER_NAMES = {"size", "stride", "numel", "dim", "is_contiguous", "data_ptr", "storage_offset"}


class Param:
    def __init__(self, text, keyword_only):
        left, _, self.default = text.partition("=")
        type_text, _, self.name = left.strip().rpartition(" ")
        self.type = re.sub(r"\([a-z]!?\)", "", type_text)
        self.type = re.sub(r"\[\d+\]", "[]", self.type)
        self.optional = self.type.endswith("?")
        self.type = self.type.rstrip("?")
        self.default = self.default.strip()
        self.keyword_only = keyword_only

    def cpp_type(self):
        plain = ARG_TYPES[self.type]
        if not self.optional or self.type in ("Tensor", "Operand", "Generator"):
            return plain
        return f"std::optional<{plain.removeprefix('const ').removesuffix('&')}>"

    def cpp_default(self):
        if not self.default:
            return ""
        if self.default == "None":
            value = {"Tensor": "{}", "Operand": "{}", "Generator": "nullptr"}.get(
                self.type, "std::nullopt"
            )
        elif self.type == "str":
            value = '"' + self.default.strip("'\"") + '"'
        elif self.type == "bool" or self.default in ("True", "False"):
            value = self.default.lower()
        elif self.type == "MemoryFormat":
            value = {"contiguous_format": "MemoryFormat::kContiguous"}[self.default]
        elif self.type == "int[]":
            value = "IntList{" + self.default.strip("[]") + "}"
        elif self.default in ("inf", "-inf"):
            value = self.default.replace("inf", "std::numeric_limits<double>::infinity()")
        else:
            value = self.default
        return " = " + value


class Function:
    def __init__(self, name, overload, params, returns, place):
        self.name, self.overload, self.params = name, overload, params
        self.returns, self.place = returns, place

    @property
    def full_name(self):
        return f"{self.name}.{self.overload}" if self.overload else self.name

    def cpp_name(self, is_out):
        name = self.name + ("_out" if is_out else "")
        return name + "_" if name in RESERVED else name

    def result(self):
        if len(self.returns) == 1:
            return RETURN_TYPES[self.returns[0]]
        return "std::tuple<" + ", ".join(RETURN_TYPES[r] for r in self.returns) + ">"


def split_args(text):
    parts, depth, current = [], 0, ""
    for char in text:
        depth += char in "([" and 1 or (char in ")]" and -1 or 0)
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    return [part.strip() for part in [*parts, current] if part.strip()]


def parse_schema(text):
    head, _, returns = text.rpartition("->")
    name, _, args = head.strip().partition("(")
    name, _, overload = name.partition(".")
    params, keyword_only = [], False
    for part in split_args(args.strip().removesuffix(")")):
        if part == "*":
            keyword_only = True
        else:
            params.append(Param(part, keyword_only))
    returns = re.sub(r"\([a-z]!?\)", "", returns).strip()
    returns = returns[1:-1] if returns.startswith("(") else returns
    named = [part.split() for part in split_args(returns)]
    names = [part[1] if len(part) > 1 else "out" for part in named]
    return name, overload, params, [part[0] for part in named], names


def string_literals(statement):
    """Adjacent literals joined, as the compiler does."""
    joined = re.sub(r'"\s*\n?\s*"', "", statement)
    return [m.replace('\\"', '"') for m in re.findall(r'"((?:[^"\\]|\\.)*)"', joined)]


SCHEMA = re.compile(r"^[A-Za-z_]\w*(\.\w+)?\(.*\) -> ")


def statements(text):
    """C++ statements, split at ';' outside string literals and comments."""
    text = re.sub(r"//[^\n]*", "", text)
    current, in_string, escaped = "", False, False
    for char in text:
        current += char
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char == ";":
            yield current
            current = ""


def read_definitions(folder):
    functions = []
    for path in sorted(pathlib.Path(folder).glob("*.cpp")):
        for statement in statements(path.read_text()):
            for literal in string_literals(statement):
                if SCHEMA.match(literal):
                    functions += forms(literal, statement)
    return functions


def forms(schema, statement):
    name, overload, params, returns, names = parse_schema(schema)
    place = "internal" if ".internal()" in statement else ""
    if ".function_only()" in statement or ".nn_function()" in statement:
        place = "function"
    if "place(kFunction | kNnFunction)" in statement:
        place = "function"
    out = [(Function(name, overload, params, returns, place), False)]
    if "kInplaceVariant" in statement or "kInplaceAndOut" in statement:
        out.append((Function(name + "_", overload, params, returns, ""), False))
    base = name.removesuffix("_")
    if "kFunctionalVariant" in statement:
        out.append((Function(base, overload, params, returns, place), False))
    if "kOutVariant" in statement or "kInplaceAndOut" in statement:
        targets = names if len(names) > 1 else ["out"]
        extra = [Param(f"Tensor {target}", True) for target in targets]
        out_overload = f"{overload}_out" if overload else "out"
        out.append((Function(base, out_overload, params + extra, returns, "function"), True))
    return out


def signature(function, is_out, defaults, skip_self=False):
    parts = []
    # C++ wants defaults at the tail only, and an out= tensor has none.
    tail = len(function.params)
    if defaults and not is_out:
        while tail > 0 and function.params[tail - 1].default:
            tail -= 1
    for i, param in enumerate(function.params):
        if skip_self and i == 0:
            continue
        name = param.name + "_" if param.name in RESERVED else param.name
        default = param.cpp_default() if defaults and i >= tail and not is_out else ""
        parts.append(f"{param.cpp_type()} {name}{default}")
    return ", ".join(parts)


def argument_names(function):
    return [p.name + "_" if p.name in RESERVED else p.name for p in function.params]


def scalar_overload(function):
    """The parameter that may also be a number, when there is exactly one."""
    operands = [p for p in function.params if p.type == "Operand" and p.name != "self"]
    return operands[0] if len(operands) == 1 else None


def generate(definitions, output):
    functions = read_definitions(definitions)
    declarations, bodies, methods, seen = [], [], [], set()
    for function, is_out in functions:
        name = function.cpp_name(is_out)
        args = ", ".join(argument_names(function))
        result = function.result()
        key = (name, tuple(p.cpp_type() for p in function.params))
        if key in seen:
            continue
        seen.add(key)
        declarations.append(f"MT_API {result} {name}({signature(function, is_out, True)});")
        bodies.append(
            f"{result} {name}({signature(function, is_out, False)}) {{\n"
            f'  static constinit functional::LazyOp op("{function.full_name}");\n'
            f"  const ops::Value args[] = {{{', '.join(box(p) for p in function.params)}}};\n"
            f"  return functional::call_op<{result}>(op, args);\n}}\n"
        )
        operand = scalar_overload(function)
        if operand is not None and not is_out:
            swapped = Function(
                function.name, function.overload, list(function.params), function.returns, ""
            )
            index = function.params.index(operand)
            swapped.params[index] = Param(f"Scalar {operand.name}", False)
            call = [
                f"Tensor::wrapped_number({n})" if i == index else n
                for i, n in enumerate(argument_names(function))
            ]
            declarations.append(f"MT_API {result} {name}({signature(swapped, False, True)});")
            bodies.append(
                f"{result} {name}({signature(swapped, False, False)}) {{\n"
                f"  return {name}({', '.join(call)});\n}}\n"
            )
            if is_method(function):
                methods.append((swapped, name, result))
        if is_method(function) and not is_out:
            methods.append((function, name, result))
    method_lines = []
    for function, name, result in methods:
        method_lines.append(
            f"  {result} {name}({signature(function, False, True, skip_self=True)}) const;"
        )
        args = ", ".join(["*this", *argument_names(function)[1:]])
        params = signature(function, False, False, skip_self=True)
        bodies.append(
            f"{result} Tensor::{name}({params}) const {{\n  return mindtorch::{name}({args});\n}}\n"
        )
    write(
        output / "mindtorch/functional/functions.h",
        "#pragma once\n\n#include <limits>\n\n"
        '#include "mindtorch/tensor/generator.h"\n#include "mindtorch/tensor/tensor.h"\n\n'
        "namespace mindtorch {\n\n" + "\n".join(declarations) + "\n\n}  // namespace mindtorch\n",
    )
    write(
        output / "mindtorch/functional/functions.cpp",
        '#include "mindtorch/functional/functions.h"\n\n'
        '#include "mindtorch/functional/call_op.h"\n\nnamespace mindtorch {\n\n'
        + "\n".join(bodies)
        + "\n}  // namespace mindtorch\n",
    )
    write(output / "mindtorch/tensor/tensor_methods.inc", "\n".join(method_lines) + "\n")


def box(param):
    name = param.name + "_" if param.name in RESERVED else param.name
    return f"ops::Value({name})"


def is_method(function):
    return (
        function.params
        and function.params[0].name == "self"
        and function.place == ""
        and function.name not in MEMBER_NAMES
    )


def write(path, text):
    """Leaves an unchanged file alone, so that nothing is rebuilt for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    generate(sys.argv[1], pathlib.Path(sys.argv[2]))
