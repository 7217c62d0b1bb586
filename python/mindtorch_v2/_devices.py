"""Devices of one kind: which there are, which is current, what is known of each."""

import contextlib
import types
import warnings

from mindtorch_v2 import _C
from mindtorch_v2._memory import Devices
from mindtorch_v2._streams import _synchronized

_sync_debug = {"mode": 0}


class _DeviceContext:
    """The current device is another one inside; None and negative numbers change nothing."""

    def __init__(self, index):
        self.idx = index
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = _C._current_device(self._kind)
            _C._set_current_device(self._kind, self.idx)

    def __exit__(self, *error):
        if self.idx >= 0:
            _C._set_current_device(self._kind, self.prev_idx)
        return False


class DeviceFunctions(Devices):
    """The functions of a device's module that are not about memory or streams, as methods."""

    def _require(self, index=None):
        """Raises the reason why there is no such device."""
        device = _C.device(self._kind) if index is None else _C.device(self._kind, index)
        _C._check_device_available(device)

    def _checked_index(self, device, optional=True):
        """The index of a device that exists."""
        index = self._optional_index(device)
        if index is None and not optional:
            raise ValueError(
                f"Expected a {self._kind} device with a specified index or an integer, "
                f"but got: {device}"
            )
        self._require(index)
        return _C._current_device(self._kind) if index is None else index

    # Which there are.

    def is_available(self):
        """Whether tensors can be made on such a device here and now."""
        return _C._device_count(self._kind) > 0

    def device_count(self):
        """The number of devices."""
        return _C._device_count(self._kind)

    def is_initialized(self):
        """Whether a device is in use by this process."""
        return _C._is_initialized(self._kind)

    def init(self):
        """Prepares the current device; raises the reason when there is none."""
        _C._use_device(self._kind, self._checked_index(None))

    def current_device(self):
        """The index of the device that this thread's new tensors go to."""
        return self._checked_index(None)

    def set_device(self, device):
        """Chooses the device that this thread's new tensors go to; a negative index changes
        nothing.
        """
        if isinstance(device, int) and device < 0:
            return
        _C._set_current_device(self._kind, self._checked_index(device, optional=False))

    def synchronize(self, device=None):
        """Waits until all work on a device, or the current one, is done."""
        _C._synchronize_device(self._kind, self._checked_index(device))
        _synchronized()

    # What is known of each.

    def _get_device_name(self, device=None):
        """The name of a device; tests may replace this function."""
        return _C._device_properties(self._kind, self._checked_index(device))["name"]

    def _get_device_capability(self, device=None):
        """(major, minor) of a device, (0, 0) when unknown; tests may replace this function."""
        if not self.is_available():
            return 0, 0
        properties = _C._device_properties(self._kind, self._checked_index(device))
        return properties["major"], properties["minor"]

    def get_device_name(self, device=None):
        """The name of a device."""
        return self._module()._get_device_name(self._index(device))

    def get_device_capability(self, device=None):
        """(major, minor): what a device can do. (0, 0) when unknown."""
        return self._module()._get_device_capability(self._index(device))

    def get_device_properties(self, device=None):
        """What is known of a device: name, major, minor; of one that is here, also total_memory
        and multi_processor_count.
        """
        module = self._module()
        index = self._optional_index(device)
        if index is not None and self.is_available() and index >= self.device_count():
            raise AssertionError("Invalid device id")
        name = module.get_device_name(device)
        major, minor = module.get_device_capability(device)
        known = {}
        if self.is_available():
            known = _C._device_properties(self._kind, self._checked_index(device))
        return types.SimpleNamespace(**{**known, "name": name, "major": major, "minor": minor})

    def is_bf16_supported(self, including_emulation=True):
        """Whether the current device knows bfloat16."""
        if not self.is_available():
            return False
        return _C.bfloat16 in _C._device_dtypes(self._kind)

    # Finding needless waits.

    def set_sync_debug_mode(self, debug_mode):
        """What happens when the host waits for a stream, as reading a value does: "default" or 0,
        nothing; "warn" or 1, a warning; "error" or 2, a RuntimeError.
        """
        modes = ("default", "warn", "error")
        if debug_mode not in (*modes, 0, 1, 2):
            raise RuntimeError(f"invalid value of debug_mode, expected one of {modes}")
        _sync_debug["mode"] = modes.index(debug_mode) if debug_mode in modes else debug_mode
        _C._set_sync_debug_mode(_sync_debug["mode"])

    def get_sync_debug_mode(self):
        """0, 1 or 2, as set_sync_debug_mode says."""
        return _sync_debug["mode"]

    def ipc_collect(self):
        """Nothing: no memory is shared with other processes."""

    # Other devices' memory.

    def can_device_access_peer(self, device, peer_device):
        """Whether a device reaches the memory of another. False, with a warning, when the driver
        says no or there is no such device.
        """
        reason = "the driver says no"
        with contextlib.suppress(RuntimeError):
            pair = self._checked_index(device), self._checked_index(peer_device)
            if _C._can_access_peer(self._kind, *pair):
                return True
        if not self.is_available():
            reason = f"there is no {self._kind} device"
        warnings.warn(
            f"{self._kind} device {device} cannot access peer {peer_device}: {reason}",
            stacklevel=2,
        )
        return False

    def enable_peer_access(self, peer_device, device=None):
        """Lets a device reach the memory of another. RuntimeError where it cannot."""
        self._set_peer_access(peer_device, device, True)

    def disable_peer_access(self, peer_device, device=None):
        """Ends enable_peer_access. RuntimeError where it cannot."""
        self._set_peer_access(peer_device, device, False)

    def _set_peer_access(self, peer_device, device, enabled):
        pair = self._checked_index(device), self._checked_index(peer_device)
        _C._set_peer_access(self._kind, *pair, enabled)

    # Contexts.

    def _contexts(self):
        """{name: class}: `device` and `device_of`."""
        functions = self

        class device(_DeviceContext):
            """with torch.npu.device(1): the current device is another one inside."""

            _kind = self._kind

            def __init__(self, device):
                index = functions._optional_index(device)
                super().__init__(-1 if index is None else index)

        class device_of(device):
            """The current device is that of a tensor inside; a CPU tensor changes nothing."""

            def __init__(self, obj):
                super().__init__(obj.device.index if obj.device.type == self._kind else -1)

        for made in (device, device_of):
            made.__module__, made.__qualname__ = f"mindtorch_v2.{self._kind}", made.__name__
        return {"device": device, "device_of": device_of}
