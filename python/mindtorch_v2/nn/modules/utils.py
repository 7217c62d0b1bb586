"""What several layers need."""

from mindtorch_v2.nn import functional as F


def per_dimension(value, count):
    """value as a tuple with one entry per dimension."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count


def required(name):
    """The function torch.nn.functional.<name>, which must be there when a layer runs."""
    function = getattr(F, name, None)
    if function is None:
        raise NotImplementedError(f"torch.nn.functional.{name} is not there yet")
    return function
