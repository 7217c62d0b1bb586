"""An NPU for examples: a card, or a simulated one where there is none."""

from __future__ import annotations

import os

import mindtorch_v2 as torch


def choose() -> tuple[bool, str]:
    """Whether there is one now, and what is to be said about it ("" for a card)."""
    choice = os.environ.get("MINDTORCH_NPU", "auto")
    if choice == "off":
        return False, "MINDTORCH_NPU=off: no NPU is used."
    if not torch.npu.is_available():
        torch.npu.simulator.enable()
    if not torch.npu.simulator.is_enabled():
        return True, ""
    reason = "MINDTORCH_NPU=sim" if choice == "sim" else "There is no card here"
    return True, f"{reason}: what follows runs on a simulated NPU."
