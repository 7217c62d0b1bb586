"""What several layers need."""


def per_dimension(value, count):
    """value as a tuple with one entry per dimension."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count


def _ntuple(count, name="parse"):
    """A function that makes a value a tuple of `count`; programs import these by torch's names."""

    def parse(value):
        return per_dimension(value, count)

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")
