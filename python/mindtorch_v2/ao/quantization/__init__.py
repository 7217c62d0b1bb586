"""torch.ao.quantization: there are no quantized tensors. Models that can be quantized run as the
float models they are; prepare, convert and their like are not there.
"""

from mindtorch_v2.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Where a quantized model would quantize its input; the input itself.

    >>> from mindtorch_v2.ao.quantization import QuantStub
    >>> QuantStub()(torch.ones(1))
    tensor([1.])
    """

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model would give floats again; the input itself."""


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        """What the module gives."""
        return self.dequant(self.module(self.quant(X)))
