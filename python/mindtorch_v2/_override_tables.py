"""Which functions classes and modes can handle, and what they are called."""

import functools
import inspect
import keyword
import types

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2._overridable import NOT_HANDLED

# torch.<name>: functions of tensors. Modes handle factories, too.
_NAMESPACES = ("functional", "", "nn.functional", "nn.init", "linalg", "fft", "special")
# Ops of the last three are torch.<prefix>name, too: our own names for them.
_PREFIXES = ("linalg_", "fft_", "special_")
_OpFunction = type(_C._functions["add"])
_FACTORIES = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided "
    "eye fftfreq from_dlpack from_numpy frombuffer full hamming_window hann_window kaiser_window "
    "linspace logspace normal ones rand rand_like randint randint_like randn randn_like randperm "
    "range rfftfreq scalar_tensor tensor tril_indices triu_indices vander zeros".split()
)


def _namespace(name):
    import importlib
    import importlib.util

    full = "mindtorch_v2" + (f".{name}" if name else "")
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def _is_handled(value):
    return isinstance(value, _OpFunction) or _C._is_overridable(value)


@functools.cache
def _tables():
    """({namespace: functions}, {function: name}, functions that are not handled by classes)."""
    import mindtorch_v2 as torch

    found, names, ignored = {}, {}, set()
    for namespace in _NAMESPACES:
        module = _namespace(namespace)
        if module is None:
            continue
        prefix = "torch." + (f"{namespace}." if namespace else "")
        for name in sorted(set(dir(module))):
            value = getattr(module, name, None)
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                continue
            if not namespace and name.startswith(_PREFIXES):
                continue
            if getattr(value, "__module__", "").startswith("mindtorch_v2") or value in names:
                names.setdefault(value, prefix + name)
            if not _is_handled(value) or name in _FACTORIES:
                if not namespace:
                    names.setdefault(value, prefix + name)
                    ignored.add(value)
                continue
            functions = found.setdefault(module, [])
            if names[value] == prefix + name:
                functions.append(value)
    methods, attributes = _of_tensor(ignored)
    found[Tensor] = list(methods)
    names |= {value: f"torch.Tensor.{name}" for value, name in methods.items()}
    for attribute, name in attributes.items():
        found[attribute] = [attribute.__get__]
        names[attribute.__get__] = f"torch.Tensor.{name}.__get__"
        names[attribute.__set__] = f"torch.Tensor.{name}.__set__"
    ignored.update((torch.is_tensor, torch.is_storage, torch.typename))
    return found, names, ignored


def _of_tensor(ignored):
    """(methods, attributes) of class Tensor: each with its name."""
    methods, attributes = {}, {}
    for name in sorted(dir(Tensor)):
        value = inspect.getattr_static(Tensor, name)
        if name in NOT_HANDLED or isinstance(value, (staticmethod, classmethod)):
            try:
                ignored.add(getattr(Tensor, name))
            except TypeError:  # __hash__ of what it is has none
                continue
        elif isinstance(value, (types.GetSetDescriptorType, property)):
            if name not in ("__dict__", "__weakref__"):
                attributes[value] = name
        elif callable(value) and name not in dir(object):
            methods.setdefault(value, name)
        elif callable(value) and value is not inspect.getattr_static(object, name, None):
            methods.setdefault(value, name)
    return methods, attributes


def get_overridable_functions():
    """The functions that classes can handle, by the module or class they are in.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {place: list(functions) for place, functions in _tables()[0].items()}


def get_ignored_functions():
    """Functions that classes cannot handle; modes see those among them that make tensors.

    >>> torch.zeros in torch.overrides.get_ignored_functions()
    True
    """
    return set(_tables()[2])


@functools.cache
def get_default_nowrap_functions():
    """Functions whose results stay what they are, whatever the class of the arguments.

    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}


def resolve_name(f):
    """The name a function has in torch, or None.

    >>> torch.overrides.resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    """
    name = _tables()[1].get(f)
    return getattr(f, "_resolved_name", None) if name is None else name


def is_tensor_method_or_property(func):
    """Whether a function is a method of Tensor or reads or sets an attribute of it.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    return func in _tensor_functions() or func.__name__ in ("__get__", "__set__")


@functools.cache
def _tensor_functions():
    return frozenset(_tables()[0][Tensor])


# --- signatures -------------------------------------------------------------------------------


def _default(text):
    if text in ("None", None):
        return None
    values = {"True": True, "False": False}
    if text in values:
        return values[text]
    try:
        return float(text) if set(text) & set(".e") else int(text)
    except ValueError:
        return text.strip("\"'")


def _schema_parameters(schema, is_method):
    kinds = inspect.Parameter
    made = []
    has_default = False
    for param in schema["params"]:
        name = "input" if param["name"] == "self" and not is_method else param["name"]
        name = name + "_" if keyword.iskeyword(name) else name  # random_(from=)
        kind = kinds.KEYWORD_ONLY if param["keyword_only"] else kinds.POSITIONAL_OR_KEYWORD
        has_default = has_default or param["default"] is not None
        default = _default(param["default"]) if has_default else kinds.empty
        made.append(kinds(name, kind, default=default))
    if not is_method:
        made.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return made


@functools.cache
def _schemas():
    found = {}
    for schema in _C._op_schemas():
        if schema["form"] != "out":
            for name in (schema["name"], *schema["aliases"]):
                found.setdefault(name, schema)
    return found


def _signature(function):
    schema = _schemas().get(getattr(function, "__name__", ""))
    if isinstance(function, _OpFunction) and schema is not None:
        is_method = function.__qualname__.startswith("Tensor.")
        return inspect.Signature(_schema_parameters(schema, is_method))
    try:
        return inspect.signature(function)
    except ValueError:
        kinds = inspect.Parameter
        return inspect.Signature(
            [
                kinds("self", kinds.POSITIONAL_ONLY),
                kinds("args", kinds.VAR_POSITIONAL),
                kinds("kwargs", kinds.VAR_KEYWORD),
            ]
        )


def _stand_in(function):
    def override(*args, **kwargs):
        return -1

    override.__name__ = getattr(function, "__name__", "override")
    override.__signature__ = _signature(function)
    return override


@functools.cache
def get_testing_overrides():
    """For every function that classes can handle, one with the same parameters that returns -1.

    >>> torch.overrides.get_testing_overrides()[torch.add](1, 2)
    -1
    """
    functions = [function for part in _tables()[0].values() for function in part]
    return {function: _stand_in(function) for function in functions}
