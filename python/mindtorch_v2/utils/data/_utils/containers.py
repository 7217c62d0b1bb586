"""Functions applied to the elements of dicts, lists and tuples, which keep their class."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence


def like_mapping(original, values):
    """A mapping of the class of `original` with these values; a dict where that cannot be made."""
    try:
        if isinstance(original, MutableMapping):
            # The copy keeps what else the object holds: the factory of a defaultdict.
            result = copy.copy(original)
            result.update(values)
            return result
        return type(original)(values)
    except TypeError:
        return values


def like_sequence(original, values):
    """A sequence of the class of `original` with these values; a list where that cannot be made."""
    try:
        if isinstance(original, MutableSequence):
            result = copy.copy(original)
            for index, value in enumerate(values):
                result[index] = value
            return result
        return type(original)(values)
    except TypeError:
        return values


def is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def is_mapping(value):
    return isinstance(value, Mapping)
