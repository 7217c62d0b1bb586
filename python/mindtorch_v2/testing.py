"""torch.testing: assert_close and make_tensor.

assert_close works in two passes. The first walks both structures and lists the leaves to compare;
what is wrong with the call itself (lengths, keys, types, tolerances) is raised there. The second
compares the leaves in order and reports the first that differs; `msg` applies to that one only.
"""

import sys

import mindtorch_v2 as torch

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# (rtol, atol); a dtype that is not listed must match exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_TOLERANCES_BY_TYPE = {float: "float64", complex: "complex128"}


class _Failure(Exception):
    """What assert_close will raise: an exception class, its text, and where it happened."""

    def __init__(self, error_type, text, path):
        super().__init__(text)
        self.error_type = error_type
        self.text = text
        self.path = path

    def message(self):
        if not self.path:
            return self.text
        item = "".join(f"[{key!r}]" for key in self.path)
        return f"{self.text}\n\nThe failure occurred for item {item}"


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, NumPy arrays, Python numbers, None, and sequences or mappings of these. Both
    tolerances are given or neither; the defaults depend on the dtype. `msg` replaces the error
    text, or, when callable, makes it from the generated one.
    """
    __tracebackhide__ = True
    options = {
        "allow_subclasses": allow_subclasses,
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    leaves = []
    try:
        _collect(actual, expected, (), options, leaves)
    except _Failure as failure:
        raise failure.error_type(failure.message()) from None
    for compare, left, right, path in leaves:
        try:
            compare(left, right, path, options)
        except _Failure as failure:
            text = failure.message()
            if isinstance(msg, str):
                text = msg
            elif callable(msg):
                text = msg(text)
            raise failure.error_type(text) from None


def _collect(actual, expected, path, options, leaves):
    from collections.abc import Mapping, Sequence

    if _both(actual, expected, Sequence) and not _either(actual, expected, str):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Failure(AssertionError, text, path)
        for index in range(len(actual)):
            _collect(actual[index], expected[index], (*path, index), options, leaves)
    elif _both(actual, expected, Mapping):
        missing = [key for key in expected if key not in actual]
        additional = [key for key in actual if key not in expected]
        if missing or additional:
            text = (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                f"Additional keys in the actual mapping: {_ordered(additional)}"
            )
            raise _Failure(AssertionError, text, path)
        for key in _ordered(expected):
            _collect(actual[key], expected[key], (*path, key), options, leaves)
    else:
        leaves.append(_leaf(actual, expected, path, options))


def _both(actual, expected, types):
    return isinstance(actual, types) and isinstance(expected, types)


def _either(actual, expected, types):
    return isinstance(actual, types) or isinstance(expected, types)


def _ordered(keys):
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _leaf(actual, expected, path, options):
    """(compare function, actual, expected, path) for two values that are no containers."""
    if actual is None or expected is None:
        return _compare_none, actual, expected, path
    left, right = _python_value(actual), _python_value(expected)
    if _both(left, right, bool):
        return _compare_booleans, left, right, path
    if _both(left, right, (int, float, complex)) and not _either(left, right, bool):
        _check_tolerances(path, options)
        return _compare_numbers, left, right, path
    related = type(actual) is type(expected) or (
        options["allow_subclasses"]
        and (isinstance(actual, type(expected)) or isinstance(expected, type(actual)))
    )
    if related:
        left, right = _tensor_or_none(actual), _tensor_or_none(expected)
        if left is not None and right is not None:
            _check_tolerances(path, options)
            return _compare_tensors, left, right, path
    text = (
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )
    raise _Failure(TypeError, text, path)


def _python_value(value):
    # Without NumPy loaded there can be no NumPy scalar.
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)):
        return value.item()
    return value


def _tensor_or_none(value):
    if isinstance(value, torch.Tensor):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        try:
            return torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            return None
    return None


def _check_tolerances(path, options):
    rtol, atol = options["rtol"], options["atol"]
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}."
        raise _Failure(ValueError, text, path)


def _tolerances(options, *names):
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def _compare_none(actual, expected, path, options):
    if actual is not expected:
        raise _Failure(AssertionError, f"None mismatch: {actual} is not {expected}", path)


def _compare_booleans(actual, expected, path, options):
    if actual is not expected:
        raise _Failure(AssertionError, f"Booleans mismatch: {actual} is not {expected}", path)


def _compare_numbers(actual, expected, path, options):
    if options["check_dtype"] and type(actual) is not type(expected):
        text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
        raise _Failure(AssertionError, text, path)
    names = (_TOLERANCES_BY_TYPE.get(type(v), "int64") for v in (actual, expected))
    rtol, atol = _tolerances(options, *names)
    if actual == expected or (options["equal_nan"] and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected) and difference != float("inf"):
        return
    raise _Failure(AssertionError, _scalars_text(actual, expected, rtol, atol), path)


def _scalars_text(actual, expected, rtol, atol):
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected != 0 else float("inf")
    return (
        f"Scalars are not {_wanted(rtol, atol)}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{_allowed(rtol, atol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, atol, rtol)}"
    )


def _wanted(rtol, atol):
    return "equal" if rtol == 0 and atol == 0 else "close"


def _allowed(rtol, atol, tolerance):
    return "" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)"


def _compare_tensors(actual, expected, path, options):
    _compare_attributes(actual, expected, path, options)
    rtol, atol = _tolerances(options, _dtype_name(actual.dtype), _dtype_name(expected.dtype))
    if actual.device.type == "meta" or expected.device.type == "meta":
        return
    # The CPU compares, whatever device the values came from: a device is not asked about itself.
    actual, expected = actual.detach().cpu(), expected.detach().cpu()
    if actual.dtype != expected.dtype:
        dtype = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.layout is not torch.strided or expected.layout is not torch.strided:
        return _compare_sparse(actual, expected, path, options)
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    if matches.all().item():
        return
    if actual.dim() == 0:
        text = _scalars_text(actual.item(), expected.item(), rtol, atol)
    else:
        text = _tensors_text(actual, expected, matches, rtol, atol)
    raise _Failure(AssertionError, text, path)


_COMPONENTS = {
    torch.sparse_coo: ("_nnz", "_indices", "_values"),
    torch.sparse_csr: ("_nnz", "crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("_nnz", "ccol_indices", "row_indices", "values"),
    torch.sparse_bsr: ("_nnz", "crow_indices", "col_indices", "values"),
    torch.sparse_bsc: ("_nnz", "ccol_indices", "row_indices", "values"),
}
_LAYOUT_NAMES = {each: str(each)[-3:].upper() for each in _COMPONENTS}


def _compare_sparse(actual, expected, path, options):
    """Component by component; other layouts, where that is allowed, as strided tensors."""
    layout = actual.layout
    if layout is not expected.layout:
        return _compare_tensors(actual.to_dense(), expected.to_dense(), path, options)
    if layout is torch.sparse_coo and actual.is_coalesced() != expected.is_coalesced():
        text = (
            "The values for attribute 'is_coalesced()' do not match: "
            f"{actual.is_coalesced()} != {expected.is_coalesced()}."
        )
        raise _Failure(AssertionError, text, path)
    for name in _COMPONENTS[layout]:
        own, wanted = getattr(actual, name)(), getattr(expected, name)()
        kind = f"Sparse {_LAYOUT_NAMES[layout]} {name.lstrip('_')}"
        if name == "_nnz":
            if own != wanted:
                text = (
                    f"The number of specified values in sparse {_LAYOUT_NAMES[layout]} tensors "
                    f"does not match: {own} != {wanted}"
                )
                raise _Failure(AssertionError, text, path)
            continue
        try:
            _compare_tensors(own, wanted, path, options)
        except _Failure as failure:
            failure.text = failure.text.replace("Tensor-likes", kind, 1)
            raise


def _compare_attributes(actual, expected, path, options):
    attributes = [("shape", tuple(actual.shape) != tuple(expected.shape))]
    if options["check_layout"]:
        attributes.append(("layout", actual.layout != expected.layout))
    if options["check_stride"]:
        attributes.append(("stride()", actual.stride() != expected.stride()))
    if options["check_device"]:
        attributes.append(("device", actual.device != expected.device))
    if options["check_dtype"]:
        attributes.append(("dtype", actual.dtype != expected.dtype))
    for name, differs in attributes:
        if differs:
            left, right = (
                t.stride() if name == "stride()" else getattr(t, name) for t in (actual, expected)
            )
            text = f"The values for attribute '{name}' do not match: {left} != {right}."
            raise _Failure(AssertionError, text, path)


def _dtype_name(dtype):
    return str(dtype).rpartition(".")[2]


def _tensors_text(actual, expected, matches, rtol, atol):
    total = matches.numel()
    mismatches = total - int(matches.sum().item())
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        # Small integers would overflow and bool cannot be subtracted.
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    lines = [
        f"Tensor-likes are not {_wanted(rtol, atol)}!\n",
        f"Mismatched elements: {mismatches} / {total} ({mismatches / total:.1%})",
    ]
    for name, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        values = values.masked_fill(matches, 0).reshape(-1)
        position = int(values.argmax().item())
        index = _unravel(position, tuple(matches.shape))
        lines.append(
            f"Greatest {name} difference: {values[position].item()} at index {index}"
            f"{_allowed(rtol, atol, tolerance)}"
        )
    return "\n".join(lines)


def _unravel(position, shape):
    index = []
    for size in reversed(shape):
        position, remainder = divmod(position, size)
        index.append(remainder)
    return tuple(reversed(index))


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The older form of assert_close: converts its inputs, and does not compare dtypes."""
    import warnings

    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated. Use `torch.testing.assert_close()`.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, torch.Tensor):
        actual = torch.as_tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        defaults = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5)}
        defaults[torch.float64] = (1e-5, 1e-8)
        pairs = [defaults.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = (max(pair[i] for pair in pairs) for i in range(2))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random values in [low, high), drawn from the CPU's default generator.

    The default interval is [0, 2) for bool, [0, 10) for uint8, [-9, 10) for other integers and
    [-9, 9) for the rest. `noncontiguous` takes every second element of a buffer twice as large;
    `exclude_zero` moves each zero to the dtype's smallest positive value.
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    shape = tuple(shape)
    is_integral = not (dtype.is_floating_point or dtype.is_complex)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and is_integral:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got dtype={dtype}"
        )
    low, high = _interval(dtype, is_integral, low, high)

    count = 1
    for size in shape:
        count *= size
    # One element has no second one to skip.
    spread = noncontiguous and count > 1
    drawn_shape = (*shape[:-1], 2 * shape[-1]) if spread else shape
    result = _draw(drawn_shape, dtype, is_integral, low, high)
    if exclude_zero:
        smallest = 1 if is_integral else torch.finfo(dtype).tiny
        result = result.masked_fill(result == 0, smallest)
    result = result.to(device)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if requires_grad:
        result.requires_grad_()
    return result


def _interval(dtype, is_integral, low, high):
    """Bounds to draw between: given or default, then cut to what the dtype can hold."""
    if dtype == torch.bool:
        lowest, highest, defaults = 0, 2, (0, 2)
    elif is_integral:
        limits = torch.iinfo(dtype)
        lowest, highest = limits.min, limits.max + (limits.bits < 64)
        defaults = (0, 10) if lowest == 0 else (-9, 10)
    else:
        limits = torch.finfo(dtype)
        lowest, highest, defaults = limits.min, limits.max, (-9, 9)
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or (low == high and is_integral):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low == high:
        import warnings

        warnings.warn(
            "`low == high` in `torch.testing.make_tensor` is deprecated for floating and complex "
            "types. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif high <= lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{lowest}, {highest})"
        )
    low, high = (min(max(bound, lowest), highest) for bound in (low, high))
    if is_integral:
        # Whole numbers of [low, high); -(-x // 1) rounds up and keeps large integers exact.
        low, high = int(-(-low // 1)), int(-(-high // 1))
    return low, high


def _draw(shape, dtype, is_integral, low, high):
    if is_integral:
        return torch.randint(low, high, shape, dtype=torch.int64).to(dtype)
    if dtype.is_complex:
        part = torch.float64 if dtype == torch.complex128 else torch.float32
        parts = (_draw(shape, part, False, low, high) for _ in range(2))
        return torch.complex(*parts).to(dtype)
    fraction = torch.rand(shape, dtype=torch.float64)
    # Not low + fraction * (high - low): the difference overflows for the widest intervals.
    result = (fraction * high + (1 - fraction) * low).to(dtype)
    # Rounding to a narrower dtype can give `high` itself.
    return result.masked_fill(result >= high, low)
