"""torch.profiler.itt: marks for Intel's VTune, which is not used here."""

from contextlib import contextmanager

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available():
    """False.

    >>> torch.profiler.itt.is_available()
    False
    """
    return False


def _refuse(*args):
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg):
    """RuntimeError: ITT is not here."""
    _refuse(msg)


def range_pop():
    """RuntimeError: ITT is not here."""
    _refuse()


def mark(msg):
    """RuntimeError: ITT is not here."""
    _refuse(msg)


@contextmanager
def range(msg, *args, **kwargs):
    """RuntimeError: ITT is not here."""
    range_push(msg.format(*args, **kwargs))
    yield
