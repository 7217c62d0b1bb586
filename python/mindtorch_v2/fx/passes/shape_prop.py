"""ShapeProp: notes shapes and dtypes in the nodes of a graph."""

from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.fx.interpreter import Interpreter
from mindtorch_v2.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor before its values are."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    memory_format = None
    if include_contiguity and result.layout == torch.strided:
        formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
        memory_format = next(
            (kind for kind in formats if result.is_contiguous(memory_format=kind)), None
        )
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride() if result.layout == torch.strided else (),
        memory_format,
        False,
        {},
    )


class ShapeProp(Interpreter):
    """Runs a GraphModule and notes in each node meta["tensor_meta"], for each tensor of its
    value, and meta["type"].

    >>> from mindtorch_v2.fx.passes.shape_prop import ShapeProp
    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm, fake_mode=None):
        if fake_mode is not None:
            raise NotImplementedError(
                "there are no fake tensors: propagate tensors of the device 'meta' instead"
            )
        super().__init__(gm)

    def run_node(self, n):
        """Runs a node and notes what it gives."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def metadata(leaf):
            nonlocal found
            if not isinstance(leaf, torch.Tensor):
                return leaf
            found = True
            return _extract_tensor_metadata(leaf)

        meta = map_aggregate(result, metadata)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the module on these arguments; returns what it gives."""
        return super().run(*args)
