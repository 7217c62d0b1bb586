"""Settings of how exactly ops compute. Each one does what it says on the devices that can, or a
warning says, once, that it does nothing."""

import warnings

from mindtorch_v2 import _C, _kinds

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")
_settings = {"precision": "highest", "deterministic": 0, "cudnn_deterministic": False}
_warned = set()


def warn_once(setting, why, stacklevel=3):
    """A UserWarning that a setting has no effect; the first time only."""
    if setting not in _warned:
        _warned.add(setting)
        warnings.warn(f"{setting} has no effect: {why}", UserWarning, stacklevel=stacklevel + 1)


def _here():
    """The rows of the accelerators that are here."""
    return [_kinds.ROWS[kind] for kind in _kinds.ACCELERATORS if _C._device_count(kind) > 0]


def set_reduces_float32(setting, precision, stacklevel=3):
    """ "high" and "medium" allow products of float32 matrices fewer bits."""
    wanted = precision != "highest"
    if wanted and not any(row.reduces_float32 for row in _here()):
        warn_once(setting, "every device here multiplies float32 matrices exactly", stacklevel)
    _settings["precision"] = precision
    _C._set_reduces_float32(wanted)


def set_deterministic(**settings):
    """What asks for the same bits each time: "deterministic", "cudnn_deterministic"."""
    _settings.update(settings)
    wanted = bool(_settings["deterministic"] or _settings["cudnn_deterministic"])
    for row in _here():
        if wanted and not row.is_deterministic:
            warn_once(f"deterministic mode on {row.title} devices", "they have none")
    _C._set_deterministic(wanted)


def get_float32_matmul_precision():
    """How exactly float32 matrices are multiplied: "highest", unless it was set.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _settings["precision"]


def set_float32_matmul_precision(precision):
    """Allows products of float32 matrices to be less exact, on devices that are quicker then: NPUs.
    The CPU always gives "highest".

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setting of "
            "`torch.set_float32_matmul_precision` is kept.",
            stacklevel=2,
        )
        return
    from mindtorch_v2.backends import _precision

    set_reduces_float32(f"torch.set_float32_matmul_precision({precision!r})", precision)
    _precision.keep_for_products(precision)


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Asks for ops that give the same result every time. On the CPU all do; a device that has the
    choice is told.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{type(mode).__name__}"
        )
    set_deterministic(deterministic=(1 if warn_only else 2) if mode else 0)


def are_deterministic_algorithms_enabled():
    """Whether use_deterministic_algorithms(True) was called."""
    return _settings["deterministic"] != 0


def is_deterministic_algorithms_warn_only_enabled():
    """Whether it was called with warn_only=True."""
    return _settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode):
    """0 or "default": off; 1 or "warn"; 2 or "error".

    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(len(_MODES)):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode != 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2: off, warn, error."""
    return _settings["deterministic"]
