"""Calls of modules as ranges of a profiler."""

from collections import Counter

from mindtorch_v2 import _C


class ModuleRanges:
    """While installed, each call of a module is a range named "nn.Module: Linear_0": its class, and
    a number for each module of the class."""

    def __init__(self):
        self._handles = []
        self._names = {}
        self._counts = Counter()
        self._open = []

    def install(self):
        from mindtorch_v2.nn.modules import module

        self._handles = [
            module.register_module_forward_pre_hook(self._begin),
            module.register_module_forward_hook(self._end, always_call=True),
        ]

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name(self, module):
        if id(module) not in self._names:
            kind = type(module).__name__
            # The module stays alive: another could get its id.
            self._names[id(module)] = (f"nn.Module: {kind}_{self._counts[kind]}", module)
            self._counts[kind] += 1
        return self._names[id(module)][0]

    def _begin(self, module, args):
        self._open.append((module, _C._profiler_range(self._name(module), "")))

    def _end(self, module, args, output):
        # A module whose pre-hooks raise has begun nothing, or has not ended.
        while self._open:
            begun, opened = self._open.pop()
            if opened is not None:
                opened.end()
            if begun is module:
                return
