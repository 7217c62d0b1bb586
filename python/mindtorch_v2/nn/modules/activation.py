"""Activations as modules."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.attention import MultiheadAttention  # torch's files look for it here
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Inplace(Module):
    """An activation whose one setting is whether it writes over its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def _inplace_repr(self):
        return ", inplace=True" if self.inplace else ""

    def extra_repr(self):
        return self._inplace_repr()[2:]


class Threshold(_Inplace):
    """input where it is above the threshold, else value.

    >>> torch.nn.Threshold(2, -1)(torch.tensor([1.0, 3.0]))
    tensor([-1.,  3.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}{self._inplace_repr()}"


class ReLU(_Inplace):
    """max(input, 0).

    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class RReLU(_Inplace):
    """input where it is positive, else scaled by a random number between lower and upper.

    >>> torch.nn.RReLU().eval()(torch.tensor([-24.0]))
    tensor([-5.5000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{self._inplace_repr()}"


class Hardtanh(_Inplace):
    """input, cut off at min_val and max_val.

    >>> torch.nn.Hardtanh()(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__(inplace)
        for old, new, value in (("min", "min_val", min_value), ("max", "max_val", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}_value` is deprecated and rename to `{new}`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}{self._inplace_repr()}"


class ReLU6(Hardtanh):
    """min(max(input, 0), 6).

    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    extra_repr = _Inplace.extra_repr


class Sigmoid(Module):
    """1 / (1 + exp(-input)).

    >>> torch.nn.Sigmoid()(torch.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input):
        return torch.sigmoid(input)


class Hardsigmoid(_Inplace):
    """relu6(input + 3) / 6.

    >>> torch.nn.Hardsigmoid()(torch.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Tanh(Module):
    """The hyperbolic tangent.

    >>> torch.nn.Tanh()(torch.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input):
        return torch.tanh(input)


class SiLU(_Inplace):
    """input * sigmoid(input).

    >>> torch.nn.SiLU()(torch.tensor([1.0]))
    tensor([0.7311])
    """

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """input * tanh(softplus(input)).

    >>> torch.nn.Mish()(torch.tensor([1.0]))
    tensor([0.8651])
    """

    def forward(self, input):
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """input * hardsigmoid(input).

    >>> torch.nn.Hardswish()(torch.tensor([1.0]))
    tensor([0.6667])
    """

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class ELU(_Inplace):
    """input where it is positive, else alpha * (exp(input) - 1).

    >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}{self._inplace_repr()}"


class CELU(ELU):
    """input where it is positive, else alpha * (exp(input / alpha) - 1).

    >>> torch.nn.CELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class SELU(_Inplace):
    """elu, scaled so that it keeps mean 0 and variance 1.

    >>> torch.nn.SELU()(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input):
        return F.selu(input, self.inplace)


class GLU(Module):
    """The first half along `dim`, times the sigmoid of the second.

    >>> torch.nn.GLU()(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """

    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class GELU(Module):
    """input times the normal distribution function of it, or its approximation by tanh.

    >>> torch.nn.GELU()(torch.tensor([1.0]))
    tensor([0.8413])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class _Lambda(Module):
    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Lambda):
    """input where it is farther than lambd from 0, else 0.

    >>> torch.nn.Hardshrink()(torch.tensor([0.4, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Lambda):
    """input, moved by lambd towards 0.

    >>> torch.nn.Softshrink()(torch.tensor([0.4, 2.0]))
    tensor([0.0000, 1.5000])
    """

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class LeakyReLU(_Inplace):
    """input where it is positive, else negative_slope * input.

    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}{self._inplace_repr()}"


class LogSigmoid(Module):
    """The logarithm of sigmoid.

    >>> torch.nn.LogSigmoid()(torch.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * input)) / beta; a line where that is above the threshold.

    >>> torch.nn.Softplus()(torch.tensor([0.0]))
    tensor([0.6931])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """input where it is positive, else weight * input; the weight is learned.

    >>> torch.nn.PReLU()
    PReLU(num_parameters=1)
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Gives the parameters first values again."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """input / (1 + |input|).

    >>> torch.nn.Softsign()(torch.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input).

    >>> torch.nn.Tanhshrink()(torch.tensor([1.0]))
    tensor([0.2384])
    """

    def forward(self, input):
        return F.tanhshrink(input)


class _AlongDim(Module):
    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """softmax of -input.

    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(input) along `dim`, scaled to a sum of 1.

    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of softmax.

    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """softmax over the channels of images.

    >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)
