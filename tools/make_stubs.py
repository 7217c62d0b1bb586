"""Writes the type stubs of the Python package, docs/ops.md and docs/options.md.

usage: make_stubs.py

    python/mindtorch_v2/_C.pyi              the native module: class Tensor with every method
    python/mindtorch_v2/__init__.pyi        the functions, as torch.add
    python/mindtorch_v2/nn/functional.pyi   torch.nn.functional
    python/mindtorch_v2/special.pyi         torch.special; linalg.pyi and fft.pyi likewise
    python/mindtorch_v2/return_types.pyi    the named tuples
    python/mindtorch_v2/npu/__init__.pyi    torch.npu, and torch.cuda likewise
    docs/ops.md                             one row per op
    docs/options.md                         one row per environment variable

What nanobind bound is described by its stubgen (stub_native.py). What neither can tell (CPython
types such as dtypes and storages, torch's types of public functions) is in the texts of the other
tools/stub_*.py. The files are checked in; CI fails when they differ from what this writes.
"""

import ast
import inspect
import keyword
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "mindtorch_v2"
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tools"))

import make_options  # noqa: E402
import stub_devices  # noqa: E402
import stub_native  # noqa: E402
import stub_tensor  # noqa: E402
import stub_texts  # noqa: E402

# Inside class Tensor and in the package int, float and bool are methods and dtypes.
TYPES = {
    "Tensor": "Tensor",
    "Operand": "Tensor | _Number",
    "Tensor[]": "Sequence[Tensor]",
    "Scalar[]": "Sequence[_Number]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "float[]": "Sequence[_float]",
    "ScalarType": "_dtype",
    "Device": "_DeviceLike",
    "MemoryFormat": "_memory_format",
    "str": "str",
    "Generator": "Generator",
}
RETURNS = {
    "Tensor": "Tensor",
    "Tensor[]": "tuple[Tensor, ...]",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "None": "None",
}
OPTIONS = (
    "layout: _layout | None = None",
    "pin_memory: _bool | None = False",
    "requires_grad: _bool | None = False",
)


class Form:
    """One signature in a stub."""

    def __init__(self, op, out, is_method):
        self.op, self.out, self.is_method = op, out, is_method

    def result(self):
        returns = self.op["returns"]
        if not returns:  # what it wrote
            return "Sequence[Tensor]"
        if len(returns) == 1:
            return RETURNS[returns[0][1]]
        if returns[0][0]:
            return f"return_types.{self.op['name']}"
        return f"tuple[{', '.join(RETURNS[kind] for _, kind in returns)}]"

    def texts(self, name):
        """The def lines: two where a list of ints may be given one by one."""
        params = [p for p in self.op["params"] if not self.is_method or p["name"] != "self"]
        if self.is_method and len(params) == len(self.op["params"]):
            params = params[1:]
        lists = [self._parameters(params, variadic=False)]
        positional = [p for p in params if not p["keyword_only"]]
        if positional and positional[-1]["type"] in ("int[]", "Tensor[]"):
            last = positional[-1]
            # A list of fixed size takes one number for all; only a free one takes them in turn,
            # and only where nothing else is positional.
            if last["type"] == "int[]" and last["list_size"] == 0 and len(positional) == 1:
                lists.append(self._parameters(params, variadic=True))
            elif last["type"] == "Tensor[]" and last["list_size"] > 0:
                lists.append(self._parameters(params, variadic=True))
        for parameters in lists:
            yield f"def {name}({', '.join(parameters)}) -> {self.result()}: ..."

    def _parameters(self, params, variadic):
        result = ["self"] if self.is_method else []
        keyword_only = False
        positional = [p for p in params if not p["keyword_only"]]
        for param in params:
            if param["keyword_only"] and not keyword_only:
                keyword_only = True
                if not variadic:
                    result.append("*")
            if variadic and positional and param is positional[-1]:
                kind = "_int" if param["type"] == "int[]" else "Tensor"
                result.append(f"*{self._name(param)}: {kind}")
                continue
            result.append(self._parameter(param))
        extra = self._extra(params)
        if extra and not keyword_only and not variadic:
            result.append("*")
        return result + extra

    def _extra(self, params):
        kinds = {p["type"] for p in params if p["keyword_only"]}
        extra = list(OPTIONS) if {"ScalarType", "Device"} <= kinds else []
        if self.out:
            several = len(self.op["returns"]) > 1
            kind = "Sequence[Tensor] | None" if several else "Tensor | None"
            extra.insert(0, f"out: {kind} = None")
        return extra

    def _name(self, param):
        is_input = param["name"] == "self" and param["type"] != "Tensor[]"
        name = "input" if is_input else param["name"]
        return name + "_" if keyword.iskeyword(name) else name

    def _parameter(self, param):
        if param["type"] == "int[]":
            kind = "Sequence[_int]" if param["list_size"] == 0 else "_int | Sequence[_int]"
        else:
            kind = TYPES[param["type"]]
        default = param["default"]
        if param["optional"]:
            kind += " | None"
        if default is None:
            return f"{self._name(param)}: {kind}"
        if not _is_literal(default):
            default = "..."
        return f"{self._name(param)}: {kind} = {default}"


def _is_literal(text):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return not isinstance(value, list)


def read_ops():
    from mindtorch_v2 import _C

    return _C._op_schemas()


def read_functions():
    from mindtorch_v2 import _C

    return _C._pointwise_functions()


def read_options():
    from mindtorch_v2 import options

    return options.describe()


def forms_by_name(ops, place):
    """{Python name: its signatures} for place "function", "method" or "nn"."""
    outs = {op["base"] for op in ops if op["form"] == "out"}
    names = {}
    for op in ops:
        if not op[place] or op["form"] == "out":
            continue
        # An op ending in _ may have the out= form of its functional sibling.
        has_out = op["full_name"] in outs if op["form"] == "primary" else False
        form = Form(op, has_out and place != "method" and not op["name"].endswith("_"), False)
        form.is_method = place == "method"
        for name in [op["name"], *op["aliases"]]:
            names.setdefault(name, []).append(form)
    return dict(sorted(names.items()))


def write_functions(names, indent="", skip=()):
    lines = []
    for name, forms in names.items():
        if name in skip or keyword.iskeyword(name):
            continue
        texts = list(dict.fromkeys(text for form in forms for text in form.texts(name)))
        for text in texts:
            if len(texts) > 1:
                lines.append(f"{indent}@overload")
            lines.append(indent + text)
    return "\n".join(lines) + "\n"


def native_stub(ops):
    from mindtorch_v2 import _C

    methods = forms_by_name(ops, "method")
    # Written by hand where an op's schema says less than the method.
    skip = set(re.findall(r"def (\w+)\(", stub_tensor.TENSOR_CLASS))
    body = stub_tensor.TENSOR_CLASS + write_functions(methods, "    ", skip)
    text = stub_texts.NATIVE_HEAD + body + stub_texts.NATIVE_TAIL + stub_devices.PIPELINE
    written = set(re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE))
    return text + stub_native.native_names(_C, written)


def package_stub(ops):
    from mindtorch_v2 import _SUBMODULE_PREFIXES

    functions = {
        name: forms
        for name, forms in forms_by_name(ops, "function").items()
        if not name.startswith(_SUBMODULE_PREFIXES)
    }
    skip = set(re.findall(r"\b(\w+) as \1\b", stub_texts.PACKAGE_HEAD + stub_texts.PACKAGE_TAIL))
    names = write_functions(functions, skip=skip)
    return stub_texts.PACKAGE_HEAD + names + stub_texts.PACKAGE_TAIL


def nn_functional_stub(ops):
    from mindtorch_v2.nn import functional

    written = {
        name: value
        for name, value in sorted(vars(functional).items())
        if inspect.isfunction(value) and not name.startswith("_")
    }
    nn = forms_by_name(ops, "nn")
    plain = forms_by_name(ops, "function")
    nn.update((n, plain[n]) for n in vars(functional) if n in plain and n not in written)
    text = stub_texts.FUNCTIONAL_HEAD + write_functions(dict(sorted(nn.items())), skip=written)
    for name, function in written.items():
        result = stub_texts.RESULTS.get(name, "Tensor")
        text += f"def {name}({', '.join(_python_parameters(function))}) -> {result}: ...\n"
    return text


def _python_parameters(function):
    keyword_only = False
    for name, param in inspect.signature(function).parameters.items():
        if param.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        special = stub_texts.SPECIAL_PARAMETERS
        kind = special.get((function.__name__, name)) or stub_texts.PARAMETERS[name]
        if param.default is inspect.Parameter.empty:
            yield f"{name}: {kind}"
        else:
            optional = " | None" if param.default is None else ""
            default = "..." if "torch." in repr(param.default) else repr(param.default)
            yield f"{name}: {kind}{optional} = {default}"


def device_module_stub(kind):
    """torch.npu or torch.cuda, whose functions are made when the module is imported."""
    import importlib

    module = importlib.import_module(f"mindtorch_v2.{kind}")
    text = stub_devices.MODULE_HEAD
    only_npu = ("doctor", "settings", "simulator") if kind == "npu" else ()
    for submodule in sorted(("amp", "graphs", "memory", "random", "streams", *only_npu)):
        text += f"from mindtorch_v2.{kind} import {submodule} as {submodule}\n"
    for name in module.settings.__all__ if only_npu else ():
        text += f"from mindtorch_v2.{kind}.settings import {name} as {name}\n"
    classes = {"kind": kind, "graph": f"{kind.upper()}Graph"}
    text += stub_devices.MODULE_CLASSES.format(**classes)
    for name, function in sorted(vars(module).items()):
        if name.startswith("_") or not inspect.ismethod(function):
            continue
        parameters = ", ".join(_device_parameters(function))
        text += f"def {name}({parameters}) -> {stub_devices.RESULTS.get(name, 'None')}: ...\n"
    return text


def _device_parameters(function):
    for name, param in inspect.signature(function).parameters.items():
        default = "" if param.default is inspect.Parameter.empty else f" = {param.default!r}"
        yield f"{name}: {stub_devices.PARAMETERS[name]}{default}"


def named(functions, prefix):
    """The functions of a submodule: special_expit is torch.special.expit."""
    return {
        name.removeprefix(prefix): forms
        for name, forms in functions.items()
        if name.startswith(prefix) and not name.endswith("_")
    }


def linalg_stub(ops):
    names = named(forms_by_name(ops, "function"), "linalg_")
    return stub_texts.LINALG_HEAD + write_functions(dict(sorted(names.items())))


def fft_stub(ops):
    names = named(forms_by_name(ops, "function"), "fft_")
    return stub_texts.FFT_HEAD + write_functions(dict(sorted(names.items())))


def special_stub(ops):
    functions = forms_by_name(ops, "function")
    names = named(functions, "special_")
    names["psi"] = functions["digamma"]
    names.update((name, functions[name]) for name in ("softmax", "log_softmax"))
    return stub_texts.SPECIAL_HEAD + write_functions(dict(sorted(names.items())))


def return_types_stub(ops):
    text = stub_texts.RETURN_TYPES_HEAD
    seen = set()
    for op in sorted(ops, key=lambda op: op["name"]):
        if op["form"] != "primary" or len(op["returns"]) < 2 or not op["returns"][0][0]:
            continue
        if op["name"] not in seen:
            seen.add(op["name"])
            text += f"\nclass {op['name']}(NamedTuple):\n"
            text += "".join(f"    {name}: Tensor\n" for name, _ in op["returns"])
    return text


def read_support():
    """The dtypes that the op cases test each op in, by device: {name: {device: dtypes}}."""
    sys.path.insert(0, str(ROOT))
    from tests.ops.cases import all_cases
    from tests.ops.unsupported import is_unsupported

    support = {}
    for case in all_cases():
        by_device = support.setdefault(case.name, {"cpu": set(), "npu": set()})
        for device, dtypes in by_device.items():
            dtypes.update(
                dtype
                for dtype in case.dtypes
                if not all(is_unsupported(case, dtype, one, device) for one in case.samples)
            )
    return support


def document(ops, support):
    """docs/ops.md: one row per op as it was defined, by family."""
    families = {}
    forms = {}
    for op in ops:
        forms.setdefault(op["base"], []).append(op)
        if op["form"] == "primary":
            families.setdefault(pathlib.Path(op["file"]).stem, []).append(op)
    text = stub_texts.OPS_HEAD
    for family, members in sorted(families.items()):
        text += f"\n## {family}\n\n| op | schema | devices | dtypes | what it does |\n"
        text += "| --- | --- | --- | --- | --- |\n"
        for op in sorted(members, key=lambda op: op["full_name"]):
            text += _row(op, forms[op["full_name"]], support)
    return text


_FLOATS = {"float16", "bfloat16", "float32", "float64"}
_INTEGERS = {"uint8", "int8", "int16", "int32", "int64"}
_DTYPE_SETS = {
    "all": _FLOATS | _INTEGERS | {"bool"},
    "all but bool": _FLOATS | _INTEGERS,
    "floats": _FLOATS,
    "integers": _INTEGERS,
    "integers, bool": _INTEGERS | {"bool"},
}


def document_functions(functions):
    """The functions of numbers, with formulas: the second part of docs/ops.md."""
    text = stub_texts.FUNCTIONS_HEAD
    for function in functions:
        gradients = [
            f"{operand}: `{gradient}`"
            for operand, gradient in zip("abc", function["gradients"], strict=False)
            if gradient
        ]
        cells = [
            f"`{function['name']}`",
            _dtypes(function["dtypes"]),
            f"`{function['formula']}`",
            "<br>".join(gradients) or "none",
        ]
        text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return text


def _dtypes(dtypes):
    names = {frozenset(known): name for name, known in _DTYPE_SETS.items()}
    order = sorted(_DTYPE_SETS["all"])
    return names.get(frozenset(dtypes)) or ", ".join(each for each in order if each in dtypes)


def _tested_dtypes(op, support):
    """What the cases of an op's names test; where an NPU takes fewer, both."""
    found = [support[name] for name in (op["name"], *op["aliases"]) if name in support]
    on = {device: set().union(*(each[device] for each in found)) for device in ("cpu", "npu")}
    text = _dtypes(on["cpu"])
    if on["npu"] != on["cpu"] and ("npu" in op["devices"] or op["kind"] in ("view", "composite")):
        text += f"; npu: {_dtypes(on['npu'])}"
    return text


def _row(op, forms, support):
    names = [f"`{op['name']}`"]
    for form in forms:
        if form["form"] == "out":
            names.append("`out=`")
        elif form["form"] != "primary":
            names.append(f"`{form['name']}`")
    names += [f"`{alias}`" for alias in op["aliases"]]
    if op["kind"] == "view":
        devices = "all (a view)"
    elif op["kind"] == "composite":
        devices = "all (composite)"
    else:
        devices = ", ".join([*op["devices"], *(["meta"] if op["kind"] != "dynamic" else [])])
    private = not (op["function"] or op["method"] or op["nn"])
    what = op["doc"] or ("internal" if private else "")
    cells = [", ".join(names), f"`{op['schema']}`", devices, _tested_dtypes(op, support), what]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main():
    ops = read_ops()
    stubs = {
        PACKAGE / "_C.pyi": native_stub(ops),
        PACKAGE / "__init__.pyi": package_stub(ops),
        PACKAGE / "nn" / "functional.pyi": nn_functional_stub(ops),
        PACKAGE / "linalg.pyi": linalg_stub(ops),
        PACKAGE / "fft.pyi": fft_stub(ops),
        PACKAGE / "special.pyi": special_stub(ops),
        PACKAGE / "return_types.pyi": return_types_stub(ops),
        PACKAGE / "npu" / "__init__.pyi": device_module_stub("npu"),
        PACKAGE / "cuda" / "__init__.pyi": device_module_stub("cuda"),
    }
    for path, text in stubs.items():
        path.write_text(text)
    files = [str(path) for path in stubs]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *files], check=True)
    (ROOT / "docs" / "ops.md").write_text(
        document(ops, read_support()) + document_functions(read_functions())
    )
    (ROOT / "docs" / "options.md").write_text(make_options.document(read_options()))


if __name__ == "__main__":
    main()
