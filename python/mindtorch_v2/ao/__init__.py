"""torch.ao: of quantization only what a model that is not quantized needs."""

from mindtorch_v2.ao import nn, quantization

__all__ = ["nn", "quantization"]
