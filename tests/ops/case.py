"""The types of the case files: what an op case is, and how its inputs are described.

A case file holds data only. It says which samples an op takes, what NumPy says the answer is, and
how close the answer must be. `harness.py` turns that into tensors, layouts, devices and checks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
INTS = ("uint8", *SIGNED)
BOOL = ("bool",)
NUMBERS = FLOATS + INTS
ALL = NUMBERS + BOOL
INTS_AND_BOOL = INTS + BOOL
COMPLEX = ("complex64", "complex128")
PARTS = {"complex64": "float32", "complex128": "float64"}

# Largest relative and absolute distance from the oracle, by dtype of the result. Half precision
# allows one unit in the last place: the oracle itself is rounded once.
CLOSE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (8e-3, 1e-5),
    "float32": (2e-6, 1e-6),
    "float64": (1e-12, 1e-13),
    "complex64": (2e-6, 1e-6),
    "complex128": (1e-12, 1e-13),
}
EXACT: dict[str, tuple[float, float]] = {}


def loose(factor: float) -> dict[str, tuple[float, float]]:
    """CLOSE, with every distance multiplied."""
    return {name: (rtol * factor, atol * factor) for name, (rtol, atol) in CLOSE.items()}


@dataclass(frozen=True)
class T:
    """A tensor with fixed pseudo-random values in [low, high], of the case's dtype unless named.

    Unsigned and bool tensors take the part of the range they can hold. `grid` makes floats
    multiples of a step, so that results such as a remainder are exact in every precision;
    `distinct` makes all elements different. `fixed` keeps the same layout, contiguous, always.
    """

    shape: tuple[int, ...]
    low: float = -4.0
    high: float = 4.0
    grid: float = 0.0
    nonzero: bool = False
    distinct: bool = False
    dtype: str = ""
    fixed: bool = False


@dataclass(frozen=True)
class V:
    """A tensor with these very values, of the case's dtype unless one is named.

    `host` keeps it on the CPU, whatever the device.
    """

    values: Any
    dtype: str = ""
    fixed: bool = False
    host: bool = False


def index(shape: Sequence[int], size: int, low: int = 0) -> T:
    """An int64 tensor of indices into a dimension of `size`."""
    return T(tuple(shape), low, size - 1, dtype="int64")


def mask(shape: Sequence[int]) -> T:
    return T(tuple(shape), dtype="bool")


@dataclass(frozen=True)
class Dtype:
    """A dtype argument. The oracle sees the NumPy dtype it should compute in."""

    name: str


@dataclass(frozen=True)
class Sample:
    """One call: positional and keyword arguments, with T, V and Dtype in the place of values."""

    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    only: tuple[str, ...] = ()  # dtypes this sample is for; empty: all of the case's
    expandable: bool = True  # False: repeated elements would make the answer undefined
    inplace: bool = True  # False: the result does not fit into the first argument
    result: Any = None  # the result dtype of this sample, where it differs from the case's


def S(*args, **kwargs) -> Sample:
    return Sample(args, kwargs)


def only(dtypes: Sequence[str], *args, **kwargs) -> Sample:
    return Sample(args, kwargs, only=tuple(dtypes))


def once(*args, **kwargs) -> Sample:
    """A sample whose inputs must not have elements that share memory."""
    return Sample(args, kwargs, expandable=False)


@dataclass(frozen=True)
class Bad:
    """A call that must fail, with the exception class and a part of torch's text."""

    exception: type | tuple[type, ...]
    match: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    dtype: str = "float32"
    device: str | None = None  # the only one that looks at values before it computes


def bad_on_cpu(*args, **kwargs) -> Bad:
    """A call that fails because of values in a tensor, which accelerators do not look at."""
    return replace(bad(*args, **kwargs), device="cpu")


def bad(exception, match: str, *args, **kwargs) -> Bad:
    return Bad(exception, match, args, kwargs)


@dataclass(frozen=True)
class OpCase:
    """One op, everything the runner needs to know about it.

    `oracle` gets NumPy arrays in the places of tensors: float64 for every float dtype, the exact
    dtype for integers and bool, float64 for all if `result` is "float". `native=True` hands over
    the dtype itself, for ops such as nextafter.
    """

    name: str
    oracle: Callable | None
    samples: Sequence[Sample]
    dtypes: Sequence[str] = ALL
    # dtype of the result: "same" as the case's dtype, "float" (integers become the default
    # float), "sum" (integers become int64), "number" (bool becomes int64), "truth" (bool, but
    # uint8 stays), "part" (of a complex number), "complex" (the one with such parts), a dtype
    # name, or a tuple of these for several results
    result: Any = "same"
    tolerance: dict = field(default_factory=lambda: CLOSE)
    variant: str = ""
    function: str | None = ""  # path under the package; "" means name; None means no function
    method: str | None = ""  # method name; "" means name; None means no method
    inplace: bool = False
    # out=: "" where there is none; "cast": the result is cast to out's dtype where that is legal;
    # "any": where torch refuses any other dtype, so that casting and refusing are both right;
    # "loose": where torch computes in out's dtype, whatever it is
    out: str = ""
    meta: bool = True
    native: bool = False
    signed_zero: bool = False
    creation: bool = False  # takes device= and no tensors
    seeded: bool = False  # random: the seed is set before each call
    view: bool = False  # the result shares memory with the first argument
    strides: bool = True  # False: torch's strides are not required of the result
    unchecked: Sequence[str] = ()  # dtypes that the op takes but the oracle cannot compute
    optional: Sequence[str] = ()  # dtypes that torch refuses or treats oddly; ours are free
    bad: Sequence[Bad] = ()
    family: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}.{self.variant}" if self.variant else self.name

    @property
    def function_path(self) -> str | None:
        return self.name if self.function == "" else self.function

    @property
    def method_name(self) -> str | None:
        return self.name if self.method == "" else self.method

    def but(self, **changes) -> "OpCase":
        return replace(self, **changes)


def result_dtype(rule: Any, dtype: str) -> str:
    if rule == "same":
        return dtype
    if rule == "float":
        return dtype if dtype in FLOATS else "float32"
    if rule == "sum":
        return dtype if dtype in FLOATS else "int64"
    if rule == "truth":
        return "uint8" if dtype == "uint8" else "bool"
    if rule == "number":
        return "int64" if dtype == "bool" else dtype
    if rule == "part":
        return PARTS[dtype]
    if rule == "complex":
        return {part: whole for whole, part in PARTS.items()}.get(dtype, dtype)
    return rule


def float_special(*values: float) -> Sample:
    """Values where floats are odd; given to float dtypes only."""
    base = (0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5)
    return only(FLOATS, V((*base, *values)))
