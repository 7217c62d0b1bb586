"""torch.autograd.anomaly_mode: errors in backward that name the line of the forward op."""

import warnings

from mindtorch_v2 import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def is_anomaly_enabled():
    """Whether anomaly mode is on.

    >>> torch.is_anomaly_enabled()
    False
    """
    return _C._is_anomaly_enabled()


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for gradients with a nan.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_check_nan_enabled()
    False
    """
    return _C._is_anomaly_check_nan_enabled()


def set_anomaly_enabled(mode, check_nan=True):
    """Sets anomaly mode; see torch.autograd.set_detect_anomaly.

    >>> torch.set_anomaly_enabled(False)
    """
    _C._set_anomaly_enabled(bool(mode), bool(check_nan))


class set_detect_anomaly:
    """Sets anomaly mode at once; as a with-block it sets it back at the end. In that mode a node
    remembers where its op was called, an error in backward shows that place, and with `check_nan`
    a gradient with a nan is such an error.

    >>> with torch.autograd.set_detect_anomaly(False):
    ...     x = torch.ones(1, requires_grad=True)
    """

    def __init__(self, mode, check_nan=True):
        self._before = _C._is_anomaly_enabled(), _C._is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(bool(mode), bool(check_nan))

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        _C._set_anomaly_enabled(*self._before)


class detect_anomaly:
    """A with-block in anomaly mode; see set_detect_anomaly. It slows everything down.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with torch.autograd.detect_anomaly():
    ...     (x + 1).sum().backward()
    """

    def __init__(self, check_nan=True):
        self._check_nan = bool(check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self._before = _C._is_anomaly_enabled(), _C._is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(True, self._check_nan)

    def __exit__(self, *exc_info):
        _C._set_anomaly_enabled(*self._before)
