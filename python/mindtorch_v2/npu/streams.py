"""torch.npu.streams: the classes of streams and events."""

from mindtorch_v2.npu import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
