"""Modules that hold parameters: ParameterList, ParameterDict."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value):
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class _ParameterHolder(Module):
    def _described(self, key, value):
        if not isinstance(value, Tensor):
            return f"  ({key}): Object of type: {type(value).__name__}"
        size = "x".join(str(size) for size in value.shape)
        place = f" ({value.device})" if value.device.type != "cpu" else ""
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        text = f"{kind} containing: [{self._element_kind(value)} of size {size}{place}]"
        return f"  ({key}): {text}"

    def extra_repr(self):
        return "\n".join(self._described(key, value) for key, value in self._shown())

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_ParameterHolder):
    """A list of parameters; tensors that are put in become parameters.

    >>> torch.nn.ParameterList([torch.ones(2)])[0]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _key(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            made = type(self)()
            for i in range(*idx.indices(len(self))):
                made.append(self[i])
            return made
        return getattr(self, self._key(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values):
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an "
                f"iterable, but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def _shown(self):
        return enumerate(self)

    def _element_kind(self, value):
        return value.dtype


class ParameterDict(_ParameterHolder):
    """Parameters by name; tensors that are put in become parameters.

    >>> list(torch.nn.ParameterDict({"scale": torch.ones(1)}))
    ['scale']
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is "
                f"not a string (type is '{type(key).__name__}'). Open an issue on "
                "github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        name = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """Another one with the same parameters."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key, default=None):
        """The value of the key, which becomes the default if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Takes all out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last out and returns (name, value)."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of the key, or the default."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new one with these names, all of the same value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """(name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds values from a mapping or from (name, value) pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an "
                f"iterable of key/value pairs, but got {type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = list(parameters.items())
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = []
            for i, pair in enumerate(parameters):
                if not isinstance(pair, Iterable):
                    raise TypeError(
                        f"ParameterDict update sequence element #{i} should be Iterable; is "
                        f"{type(pair).__name__}"
                    )
                if len(pair) != 2:
                    raise ValueError(
                        f"ParameterDict update sequence element #{i} has length {len(pair)}; "
                        "2 is required"
                    )
                pairs.append(pair)
        for key, value in pairs:
            self[key] = value

    def _shown(self):
        return self.items()

    def _element_kind(self, value):
        return torch.typename(value)
