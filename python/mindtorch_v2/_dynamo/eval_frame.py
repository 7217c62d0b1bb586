"""What torch.compile makes of a module."""

import mindtorch_v2 as torch
from mindtorch_v2.compiler import disable, in_pipeline

__all__ = ["OptimizedModule", "disable"]


class OptimizedModule(torch.nn.Module):
    """A module whose calls run in a pipeline. `_orig_mod` is the module itself: its attributes are
    this one's, too.

    >>> compiled = torch.compile(torch.nn.Linear(2, 1))
    >>> compiled.in_features, list(compiled.state_dict())
    (2, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    _OWN = frozenset(("_orig_mod", "_backend", "training"))

    def __init__(self, mod, backend=None):
        super().__init__()
        self._orig_mod = mod
        self._backend = backend
        self.training = mod.training

    @property
    def forward(self):
        return in_pipeline(self._orig_mod.__call__, self._backend)

    def train(self, mode=True):
        self.training = mode
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name):
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in self._OWN or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
