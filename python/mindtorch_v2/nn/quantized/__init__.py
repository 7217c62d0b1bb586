"""torch.nn.quantized: the old place of torch.ao.nn.quantized."""

from mindtorch_v2.ao.nn.quantized import FloatFunctional

__all__ = ["FloatFunctional"]
