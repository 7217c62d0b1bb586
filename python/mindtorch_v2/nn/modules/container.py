"""Modules that hold modules: Sequential, ModuleList, ModuleDict."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from mindtorch_v2.nn.modules.module import Module, _indented
from mindtorch_v2.nn.modules.parameters import (  # torch's files look for them here
    ParameterDict,
    ParameterList,
)

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Numbered(Module):
    """Modules under the names "0", "1", ..."""

    def _key(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def _renumber(self, modules):
        object.__setattr__(self, "_modules", {str(i): module for i, module in enumerate(modules)})

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Runs modules one after the other; each gets what the one before returned.

    >>> torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten())
    Sequential(
      (0): ReLU()
      (1): Flatten(start_dim=1, end_dim=-1)
    )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def _key(self, idx):
        # The names may have been given, and modules may have been taken out.
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return list(self._modules)[idx]

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx):
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._renumber(self._modules.values())

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)!s} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)!s} is given."
            )
        return self.extend(list(other))

    def _check_times(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other):
        self._check_times(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_times(other)
        return self.extend([module for _ in range(other - 1) for module in self])

    def insert(self, index, module):
        """Puts a module before the one at the index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index if index >= 0 else index + len(self), module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Adds the modules of another Sequential at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules; a module that has it knows them all.

    >>> torch.nn.ModuleList([torch.nn.ReLU() for _ in range(2)])
    ModuleList(
      (0-1): 2 x ReLU()
    )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._key(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx):
        keys = range(len(self))[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, str(key))
        self._renumber(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        combined = ModuleList()
        for module in (*self, *other):
            combined.append(module)
        return combined

    def insert(self, index, module):
        """Puts a module before the one at the index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an "
                f"iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        # Equal neighbours are shown once.
        groups = []
        for i, text in enumerate(map(repr, self)):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        if not groups:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in groups
        ]
        inner = "".join(f"\n  {_indented(line)}" for line in lines)
        return f"{self._get_name()}({inner}\n)"


class ModuleDict(Module):
    """Modules by name; a module that has it knows them all.

    >>> torch.nn.ModuleDict({"act": torch.nn.ReLU()})["act"]
    ReLU()
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds modules from a mapping or from (name, module) pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an "
                f"iterable of key/value pairs, but got {type(modules).__name__}"
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            for key, module in modules.items():
                self[key] = module
            return
        for i, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ModuleDict update sequence element #{i} should be Iterable; is"
                    f"{type(pair).__name__}"
                )
            pair = list(pair)
            if len(pair) != 2:
                raise ValueError(
                    f"ModuleDict update sequence element #{i} has length {len(pair)}; 2 is required"
                )
            self[pair[0]] = pair[1]
