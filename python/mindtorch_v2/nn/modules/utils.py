"""What several layers need."""

from mindtorch_v2.nn import functional as F


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


def required(name):
    """The function torch.nn.functional.<name>, which must be there when a layer runs."""
    function = getattr(F, name, None)
    if function is None:
        raise NotImplementedError(f"torch.nn.functional.{name} is not there yet")
    return function
