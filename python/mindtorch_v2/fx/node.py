"""Node: one call, input or output of a Graph."""

import operator
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._checks import _assert
from mindtorch_v2._library.operators import OpOverload
from mindtorch_v2.fx._names import _get_qualified_name, _pretty_print_target, _type_repr
from mindtorch_v2.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "_get_qualified_name", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
BaseArgumentTypes = (
    str
    | int
    | float
    | bool
    | complex
    | torch.dtype
    | torch.Tensor
    | torch.device
    | torch.memory_format
    | torch.layout
    | OpOverload
)
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.Tensor,
    torch.device,
    torch.memory_format,
    torch.layout,
    OpOverload,
)

_legal_ops = frozenset(
    "placeholder call_method call_module call_function get_attr output root".split()
)
_side_effectful_functions = {_assert, operator.setitem}


def has_side_effect(fn):
    """Keeps calls of `fn` whose results nobody uses; a decorator, too.

    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x.shape)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """Calls fn on every leaf of tuples, lists, dicts and slices; lists and dicts in the result
    are immutable.

    >>> torch.fx.node.map_aggregate([1, (2, {"a": 3})], lambda leaf: leaf * 2)
    [2, (4, {'a': 6})]
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(
            map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn)
        )
    return fn(a)


def map_arg(a, fn):
    """Calls fn on every Node in `a`.

    >>> x = torch.fx.Graph().placeholder("x")
    >>> torch.fx.map_arg((x, [x, 1]), lambda node: node.name)
    ('x', ['x', 1])
    """
    assert callable(fn), "torch.fx.map_arg(a, fn): fn must be a callable"
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


class Node:
    """One step of a Graph: an input ("placeholder"), an attribute of the module ("get_attr"), a
    call ("call_function", "call_method", "call_module") or the result ("output").

    `args` and `kwargs` may hold other Nodes, in tuples, lists, dicts and slices as well; `users`
    are the nodes that use this one; `meta` is a dict for whatever passes want to note.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y.op, y.target is torch.relu, y.args, list(x.users)
    ('call_function', True, (x,), [relu])
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op == "call_function":
            expected = None if callable(target) else "Callable"
        else:
            expected = None if isinstance(target, str) else "str"
        if expected is not None:
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{torch.typename(target)} but a {expected} is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.meta = {}
        self.users = {}  # nodes that use this one, in order; the values mean nothing
        self._input_nodes = {}
        self._prev = self._next = self
        self._erased = False
        self._position = 0  # in the list, while the graph's _ordered is set
        self._args, self._kwargs = (), immutable_dict()
        self._set_arguments(args, kwargs)

    def __repr__(self):
        return self.name

    # --- arguments ----------------------------------------------------------------------------

    @property
    def args(self):
        """Positional arguments, a tuple. Assign a new one to change them."""
        return self._args

    @args.setter
    def args(self, new_args):
        self._set_arguments(new_args, self._kwargs)

    @property
    def kwargs(self):
        """Keyword arguments. Assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, new_kwargs):
        self._set_arguments(self._args, new_kwargs)

    def _set_arguments(self, args, kwargs):
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def use(node):
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self):
        """The nodes that this one uses, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Puts another argument at position `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts an argument before position `idx`."""
        assert 0 <= idx <= len(self._args), (
            f"insert_args index must be between 0 and len(self.args), got {idx}"
        )
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Sets a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Uses `new_input` wherever it used `old_input`."""
        self._replace_inputs({old_input: new_input})

    def _replace_inputs(self, new_nodes):
        def replaced(node):
            return new_nodes.get(node, node)

        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", ()):
            for old, new in new_nodes.items():
                hook(old=old, new=new.name, user=self)
        self._set_arguments(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Every node that uses this one uses `replace_with` instead; returns those nodes.
        delete_user_cb(node) may say no.

        >>> graph = torch.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> z = graph.call_function(torch.neg, (x,))
        >>> x.replace_all_uses_with(y)
        [neg]
        >>> z.args
        (y,)
        """
        if propagate_meta:
            assert not replace_with.meta, (
                "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                "replace_with already has .meta keys"
            )
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb is None or delete_user_cb(user):
                user._replace_inputs({self: replace_with})
                changed.append(user)
        return changed

    # --- place --------------------------------------------------------------------------------

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Moves or puts node `x` before this one."""
        assert self.graph == x.graph, "Attempting to move a Node into a different Graph"
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._ordered = False

    def append(self, x):
        """Moves or puts node `x` after this one."""
        assert self.graph == x.graph, "Attempting to move a Node into a different Graph"
        if x is not self:
            self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def _place(self):
        self.graph._number_nodes()
        return self._position

    def __lt__(self, other):
        return self._place() < other._place()

    def __le__(self, other):
        return self._place() <= other._place()

    def __gt__(self, other):
        return self._place() > other._place()

    def __ge__(self, other):
        return self._place() >= other._place()

    # --- what it does -------------------------------------------------------------------------

    def is_impure(self, impure_random=True):
        """Whether it must stay even if nobody uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if getattr(schema, "is_mutable", False):
                return True
            return self.target in _side_effectful_functions
        if self.op == "call_module":
            module = self.graph.owning_module
            assert module is not None, "self.graph.owning_module not set for purity check"
            target = module.get_submodule(self.target)
            assert target is not None, (
                f"Did not find expected submodule target {self.target} in module"
            )
            return getattr(target, "_is_impure", False)
        return False

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
    ):
        """(args, kwargs) with the names and defaults of the function's or module's parameters
        filled in, or None where they are not known."""
        from mindtorch_v2.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target,
                self._args,
                self._kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs
            )
        return None

    @property
    def stack_trace(self):
        """Where the call was traced, if the Tracer has record_stack_traces; or None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def _rename(self, candidate):
        if candidate != self.name:
            namespace = self.graph._graph_namespace
            self.name = namespace.create_name(candidate, None)
            namespace._rename_object(self, self.name)

    @staticmethod
    def _pretty_print_target(target):
        return _pretty_print_target(target)

    def format_node(
        self,
        placeholder_names=None,
        maybe_return_typename=None,
        *,
        include_tensor_metadata=False,
    ):
        """The line of a printed graph.

        >>> torch.fx.Graph().placeholder("x").format_node()
        '%x : [num_users=0] = placeholder[target=x]'
        """
        annotation = f" : {_type_repr(self.type)}" if self.type else " :"
        head = f"%{self.name}{annotation} [num_users={len(self.users)}] = "
        target = _pretty_print_target(self.target)
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(
                    f"{self.target}{annotation}" if self.type else str(self.target)
                )
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}{self.op}[target={target}]{default}"
        if self.op == "get_attr":
            return f"{head}{self.op}[target={target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        args, kwargs = _format_arg(self._args), _format_arg(self._kwargs)
        return f"{head}{self.op}[target={target}](args = {args}, kwargs = {kwargs})"


def _format_arg(arg):
    """An argument in a printed graph: nodes have a percent sign, strings no quotes."""
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        comma = "," if len(arg) == 1 else ""
        return f"({', '.join(map(_format_arg, arg))}{comma})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)
