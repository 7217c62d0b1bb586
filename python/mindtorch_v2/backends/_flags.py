"""Settings that torch.backends keeps as attributes of modules."""

import contextlib
import sys
import types


def flags_context(module, defaults):
    """flags(): a context in which the module's settings are others; those not named have
    `defaults`, as in torch."""

    @contextlib.contextmanager
    def flags(**settings):
        """Other settings inside; those that are not named have their defaults."""
        unknown = set(settings) - set(defaults)
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {unknown.pop()!r}")
        place = sys.modules[module["__name__"]]
        before = {name: module[name] for name in defaults}
        _set_all(place, {**defaults, **settings})
        try:
            yield
        finally:
            _set_all(place, before)

    return flags


def _set_all(place, settings):
    for name, value in settings.items():
        if getattr(place, name) != value:
            setattr(place, name, value)


class _Watched(types.ModuleType):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        change = self.__dict__.get("_on_change", {}).get(name)
        if change is not None:
            change(value)


def watch(module, on_change):
    """From now on `on_change[name](value)` is called when a setting of the module is set."""
    module["_on_change"] = on_change
    sys.modules[module["__name__"]].__class__ = _Watched
