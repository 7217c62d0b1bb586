"""torch's dispatch keys: the names, sets of them, and the guard that leaves some out."""

import contextlib
import enum

import mindtorch_v2 as torch
from mindtorch_v2._library.operators import autocast_keys, autograd_keys, kernel_keys

DispatchKey = enum.Enum(
    "DispatchKey",
    ["Undefined", *kernel_keys(), *sorted(autograd_keys()), *autocast_keys()],
    module="mindtorch_v2._C",
)
DispatchKey.__doc__ = "The keys by which kernels of operators are registered."


class DispatchKeySet:
    """Some dispatch keys."""

    def __init__(self, *keys):
        self._keys = frozenset(keys) - {DispatchKey.Undefined}

    def __or__(self, other):
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other):
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def add(self, key):
        """The set with one more key."""
        return self | DispatchKeySet(key)

    def remove(self, key):
        """The set without a key."""
        return self - DispatchKeySet(key)

    def has(self, key):
        """Whether a key is in the set."""
        return key in self._keys

    def __repr__(self):
        names = ", ".join(key.name for key in DispatchKey if key in self._keys)
        return f"DispatchKeySet({names})"


class _ExcludeDispatchKeyGuard:
    """with _ExcludeDispatchKeyGuard(keys): operators run without what those keys stand for. Of
    the keys only those of autocast can be left out.
    """

    def __init__(self, keys):
        names = {key.name for key in keys._keys}
        known = autocast_keys()
        if not names <= set(known):
            raise NotImplementedError(f"only autocast can be left out, not {keys}")
        self._devices = [known[name] for name in names]

    def __enter__(self):
        self._blocks = contextlib.ExitStack()
        for device in self._devices:
            if torch.amp.is_autocast_available(device):
                self._blocks.enter_context(torch.autocast(device, enabled=False))

    def __exit__(self, *error):
        return self._blocks.__exit__(*error)
