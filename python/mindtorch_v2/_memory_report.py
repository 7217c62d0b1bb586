"""torch's table of memory statistics, as text."""

from mindtorch_v2 import _kinds

_WIDTH = 75
_KINDS = ("current", "peak", "allocated", "freed")

_SIZE_UNITS = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNT_UNITS = (" ", "K", "M")
_RESERVED = {"GPU": "GPU reserved memory"}  # as torch has it


def _scaled(value, reference, limit, base, units):
    """`value` in the unit in which `reference` is easy to read."""
    unit = 0
    while reference >= limit and unit < len(units) - 1:
        value //= base
        reference //= base
        unit += 1
    return value, units[unit]


def _size(value, reference):
    value, unit = _scaled(value, reference, 768 * 1024, 1024, _SIZE_UNITS)
    return f"{value:6d} {unit}"


def _count(value, reference):
    value, unit = _scaled(value, reference, 750 * 1000, 1000, _COUNT_UNITS)
    return f"{value:7d} {unit} "


def _rows(device):
    """(label, metric, formatter) of the groups with pools, then of those without."""
    pooled = (
        ("Allocated memory", "allocated_bytes", _size),
        ("Active memory", "active_bytes", _size),
        ("Requested memory", "requested_bytes", _size),
        (_RESERVED.get(device, "Reserved memory"), "reserved_bytes", _size),
        ("Non-releasable memory", "inactive_split_bytes", _size),
        ("Allocations", "allocation", _count),
        ("Active allocs", "active", _count),
        (f"{device} reserved segments", "segment", _count),
        ("Non-releasable allocs", "inactive_split", _count),
    )
    plain = (
        ("Oversize allocations", "oversize_allocations", _count),
        (f"Oversize {device} segments", "oversize_segments", _count),
    )
    return pooled, plain


def _row(label, values, references, formatter):
    cells = [formatter(*pair) for pair in zip(values, references, strict=True)]
    return f" {label:<21} | " + " | ".join(cells) + " "


def summary(stats, kind, device, abbreviated=False):
    """The table for one device. Statistics that are missing are 0."""
    row = _kinds.ROWS[kind]
    name, malloc = row.title, f"{kind}Malloc"
    pooled, plain = _rows(row.noun)

    def values(prefix):
        return [stats.get(f"{prefix}.{part}", 0) for part in _KINDS]

    def count(key):
        return stats.get(key, 0)

    title = f"PyTorch {name} memory summary, device ID {device}"
    ooms = f"{'':12}{name} OOMs: {count('num_ooms')}"
    retries = f"{'':8}{malloc} retries: {count('num_alloc_retries')}"
    lines = [
        "=" * _WIDTH,
        f"{'':18}{title}",
        "-" * _WIDTH,
        f"{ooms:<36}|{retries}",
        "=" * _WIDTH,
        f"{'Metric':^23}| Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for label, metric, formatter in pooled:
        total = values(f"{metric}.all")
        lines += ["-" * _WIDTH, _row(label, total, total, formatter)]
        if not abbreviated:
            for pool in ("large", "small"):
                part = values(f"{metric}.{pool}_pool")
                lines.append(_row(f"      from {pool} pool", part, total, formatter))
    for label, metric, formatter in plain:
        total = values(metric)
        lines += ["-" * _WIDTH, _row(label, total, total, formatter)]
    lines.append("=" * _WIDTH)
    return "".join(f"|{line:<{_WIDTH}}|\n" for line in lines)
