"""Dual numbers: what stands behind torch.autograd.forward_ad."""

import copy

from mindtorch_v2 import _C
from mindtorch_v2._grad_mode import enable_grad
from mindtorch_v2.func._graph import Graph


class Duals:
    """The dual tensors of one level: inputs of a graph, whose products with their tangents are the
    tangents of all that is computed from them."""

    def __init__(self):
        self._graph = Graph(())
        self._tangents = []

    def make(self, tensor, tangent):
        if _C._is_tracked(tensor) and self.unpack(tensor)[1] is not None:
            raise RuntimeError(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
                "same level 0 is not supported."
            )
        self._tangents.append(tangent.to(tensor.dtype))
        return self._graph.add_input(tensor)

    def unpack(self, tensor):
        """(primal, tangent), None where it does not depend on a dual tensor."""
        if not self._tangents or not _C._is_tracked(tensor):
            return tensor, None
        graph = copy.copy(self._graph)
        with enable_grad():
            graph.finish((tensor,))
        (tangent,) = graph.push(self._tangents)
        return (tensor if tangent is None else graph.release(tensor)), tangent
