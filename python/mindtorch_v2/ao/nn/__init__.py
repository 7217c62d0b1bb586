"""torch.ao.nn."""

from mindtorch_v2.ao.nn import quantized

__all__ = ["quantized"]
