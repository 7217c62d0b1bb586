"""torch.compiler: there is no compiler, so is_compiling() and the like return False."""

__all__ = ["disable", "is_compiling", "is_dynamo_compiling", "is_exporting"]


def is_compiling():
    """False.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """False."""
    return False


def is_exporting():
    """False."""
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself: it is never compiled.

    >>> torch.compiler.disable(len)([1])
    1
    """
    return fn if fn is not None else lambda function: function
