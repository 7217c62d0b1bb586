"""Interpreter and Transformer: a graph, node by node."""

from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.fx._codegen import last_uses
from mindtorch_v2.fx._symbolic_trace import Tracer, _make_graph_module
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import map_aggregate, map_arg
from mindtorch_v2.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule one node at a time. Subclasses change what a kind of node does
    (call_function, call_method, call_module, get_attr, placeholder, output) or all (run_node).

    >>> class Count(torch.fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counter = Count(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1))
    >>> counter.run(torch.tensor(-1.0)), counter.calls
    (tensor(1.), 2)
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}  # node: value
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = last_uses(self.graph.nodes) if garbage_collect_values else {}

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The result of the graph. `initial_env` has values of nodes that are not to run;
        without `enable_io_processing` the arguments are the placeholders' values as they are."""
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_and_explain(node)
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def _run_and_explain(self, node):
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                text = f"While executing {node.format_node()}"
                text = f"{error.args[0]}\n\n{text}" if error.args else text
                text += f"\nOriginal traceback:\n{node.stack_trace}"
                error.args = (text, *error.args[1:])
                if isinstance(error, KeyError):
                    raise RuntimeError(*error.args) from error
            raise

    def boxed_run(self, args_list):
        """run(), with the arguments in a list that it empties, so that they can be freed."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n):
        """The value of a node, from those of the nodes it uses."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument of run(), or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration as error:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from error

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """target(*args, **kwargs)."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The method `target` of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """A call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The result."""
        return args[0]

    def fetch_attr(self, target):
        """An attribute of the module by dotted name."""
        path, owner = target.split("."), self.module
        for i, part in enumerate(path):
            if not hasattr(owner, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(path[: i + 1])}")
            owner = getattr(owner, part)
        return owner

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node with values for nodes."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        assert isinstance(args, tuple) and isinstance(kwargs, dict)
        return args, kwargs

    def map_nodes_to_values(self, args, n):
        """Arguments with values for nodes."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class _TransformerTracer(Tracer):
    """Every module stays one call."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.tensor_attrs = {}

    def is_leaf_module(self, m, module_qualified_name):
        return True


class Transformer(Interpreter):
    """Makes a new GraphModule: its methods work on proxies, and what they give becomes the graph.

    >>> class Sigmoid(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         target = torch.sigmoid if target is torch.relu else target
    ...         return super().call_function(target, args, kwargs)
    >>> changed = Sigmoid(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()
    >>> changed(torch.tensor(0.0))
    tensor(0.5000)
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """A placeholder of the new graph."""
        default = args[:1] if args else ()
        return Proxy(self.new_graph.create_node("placeholder", target, default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A node that reads the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A call of the submodule, as the tracer sees it."""
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A call of the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target, args, kwargs):
        """A call of the method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self):
        """The new GraphModule."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(leaf):
                return leaf.node if isinstance(leaf, Proxy) else leaf

            output = self.new_graph.output(map_aggregate(result, node_of))
            old = next(iter(reversed(self.graph.nodes)))
            output.type = old.type
            output.meta.update(old.meta)
        assert isinstance(self.module, GraphModule)
        return _make_graph_module(self.module, self.new_graph, self.module._get_name())
