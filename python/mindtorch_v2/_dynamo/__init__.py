"""torch._dynamo: the names of torch's tracer that libraries touch. Nothing is traced: a compiled
function runs in a pipeline (torch.compile)."""

from mindtorch_v2._dynamo import config, eval_frame, exc
from mindtorch_v2.compiler import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    list_backends,
    nested_compile_region,
    reset,
    substitute_in_graph,
)

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "exc",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nested_compile_region",
    "optimize",
    "reset",
    "run",
    "substitute_in_graph",
]

OptimizedModule = eval_frame.OptimizedModule


def is_compiling():
    """False.

    >>> torch._dynamo.is_compiling()
    False
    """
    return False


def graph_break(msg=""):
    """Ends a graph: there is none."""


def disallow_in_graph(fn):
    """The function itself."""
    return fn


def run(fn=None):
    """The function itself: nothing is compiled anew."""
    return fn if fn is not None else lambda function: function


def optimize(backend="inductor", *, nopython=False, dynamic=None, **settings):
    """A decorator: torch.compile with this backend."""
    return lambda function: compile(function, backend=backend)


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None):
    """Says that a dimension will vary: every shape is taken as it comes."""
    _check_dimensions(t, index)


def maybe_mark_dynamic(t, index):
    """mark_dynamic, where that is possible."""
    _check_dimensions(t, index)


def mark_static(t, index=None):
    """Says that a dimension will not vary: every shape is taken as it comes."""
    if not isinstance(t, type):
        _check_dimensions(t, () if index is None else index)


def mark_static_address(t, guard=False):
    """Says that a tensor stays where it is: nothing depends on it."""
    from mindtorch_v2 import Tensor

    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t).__name__}")


def _check_dimensions(t, index):
    for dimension in index if isinstance(index, (list, tuple)) else (index,):
        t.size(dimension)
