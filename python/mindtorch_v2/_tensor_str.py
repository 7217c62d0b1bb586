"""repr() of a tensor, character for character as torch prints it.

The values shown are read with one tolist(): of the whole tensor, or, above the threshold, of a
strided view that holds only its corners. Everything after that is plain Python on lists.
"""

import textwrap

import mindtorch_v2 as torch

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}
_options = {**_PROFILES["default"], "sci_mode": None}


class _PrinterOptions:
    """The options as attributes."""


PRINT_OPTS = _PrinterOptions()
PRINT_OPTS.__dict__ = _options


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Change how tensors print. A profile ("default", "short", "full") is applied first; sci_mode
    is True, False, or None to let the values decide, and every call sets it anew."""
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    _options.update((name, value) for name, value in given.items() if value is not None)
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """The current options, as a new dict."""
    return dict(_options)


class printoptions:
    """A with-block in which set_printoptions(**kwargs) holds."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __enter__(self):
        self._saved = get_printoptions()
        set_printoptions(**self._kwargs)

    def __exit__(self, *exc_info):
        set_printoptions(**self._saved)


def _real_format(values):
    """A function from float to text that suits all `values` at once, and the width it pads to."""
    precision = _options["precision"]
    # nan, inf and zero neither choose the mode nor widen the columns.
    shown = [v for v in values if v and v - v == 0]
    if not shown:
        return lambda v: f"{v:.0f}." if v - v == 0 else f"{v:.0f}", 1
    sizes = [abs(v) for v in shown]
    smallest, largest = min(sizes), max(sizes)
    integral = all(v.is_integer() for v in shown)
    scientific = _options["sci_mode"]
    if scientific is None:
        scientific = (
            largest / smallest > 1000.0 or largest > 1.0e8 or (not integral and smallest < 1.0e-4)
        )
    style = f".{precision}e" if scientific else ".0f" if integral else f".{precision}f"
    width = max(len(format(v, style)) for v in shown)
    if scientific or not integral:
        return lambda v: f"{v:{width}{style}}", width
    width += 1  # the point that marks a whole number as a float
    return lambda v: (f"{v:.0f}." if v - v == 0 else f"{v:.0f}").rjust(width), width


def _complex_format(values):
    real_text, real_width = _real_format([v.real for v in values])
    imag_text, imag_width = _real_format([v.imag for v in values])

    def text(v):
        imag = imag_text(v.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{real_text(v.real)}{sign}{imag}j"

    return text, real_width + imag_width + 1


def _choose_format(dtype, values):
    if dtype.is_floating_point:
        return _real_format(values)
    if dtype.is_complex:
        return _complex_format(values)
    width = max((len(str(v)) for v in values), default=0)
    return lambda v: str(v).rjust(width), width


def _corner_view(t, edge):
    """Rank and data of `t` with every long dimension of size n cut to its ends: such a dimension
    becomes two, (2, edge), whose outer stride jumps from the first items to the last ones. Costs
    one view, whatever the rank."""
    sizes, strides = [], []
    for size, stride in zip(t.shape, t.stride(), strict=True):
        if size > 2 * edge:
            sizes += (2, edge)
            strides += (stride * (size - edge), stride)
        else:
            sizes.append(size)
            strides.append(stride)
    return t.as_strided(sizes, strides, t.storage_offset())


def _join_ends(data, shape, edge):
    """Undoes the split of _corner_view on the nested lists that came out of it."""
    if not shape:
        return data
    if shape[0] > 2 * edge:
        data = data[0] + data[1]
    if len(shape) == 1:
        return data
    return [_join_ends(item, shape[1:], edge) for item in data]


def _flatten(data, rank):
    if rank == 0:
        return [data]
    for _ in range(rank - 1):
        data = [item for row in data for item in row]
    return data


def _row_text(data, indent, text, width, gap):
    per_line = max(1, (_options["linewidth"] - indent) // (width + 2))
    items = [text(v) for v in data]
    if gap is not None:
        items.insert(gap, " ...")
        if gap == 0:
            items = ["..."]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(data, shape, indent, text, width, edge):
    """`edge` is None when nothing is left out."""
    if not shape:
        return text(data)
    gap = edge if edge is not None and shape[0] > 2 * edge else None
    if len(shape) == 1:
        return _row_text(data, indent, text, width, gap)
    rows = [_nested_text(row, shape[1:], indent + 1, text, width, edge) for row in data]
    if gap is not None:
        rows.insert(gap, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(rows) + "]"


def _values_text(t, indent):
    shape = tuple(t.shape)
    edge = _options["edgeitems"]
    if shape and t.numel() > _options["threshold"]:
        if edge == 0:
            # No value is shown, so there is none to choose a format by.
            return _nested_text([], shape, indent, str, 0, 0)
        data = _join_ends(_corner_view(t, edge).tolist(), shape, edge)
    else:
        data = t.tolist()
        edge = None
    text, width = _choose_format(t.dtype, _flatten(data, len(shape)))
    return _nested_text(data, shape, indent, text, width, edge)


def _suffixes(t, is_meta):
    dtype, default = t.dtype, torch.get_default_dtype()
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    empty = t.numel() == 0
    # The shape is printed where the values do not show it.
    if is_meta or (t.dim() != 1 if empty else _options["edgeitems"] == 0):
        suffixes.append(f"size={tuple(t.shape)}")
    implied = [default]
    if not (is_meta or empty):
        # These are what literals give; complex64 goes with float32 and complex128 with float64.
        implied += [torch.int64, torch.bool]
        if dtype.is_complex and dtype == default.to_complex():
            implied.append(dtype)
    if dtype not in implied:
        suffixes.append(f"dtype={dtype}")
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{t.grad_fn.name()}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _str(t, *, tensor_contents=None):
    """What repr(t) returns. A subclass shows its own name in place of "tensor"; a caller may give
    the text between the brackets itself. Inside vmap it shows all samples."""
    if (info := torch._C._batch_info(t)) is not None:
        value, dim, level = info
        shown = textwrap.indent(_str(value), "    ")
        return f"BatchedTensor(lvl={level}, bdim={dim}, value=\n{shown}\n)"
    cls = type(t)
    plain = cls is torch.Tensor or cls.__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{cls.__name__}("
    is_meta = t.device.type == "meta"
    suffixes = _suffixes(t, is_meta)
    if tensor_contents is not None:
        body = tensor_contents
    elif is_meta:
        body = "..."
    elif t.numel() == 0:
        body = "[]"
    else:
        values = t.detach() if t.requires_grad else t
        body = _values_text(values, len(prefix))
    return _with_suffixes(prefix + body, suffixes, len(prefix))


def _with_suffixes(text, suffixes, indent, new_line=False):
    """The text, the suffixes in as many lines as they take, and the closing bracket."""
    # One more than the characters after the last newline; torch counts so, and wrapping depends
    # on it.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or column + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
        new_line = False
    return text + ")"


def sparse_str(t, components, nnz):
    """What repr() of a sparse tensor returns: its components, by name, and what else it is."""
    suffixes = [] if t.device.type == "cpu" else [f"device='{t.device}'"]
    suffixes += [f"size={tuple(t.shape)}", f"nnz={nnz}"]
    if t.dtype not in (torch.get_default_dtype(), torch.int64, torch.bool):
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={t.layout}")
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{t.grad_fn.name()}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    indent = len("tensor(")
    texts = [_component_text(name, each, indent) for name, each in components.items()]
    body = (",\n" + " " * indent).join(texts)
    return _with_suffixes("tensor(" + body, suffixes, indent, new_line=t.is_sparse)


def _component_text(name, t, indent):
    prefix = f"{name}=tensor("
    is_meta = t.device.type == "meta"
    hidden = is_meta or t.numel() == 0
    body = "..." if is_meta else "[]" if hidden else _values_text(t, indent + len(prefix))
    return prefix + body + (f", size={tuple(t.shape)})" if hidden else ")")


def parameter_repr(parameter):
    """What repr() of an nn.Parameter returns."""
    return "Parameter containing:\n" + _str(parameter)


# torch's names of these, which classes of tensors print themselves by.


def _tensor_str(self, indent):
    """The values of a tensor as text."""
    return _values_text(self.detach(), indent)


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """The text with suffixes behind it, and the closing bracket."""
    return _with_suffixes(tensor_str, suffixes, indent, force_newline)


_str_intern = _str
