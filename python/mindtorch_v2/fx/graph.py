"""Graph: a list of Nodes, each after those it uses."""

import contextlib
import copy
import warnings

from mindtorch_v2.fx import _codegen
from mindtorch_v2.fx._codegen import (
    CodeGen,
    PythonCode,
    _format_target,
    _PyTreeCodeGen,
    _PyTreeInfo,
)
from mindtorch_v2.fx._names import (
    _custom_builtins,
    _is_from_torch,
    _Namespace,
    _register_custom_builtin,
    _snake_case,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from mindtorch_v2.fx.node import (
    Node,
    _get_qualified_name,
    _legal_ops,
    _type_repr,
    map_arg,
)

__all__ = ["CodeGen", "Graph", "PythonCode"]

_MISSING = object()


class _node_list:
    """The nodes of a graph, in order; nodes may be added and erased during a walk."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            # Where an erased node leads is still known: erase_node() leaves its links.
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    def __init__(self, graph, insert):
        self.graph = graph
        self.before = graph._insert
        graph._insert = insert

    def __enter__(self):
        return None

    def __exit__(self, *exc_info):
        self.graph._insert = self.before


class Graph:
    """Nodes in the order in which they run; made by tracing or by hand.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(y)
    >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._ordered = True  # whether the positions of nodes are right
        self._graph_namespace = _Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self):
        """The nodes in order; reversed(graph.nodes) goes the other way."""
        return _node_list(self)

    def _number_nodes(self):
        if not self._ordered:
            self._root._position = -1
            for position, node in enumerate(self.nodes):
                node._position = position
            self._ordered = True

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes with this op and, for calls, this target.

        >>> graph = torch.fx.symbolic_trace(lambda x: x.relu().relu()).graph
        >>> graph.find_nodes(op="call_method", target="relu")
        [relu, relu_1]
        """
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target == target)
        ]

    def output_node(self):
        """The node that holds the result."""
        found = self.find_nodes(op="output")
        assert len(found) == 1, f"expected one output node, found {len(found)}"
        return found[0]

    # --- adding -------------------------------------------------------------------------------

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node where nodes are added: at the end, or as inserting_before() says."""
        assert op in _legal_ops, f"op '{op}' is not in _legal_ops"
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        assert isinstance(args, tuple), f"args must be a tuple, got {type(args)}"
        assert isinstance(kwargs, dict), f"kwargs must be a dict, got {type(kwargs)}"
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def _target_to_str(self, target):
        if callable(target):
            name = getattr(target, "__name__", type(target).__name__)
        else:
            name = "_" + target.lstrip("*") if target.startswith("*") else target
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return _snake_case(name)

    def placeholder(self, name, type_expr=None, default_value=_MISSING):
        """An input, in the order of the parameters of forward()."""
        args = () if default_value is _MISSING else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module that owns the graph."""
        owner = self.owning_module
        if owner is not None and not _has_attribute(owner, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule of the module that owns the graph."""
        owner = self.owning_module
        if owner is not None and not _has_attribute(owner, module_name):
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the "
                "owning GraphModule! Call GraphModule.add_submodule to add the necessary "
                "submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name=name, type_expr=type_expr
        )

    def output(self, result, type_expr=None):
        """The result, which may be nodes in tuples, lists and dicts."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n=None):
        """`with graph.inserting_before(node):` adds nodes before `n`; without `n`, first of all.

        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> with graph.inserting_before(y):
        ...     z = graph.call_function(torch.neg, (x,))
        >>> list(graph.nodes)
        [x, neg, relu]
        """
        if n is None:
            return self.inserting_after(self._root)
        assert n.graph == self, "Node to insert before is not in graph."
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """`with graph.inserting_after(node):` adds nodes right after `n`; without `n`, last."""
        if n is None:
            return self.inserting_before(self._root)
        assert n.graph == self, "Node to insert after is not in graph."
        return _InsertPoint(self, n.append)

    def node_copy(self, node, arg_transform=lambda node: node):
        """Adds a copy of a node of another graph; arg_transform gives the node of this graph for
        each node it uses."""
        copied = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            map_arg(node.kwargs, arg_transform),
            node.name,
            node.type,
        )
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
        """Adds copies of all nodes of `g` but its output, whose value it returns. `val_map`
        holds the nodes that stand for those of `g`, and gets the new ones."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda used: val_map[used])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda used: val_map[used])
        return None

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        copied = type(self)(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = copied
        nodes = {}
        for node in self.nodes:
            nodes[node] = memo[id(node)] = copied.node_copy(node, lambda used: nodes[used])
        copied._codegen = copy.deepcopy(self._codegen, memo)
        return copied

    # --- removing -----------------------------------------------------------------------------

    def erase_node(self, to_erase):
        """Removes a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph != self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before
        to_erase._erased = True
        to_erase._set_arguments((), {})
        self._len -= 1

    def eliminate_dead_code(self, is_impure_node=None):
        """Erases the nodes that nobody uses and that do nothing else; True if there were any.

        >>> def program(x):
        ...     x.neg()
        ...     return x + 1
        >>> graph = torch.fx.symbolic_trace(program).graph
        >>> graph.eliminate_dead_code()
        True
        >>> list(graph.nodes)
        [x, add, output]
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._len != before

    # --- checking and printing ----------------------------------------------------------------

    def lint(self):
        """Raises RuntimeError where a node is used before it is defined, belongs to another
        graph, has a name that is taken, or names an attribute that the module does not have."""
        defined, names = set(), set()

        def check(used, node):
            if used.graph != self:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was "
                    "used as an argument! If you are copying nodes from another graph, make sure "
                    f"to use ``arg_transform`` on node_copy() to remap values\n{self}"
                )
            if used not in defined:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                    f"Please check that Nodes in the graph are topologically ordered\n{self}"
                )

        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph != self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node in defined:
                raise RuntimeError(f"Node '{node}' was already defined!")
            for used in node.all_input_nodes:
                check(used, node)
            defined.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_target(node)

    def _check_target(self, node):
        owner, path = self.owning_module, node.target.split(".")
        for i, part in enumerate(path):
            if not hasattr(owner, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} "
                    f"of {'.'.join(path[:i])}"
                )
            owner = getattr(owner, part)

    def __str__(self):
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])

    def print_tabular(self):
        """Prints the nodes as a table. Needs the package tabulate."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on "
                "this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    # --- code ---------------------------------------------------------------------------------

    def python_code(self, root_module, *, verbose=False):
        """The source of forward() with its module called `root_module`, and the names it needs.

        >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
        """
        return _codegen.python_code(self, root_module, verbose=verbose)

    def set_codegen(self, codegen):
        """Lets a CodeGen of one's own write forward()."""
        self._codegen = codegen

    def process_inputs(self, *args):
        """The values of the placeholders for the arguments of forward()."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The result of forward() for the value of the output node."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer):
        """Changes the lines of the body of forward(): make_transformer(current) gives a function
        from lines to lines, or None. As a context manager it puts the old one back.

        >>> graph = torch.fx.symbolic_trace(lambda x: x).graph
        >>> _ = graph.on_generate_code(lambda _: lambda body: ["print('here')\\n", *body])
        >>> "print('here')" in graph.python_code("self").src
        True
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restoring():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restoring()


def _has_attribute(owner, path):
    for part in path.split("."):
        if not hasattr(owner, part):
            return False
        owner = getattr(owner, part)
    return True
