"""torch.special: the ops named special_..., without the prefix.

>>> torch.special.expit(torch.tensor([0.]))
tensor([0.5000])
"""

from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

globals().update(
    (name.removeprefix("special_"), function)
    for name, function in _C._functions.items()
    if name.startswith("special_") and not name.endswith("_")
)
softmax = _C._functions["softmax"]
log_softmax = _C._functions["log_softmax"]
psi = _C._functions["digamma"]


def multigammaln(input, p, *, out=None):
    """The same as `torch.mvlgamma`.

    >>> torch.special.multigammaln(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
    from mindtorch_v2._array_functions import mvlgamma

    return mvlgamma(input, p, out=out)


_make_overridable(globals())
