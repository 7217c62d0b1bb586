"""Turns op cases into tensors, runs them, and compares with the oracle.

`Runtime` is one implementation on one device in one mode: the package under test, or torch as a
second oracle. Everything here works through the public Python names only.
"""

import contextlib
import warnings
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.ops.case import COMPLEX, FLOATS, Dtype, OpCase, Sample, T, V, result_dtype

LAYOUTS = ("contiguous", "transposed", "sliced", "expanded", "mixed")
FILLER = 77  # what lies between the elements of a sliced tensor; must never change


# --- values -------------------------------------------------------------------------------------


def round_bfloat16(array: np.ndarray) -> np.ndarray:
    """Rounds to the nearest bfloat16, ties to even. The result is float32."""
    single = np.asarray(array).astype(np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
    return np.where(np.isnan(single), single, rounded.view(np.float32)).astype(np.float32)


def storage_dtype(name: str) -> np.dtype:
    """The NumPy dtype in which values of a dtype are kept on this side."""
    return np.dtype("float32" if name == "bfloat16" else name)


def cast(array: np.ndarray, name: str) -> np.ndarray:
    """Rounds values to a dtype, in its storage dtype."""
    with np.errstate(all="ignore"):
        if name == "bfloat16":
            # Through float32 first, as every kernel does.
            return round_bfloat16(array)
        return np.asarray(array).astype(storage_dtype(name))


def random_values(spec: T, name: str, key: str) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    shape = tuple(spec.shape)
    count = int(np.prod(shape, dtype=np.int64))
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if spec.distinct:
        flat = rng.permutation(count) - (0 if name == "uint8" else count // 2)
        return cast(flat.reshape(shape), name)
    low, high = spec.low, spec.high
    if name in COMPLEX:
        values = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
    elif name in FLOATS:
        values = rng.uniform(low, high, shape)
        if spec.grid:
            values = np.round(values / spec.grid) * spec.grid
    else:
        bounds = np.iinfo(storage_dtype(name))
        first, last = int(max(np.ceil(low), bounds.min)), int(min(np.floor(high), bounds.max))
        values = rng.integers(first, max(first, last), shape, endpoint=True)
    values = cast(values, name)
    if spec.nonzero:
        values = np.where(values == 0, np.ones_like(values), values)
    return values


@dataclass(frozen=True)
class Array:
    """Values of one tensor argument on the NumPy side."""

    values: np.ndarray
    dtype: str
    fixed: bool
    host: bool = False

    def for_oracle(self, case: OpCase) -> np.ndarray:
        if case.native:
            return self.values
        if self.dtype in COMPLEX:
            return self.values.astype(np.complex128)
        if self.dtype in FLOATS:
            return self.values.astype(np.float64)
        if case.result == "float":
            return self.values.astype(np.float64)
        return self.values


def expand_values(values: np.ndarray) -> np.ndarray:
    """The same shape with all elements along the last long dimension equal."""
    for dim in reversed(range(values.ndim)):
        if values.shape[dim] > 1:
            first = np.take(values, [0], axis=dim)
            return np.ascontiguousarray(np.broadcast_to(first, values.shape))
    return values


def map_values(kind, change, value):
    """Applies `change` to every instance of `kind` inside lists, tuples and dicts."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, str):
        return type(value)(map_values(kind, change, item) for item in value)
    if isinstance(value, dict):
        return {name: map_values(kind, change, item) for name, item in value.items()}
    return value


def build_arrays(case: OpCase, sample: Sample, dtype: str, layout: str = "contiguous"):
    """Replaces T and V by Arrays. Returns args and kwargs."""
    number = iter(range(1000))

    def build(spec):
        name = spec.dtype or dtype
        if isinstance(spec, V):
            values = cast(np.asarray(spec.values), name)
        else:
            values = random_values(spec, name, f"{case.label}/{next(number)}/{spec.shape}")
        if layout == "expanded" and not spec.fixed:
            values = expand_values(values)
        return Array(values, name, spec.fixed, isinstance(spec, V) and spec.host)

    return map_values((T, V), build, sample.args), map_values((T, V), build, sample.kwargs)


# --- one implementation -------------------------------------------------------------------------


class Runtime:
    def __init__(self, module, device: str = "cpu", mode: str = "eager"):
        self.module = module
        self.device = device
        self.mode = mode

    def dtype(self, name: str):
        return getattr(self.module, name)

    def dtype_name(self, tensor) -> str:
        return str(tensor.dtype).removeprefix("torch.")

    def running(self):
        if self.mode == "pipeline":
            return self.module.pipeline()
        return contextlib.nullcontext()

    def find(self, path: str):
        found = self.module
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def from_array(self, values: np.ndarray, dtype: str):
        tensor = self.module.from_numpy(np.array(values, order="C", copy=True))
        if dtype == "bfloat16":
            tensor = tensor.to(self.module.bfloat16)
        elif self.mode == "pipeline":
            tensor = tensor.clone()  # ops on an ndarray's memory run at once
        return tensor if self.device == "cpu" else tensor.to(self.device)

    def to_array(self, tensor) -> np.ndarray:
        tensor = tensor.resolve_conj()
        if self.dtype_name(tensor) == "bfloat16":
            tensor = tensor.to(self.module.float32)
        return tensor.cpu().numpy().copy()

    def empty(self, dtype: str):
        return self.module.empty(0, dtype=self.dtype(dtype), device=self.device)

    def make(self, array: Array, layout: str = "contiguous"):
        """A tensor with these values, stored as the layout says; and the tensor that owns the
        memory."""
        values, dtype = array.values, array.dtype
        rank = values.ndim
        if array.host:
            base = Runtime(self.module).from_array(values, dtype)
            return base, base
        if array.fixed or layout == "contiguous":
            base = self.from_array(values, dtype)
            return base, base
        if layout == "transposed":
            if rank < 2:
                return self.make(array, "contiguous")
            base = self.from_array(np.ascontiguousarray(values.T), dtype)
            return base.permute(*reversed(range(rank))), base
        if layout == "sliced":
            if rank == 0:
                base = self.from_array(np.array([1, values, 1], values.dtype), dtype)
                return base[1], base
            filled = np.full([2 * size + 1 for size in values.shape], FILLER).astype(values.dtype)
            cut = (slice(1, None, 2),) * rank
            filled[cut] = values
            base = self.from_array(filled, dtype)
            return base[cut], base
        if layout == "expanded":
            for dim in reversed(range(rank)):
                if values.shape[dim] > 1:
                    base = self.from_array(np.take(values, [0], axis=dim), dtype)
                    return base.expand(*values.shape), base
            return self.make(array, "contiguous")
        raise ValueError(layout)

    def arguments(self, args, kwargs, layout: str = "contiguous"):
        """Turns Arrays into tensors and Dtypes into dtypes."""
        cycle = iter(("transposed", "contiguous", "sliced") * 100)

        def build(item):
            if isinstance(item, Dtype):
                return self.dtype(item.name)
            chosen = next(cycle) if layout == "mixed" else layout
            return self.make(item, chosen)[0]

        kinds = (Array, Dtype)
        return map_values(kinds, build, args), map_values(kinds, build, kwargs)

    def first_arguments(self, case: OpCase):
        """Those of the case's first sample, in float32 where it takes that; None without one."""
        dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
        for _, sample in samples_for(case, dtype):
            return self.arguments(*build_arrays(case, sample, dtype))
        return None

    def call(self, case: OpCase, args, kwargs):
        """The function form, or the method form where torch has no function."""
        if case.seeded:
            self.module.manual_seed(1234)
        if case.creation and self.device != "cpu":
            kwargs = {"device": self.device, **kwargs}
        with self.running():
            if case.function_path is None:
                return getattr(args[0], case.method_name)(*args[1:], **kwargs)
            return self.find(case.function_path)(*args, **kwargs)

    def call_method(self, name: str, args, kwargs):
        with self.running():
            return getattr(args[0], name)(*args[1:], **kwargs)

    def is_tensor(self, value) -> bool:
        return isinstance(value, self.module.Tensor)


# --- comparison ---------------------------------------------------------------------------------


def as_tuple(result) -> tuple:
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def expected_dtypes(case: OpCase, sample: Sample, dtype: str, count: int) -> list[str]:
    rule = sample.result or case.result
    rules = rule if isinstance(rule, tuple) else (rule,) * count
    return [result_dtype(one, dtype) for one in rules]


def given_dtypes(sample: Sample, dtype: str) -> set[str]:
    """The dtypes of all tensors that a call is given on a device, and those it asks for."""
    found = {dtype}

    def look(item):
        if isinstance(item, Dtype):
            found.add(item.name)
        elif not (isinstance(item, V) and item.host):
            found.add(item.dtype or dtype)
        return item

    map_values((T, V, Dtype), look, (sample.args, sample.kwargs))
    return found


def dtypes_of(case: OpCase, sample: Sample, dtype: str) -> set[str]:
    """The same, and those of its results."""
    rule = sample.result or case.result
    rules = rule if isinstance(rule, tuple) else (rule,)
    return given_dtypes(sample, dtype) | {result_dtype(one, dtype) for one in rules}


def oracle_results(case: OpCase, sample: Sample, dtype: str, args, kwargs) -> list[np.ndarray]:
    """What NumPy says, rounded to the dtypes the results must have."""

    def open_array(item):
        if isinstance(item, Dtype):
            return np.dtype("float64") if item.name in FLOATS else np.dtype(item.name)
        return item.for_oracle(case)

    kinds = (Array, Dtype)
    np_args, np_kwargs = map_values(kinds, open_array, args), map_values(kinds, open_array, kwargs)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = as_tuple(case.oracle(*np_args, **np_kwargs))
    names = expected_dtypes(case, sample, dtype, len(found))
    assert len(names) == len(found), f"{case.label}: oracle gave {len(found)} results"
    return [cast(np.asarray(item), name) for item, name in zip(found, names, strict=True)]


def differs(actual: np.ndarray, expected: np.ndarray, limits, signed_zero=False) -> str | None:
    """Says how two arrays differ, or None. NaN equals NaN."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.size == 0:
        return None
    if expected.dtype.kind == "c":
        wrong = np.zeros(expected.shape, bool)
        size = np.abs(expected)
        for part, want in ((actual.real, expected.real), (actual.imag, expected.imag)):
            rtol, atol = limits
            with np.errstate(all="ignore"):
                near = np.abs(part - want) <= atol + rtol * size
            wrong |= ~(near | (part == want) | (np.isnan(part) & np.isnan(want)))
    elif expected.dtype.kind != "f":
        wrong = actual != expected
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        rtol, atol = limits
        with np.errstate(all="ignore"):
            near = np.abs(a - e) <= atol + rtol * np.abs(e)
        near |= a == e
        near |= np.isnan(a) & np.isnan(e)
        if signed_zero:
            near &= (a != 0) | (e != 0) | (np.signbit(a) == np.signbit(e))
        wrong = ~near
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    got, want = actual[first], expected[first]
    return f"{int(wrong.sum())} of {wrong.size} wrong; at {first} got {got!r}, expected {want!r}"


def limits_for(case: OpCase, *dtypes: str) -> tuple[float, float]:
    """The loosest tolerance of the named dtypes: a float16 sum into float64 is float16's."""
    found = [case.tolerance.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def check_results(runtime: Runtime, case, sample, dtype, results, expected) -> str | None:
    results = as_tuple(results)
    if len(results) != len(expected):
        return f"{len(results)} results, expected {len(expected)}"
    names = expected_dtypes(case, sample, dtype, len(expected))
    for number, (result, want, name) in enumerate(zip(results, expected, names, strict=True)):
        where = f"result {number}: " if len(expected) > 1 else ""
        if not runtime.is_tensor(result):
            return f"{where}{type(result).__name__} instead of a tensor"
        if runtime.dtype_name(result) != name:
            return f"{where}dtype {result.dtype}, expected {name}"
        if result.device.type != runtime.device:
            return f"{where}on {result.device}, expected {runtime.device}"
        actual = runtime.to_array(result)
        if tuple(result.shape) != actual.shape:
            return f"{where}shape {tuple(result.shape)} but {actual.shape} in NumPy"
        text = differs(actual, want, limits_for(case, name), case.signed_zero)
        if text:
            return where + text
    return None


def significant_strides(tensor) -> tuple:
    """Strides that address anything: those of dimensions longer than one, of non-empty tensors."""
    if tensor.numel() == 0:
        return ()
    return tuple(
        stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1
    )


def overlaps_itself(tensor) -> bool:
    """Whether two elements of a small tensor share memory."""
    places = {
        sum(i * s for i, s in zip(place, tensor.stride(), strict=True))
        for place in np.ndindex(*tensor.shape)
    }
    return len(places) < tensor.numel()


def snapshot(runtime: Runtime, args, kwargs) -> list:
    """Bytes and versions of all tensor arguments, to show later that nothing changed."""
    found = []

    def look(tensor):
        found.append((tensor, runtime.to_array(tensor).tobytes(), tensor._version))
        return tensor

    map_values(runtime.module.Tensor, look, args)
    map_values(runtime.module.Tensor, look, kwargs)
    return found


def changed(runtime: Runtime, before: list) -> str | None:
    for number, (tensor, data, version) in enumerate(before):
        if runtime.to_array(tensor).tobytes() != data:
            return f"tensor argument {number} was changed"
        if tensor._version != version:
            return f"the version of tensor argument {number} went up"
    return None


def samples_for(case: OpCase, dtype: str):
    for number, sample in enumerate(case.samples):
        if not sample.only or dtype in sample.only:
            yield number, sample


def any_empty(args, kwargs) -> bool:
    found = []
    map_values(Array, found.append, args)
    map_values(Array, found.append, kwargs)
    return any(array.values.size == 0 for array in found)


def layouts_for(case: OpCase, sample: Sample) -> tuple[str, ...]:
    specs = []
    map_values((T, V), specs.append, sample.args)
    map_values((T, V), specs.append, sample.kwargs)
    free = [spec for spec in specs if not spec.fixed]
    if not free:
        return ("contiguous",)
    shapes = [np.shape(s.values) if isinstance(s, V) else tuple(s.shape) for s in free]
    layouts = ["contiguous", "sliced"]
    if any(len(shape) > 1 for shape in shapes):
        layouts.append("transposed")
    if len(free) > 1:
        layouts.append("mixed")
    if sample.expandable and any(size > 1 for shape in shapes for size in shape):
        layouts.append("expanded")
    return tuple(layouts)


class Findings:
    """Collects what went wrong in the many calls of one test."""

    def __init__(self):
        self.texts = []

    def add(self, text: str | None, **where: Any):
        if text:
            place = " ".join(f"{name}={value}" for name, value in where.items())
            self.texts.append(f"[{place}] {text}")

    def report(self):
        if self.texts:
            shown = "\n".join(self.texts[:12])
            more = len(self.texts) - 12
            raise AssertionError(shown + (f"\nand {more} more" if more > 0 else ""))
