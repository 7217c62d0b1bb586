"""Numbers that may be symbols while torch traces a program. Nothing is traced here: they are plain
numbers, and no object is a torch.SymInt.
"""

import math

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbol:
    def __init__(self, node):
        raise TypeError(f"there is no {type(self).__name__}: nothing is traced")


class SymInt(_Symbol):
    """An int that a tracer does not know yet."""


class SymFloat(_Symbol):
    """A float that a tracer does not know yet."""


class SymBool(_Symbol):
    """A bool that a tracer does not know yet."""


def sym_float(a):
    """float(a).

    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def sym_int(a):
    """int(a).

    >>> torch.sym_int(2.7)
    2
    """
    return int(a)


def sym_ite(b, t, f):
    """t if b, else f.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError("sym_ite needs a bool, and two values of one type")
    return t if b else f


def sym_max(a, b):
    """The larger, as a float where one of them is.

    >>> torch.sym_max(1, 2.5)
    2.5
    """
    return _of_common_type(max(a, b), a, b)


def sym_min(a, b):
    """The smaller, as a float where one of them is.

    >>> torch.sym_min(1, 2.5)
    1.0
    """
    return _of_common_type(min(a, b), a, b)


def _of_common_type(value, a, b):
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def sym_not(a):
    """not a.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_sqrt(a):
    """math.sqrt(a).

    >>> torch.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_sum(args):
    """The sum of a list.

    >>> torch.sym_sum([1, 2])
    3
    """
    return sum(args)
