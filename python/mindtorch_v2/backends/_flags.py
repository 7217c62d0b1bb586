"""Settings that torch.backends keeps as attributes of modules."""

import contextlib


def flags_context(module, defaults):
    """flags(): a context in which the module's settings are others; those not named have
    `defaults`, as in torch."""

    @contextlib.contextmanager
    def flags(**settings):
        """Other settings inside; those that are not named have their defaults."""
        unknown = set(settings) - set(defaults)
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {unknown.pop()!r}")
        before = {name: module[name] for name in defaults}
        module.update({**defaults, **settings})
        try:
            yield
        finally:
            module.update(before)

    return flags
