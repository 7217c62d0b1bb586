"""fp32_precision of torch.backends: in which precision a library may compute with float32 numbers,
for one kind of op, for all of its ops, or for all libraries. What says "none" takes the next
one's."""

import sys

from mindtorch_v2 import _math_settings

_PRECISIONS = {
    "generic": ("ieee", "tf32", "bf16", "none"),
    "cuda": ("ieee", "tf32", "none"),
    "mkldnn": ("ieee", "tf32", "bf16", "none"),
}
_KNOWN = _PRECISIONS["generic"]
# None: never set, and "tf32" where nothing else was.
_settings = {
    ("generic", "all"): "none",
    ("cuda", "all"): "none",
    ("cuda", "matmul"): "none",
    ("cuda", "conv"): None,
    ("cuda", "rnn"): None,
    ("mkldnn", "all"): "none",
    ("mkldnn", "matmul"): "none",
    ("mkldnn", "conv"): "none",
    ("mkldnn", "rnn"): "none",
}


def precision_of(library, op):
    """What holds for the ops of a library."""
    own = _settings[library, op]
    for value in (own, _settings[library, "all"], _settings["generic", "all"]):
        if value not in (None, "none"):
            return value if value in _PRECISIONS[library] else "none"
    return "tf32" if own is None else "none"


def check(library, op, value):
    """Raises torch's errors where the library has no such precision."""
    if not isinstance(value, str):
        raise TypeError(
            "_set_fp32_precision_setter(): incompatible function arguments. The following "
            "argument types are supported:\n    1. (arg0: str, arg1: str, arg2: str) -> str\n\n"
            f"Invoked with: '{library}', '{op}', {value!r}"
        )
    if value not in _KNOWN:
        raise RuntimeError(f"Unknown precision: {value}")
    if value not in _PRECISIONS[library]:
        raise RuntimeError(f"backend '{library}' does not support precision '{value}'")


def keep(library, op, value):
    """Sets what holds for the ops of a library."""
    check(library, op, value)
    _settings[library, op] = value


# What torch.set_float32_matmul_precision calls otherwise.
_OF_PRODUCTS = {
    "highest": {"cuda": "ieee", "mkldnn": "ieee"},
    "high": {"cuda": "tf32", "mkldnn": "tf32"},
    "medium": {"cuda": "tf32", "mkldnn": "bf16"},
}


def keep_for_products(precision):
    """Sets what holds for products of matrices."""
    for library, value in _OF_PRODUCTS[precision].items():
        keep(library, "matmul", value)


def set_precision(name, library, op, value):
    """The same, and tells devices where it is about products of matrices; `name` is for texts."""
    before = precision_of("cuda", "matmul")
    keep(library, op, value)
    setting = f"{name}.fp32_precision = {value!r}"
    after = precision_of("cuda", "matmul")
    if before != after:
        precision = "high" if after in ("tf32", "bf16") else "highest"
        _math_settings.set_reduces_float32(setting, precision, 4)
    elif value in ("tf32", "bf16"):
        _math_settings.warn_once(setting, "only products of matrices have other precisions here", 3)


class Precision:
    """Settings of one kind of op of a library."""

    def __init__(self, name, library, op):
        self.__dict__.update(_name=name, _library=library, _op=op)

    @property
    def fp32_precision(self):
        """The precision of float32 numbers."""
        return precision_of(self._library, self._op)

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        set_precision(self._name, self._library, self._op, value)


def add_precision(module, library):
    """From now on the module has fp32_precision, for all ops of the library."""
    place = sys.modules[module["__name__"]]
    name = place.__name__.replace("mindtorch_v2", "torch", 1)

    class WithPrecision(type(place)):
        fp32_precision = property(
            lambda _: precision_of(library, "all"),
            lambda _, value: set_precision(name, library, "all", value),
        )

    place.__class__ = WithPrecision
