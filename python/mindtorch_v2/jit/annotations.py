"""Annotations that TorchScript reads; to Python they are lists."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - torch's names

__all__ = [
    *(f"BroadcastingList{count}" for count in range(1, 7)),
    *("Any", "Dict", "List", "Optional", "Tuple", "Union"),
]


class _BroadcastingList:
    """A number that stands for itself several times, or a list: BroadcastingList2[int]."""

    def __getitem__(self, types):
        return types | list[types]


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1
BroadcastingList5 = BroadcastingList6 = BroadcastingList1


class TensorType:
    """The type of tensors in TorchScript, for annotations; it describes no tensor here."""


class DeviceObjType:
    """The type of devices in TorchScript, for annotations."""
