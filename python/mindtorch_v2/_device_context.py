"""Where factories put tensors: `with torch.device("meta"):` and torch.set_default_device."""

import threading

from mindtorch_v2 import _C

_state = threading.local()


def enter(device):
    """What `with device:` does first."""
    stack = _state.__dict__.setdefault("stack", [])
    stack.append(_C._set_default_device(device))
    return device


def leave(device):
    """What `with device:` does last."""
    _C._set_default_device(_state.stack.pop())


def set_default_device(device):
    """New tensors go to this device when none is named; None goes back to the CPU. Holds for the
    calling thread.

    >>> torch.set_default_device("meta")
    >>> torch.empty(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    _C._set_default_device(None if device is None else _C.device(device))


def get_default_device():
    """The device of new tensors when none is named.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _C._get_default_device() or _C.device("cpu")
