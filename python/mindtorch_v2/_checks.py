"""torch._check and its like: what programs that torch traces say instead of assert."""

import mindtorch_v2 as torch
from mindtorch_v2.overrides import handle_torch_function, has_torch_function_unary


def _assert(condition, message):
    """assert condition, message."""
    if has_torch_function_unary(condition):
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


def _text(message, default):
    if message is None:
        return default
    if not callable(message):
        raise TypeError("message must be a callable")
    return str(message())


def _check_with(error_type, cond, message):
    if isinstance(cond, torch.Tensor):
        raise TypeError("cond must be a bool, but got a tensor")
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(
            _text(
                message,
                "Expected cond to be True, but got False. (Could this error message be improved? "
                "If so, please report an enhancement request to PyTorch.)",
            )
        )


def _check(cond, message=None):
    """RuntimeError with message() unless cond.

    >>> torch._check(True, lambda: "never asked for")
    """
    _check_with(RuntimeError, cond, message)


def _check_value(cond, message=None):
    """ValueError with message() unless cond."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError with message() unless cond."""
    _check_with(TypeError, cond, message)


def _check_index(cond, message=None):
    """IndexError with message() unless cond."""
    _check_with(IndexError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError with message() unless cond."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless i can be a size: not negative, and at most `max`."""
    _check(i >= 0 and (max is None or i <= max), message)
