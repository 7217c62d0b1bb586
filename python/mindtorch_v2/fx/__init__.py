"""torch.fx: a program as a graph that Python code reads and changes.

    traced = torch.fx.symbolic_trace(model)     # runs it on Proxies, which record what is called
    for node in traced.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.nn.functional.gelu
    traced.recompile()
    traced(x)

A Graph is a list of Nodes; a GraphModule is a module whose forward() is generated from a Graph.
Interpreter runs a graph node by node, Transformer makes a new one, replace_pattern changes parts.
"""

from mindtorch_v2.fx import immutable_collections, node, proxy
from mindtorch_v2.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    symbolic_trace,
    wrap,
)
from mindtorch_v2.fx.graph import CodeGen, Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.interpreter import Interpreter, Transformer
from mindtorch_v2.fx.node import Node, has_side_effect, map_arg
from mindtorch_v2.fx.proxy import Proxy
from mindtorch_v2.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_SUBMODULES = ("annotate", "operator_schemas", "passes", "traceback")


def __getattr__(name):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
