"""torch.nn: layers, parameters and functions of neural networks.

>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
>>> model(torch.ones(1, 4)).shape
torch.Size([1, 2])
"""

from mindtorch_v2.nn import functional, grad, init, modules, parameter, utils
from mindtorch_v2.nn.modules import *
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parallel import DataParallel
from mindtorch_v2.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)


def factory_kwargs(kwargs):
    """The arguments of these that say where and as what a tensor is made.

    >>> torch.nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result


def __getattr__(name):
    if name in ("attention", "parallel", "quantized"):
        import importlib

        return importlib.import_module(f"mindtorch_v2.nn.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
