"""torch.signal: functions of signals, of which torch has windows."""

from mindtorch_v2.signal import windows

__all__ = ["windows"]
