"""nn.Parameter of a sparse tensor."""

from collections import OrderedDict

from mindtorch_v2.nn.parameter import Parameter
from mindtorch_v2.sparse._tensor import HANDLERS, SparseTensor, from_parts


class SparseParameter(SparseTensor, Parameter):
    """What nn.Parameter makes of a sparse tensor.

    >>> torch.nn.Parameter(torch.eye(2).to_sparse()).layout
    torch.sparse_coo
    """

    def __new__(cls, data, requires_grad=True):
        return make_parameter(data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            copy = HANDLERS["clone"](HANDLERS["detach"](self))
            memo[id(self)] = make_parameter(copy, self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        from mindtorch_v2._serialization import _rebuild_parameter

        arguments = (HANDLERS["detach"](self), self.requires_grad, OrderedDict())
        return _rebuild_parameter, arguments

    def __repr__(self):
        return "Parameter containing:\n" + HANDLERS["__repr__"](self)


SparseParameter.__name__ = SparseParameter.__qualname__ = "Parameter"


def make_parameter(data, requires_grad):
    """A parameter that shares the components of `data`."""
    values = data.parts.values.detach().requires_grad_(requires_grad)
    return from_parts(data.parts.with_values(values), data.shape, SparseParameter)
