"""Proxy: stands for a value while a program is traced; what is done with it becomes a Node."""

import collections
import copy
import dataclasses
import dis
import inspect
import operator
import sys
import traceback

from mindtorch_v2._checks import _assert
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.fx._names import magic_methods, reflectable_magic_methods
from mindtorch_v2.fx.node import Node, base_types, map_aggregate
from mindtorch_v2.overrides import is_tensor_method_or_property

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


# Notes that nodes made from another node have as well.
_CARRIED_NOTES = (
    "custom",
    "from_node",
    "nn_module_stack",
    "original_aten",
    "quantization_tag",
    "recompute",
    "source_fn_stack",
    "stack_trace",
)


class TraceError(ValueError):
    """The program does with a Proxy what only a value can do."""


class Scope:
    """The module whose forward() is being traced: its path and its class.

    >>> torch.fx.proxy.Scope("layers.0", torch.nn.Linear).module_path
    'layers.0'
    """

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Sets a Scope to another one and back."""

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, copy.copy(scope)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *exc_info):
        self._scope.module_path = self._before.module_path
        self._scope.module_type = self._before.module_type


class TracerBase:
    """Makes nodes of what proxies are used for. Tracer adds modules and whole programs."""

    graph = None
    record_stack_traces = False  # notes in each node where it was traced
    check_mutable_operations = False
    trace_asserts = False  # `assert proxy` becomes a call of torch._assert
    proxy_buffer_attributes = False  # buffers are get_attr nodes as soon as they are read
    traced_func_name = "forward"
    scope = None
    module_stack = None
    node_name_to_scope = None

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a node whose arguments hold no proxies any more."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.node_name_to_scope is not None and self.scope is not None:
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            notes = fx_traceback.get_current_meta()
            node.meta.update((key, notes[key]) for key in _CARRIED_NOTES if key in notes)
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node):
        """The Proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ):
        """Adds a node whose arguments may hold proxies, and gives its Proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        assert isinstance(args, tuple) and isinstance(kwargs, dict)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = self._user_stack()
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    @staticmethod
    def _user_stack():
        """The stack without the frames of fx."""
        folder = __file__.rpartition("/")[0]
        frames = [f for f in traceback.extract_stack() if not f.filename.startswith(folder)]
        return "".join(traceback.StackSummary.from_list(frames).format()).strip()

    def create_arg(self, a):
        """What a node holds for an argument of a call: nodes for proxies, in nested containers,
        too. Subclasses add classes that they know to keep."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, base_types) or a is None or a is ...:
            return a
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return self._create_dict(a)
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_dict(self, a):
        result = {}
        for key, value in a.items():
            key = self.create_arg(key)
            map_aggregate(key, lambda leaf, key=key: _refuse_node_key(leaf, key))
            result[key] = self.create_arg(value)
        return result

    def to_bool(self, obj):
        """What `if proxy:` gives: an error, unless a subclass knows better."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """What `for x in proxy:` gives: an error, unless a subclass knows better."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj):
        """What proxy.keys() and **proxy give."""
        return Attribute(obj, "keys")()


def _refuse_node_key(leaf, key):
    if isinstance(leaf, Node):
        raise RuntimeError(
            f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
        )
    return leaf


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there: what Proxy(node) without a tracer uses.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (x + 1).node
    add
    """

    def __init__(self, graph):
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """Stands for the value of a node while a program runs. Operators, attributes, methods and
    torch's functions add nodes to the graph and give further proxies.

    Only what depends on the value itself cannot be traced: `if`, `for`, `len`, `int`; unpacking
    (a, b = proxy) can, because the code says how many there are.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = torch.relu(x)[0].sum()
    >>> list(graph.nodes)
    [x, relu, getitem, sum_1]
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in ("node", "tracer"):  # while an object is being copied or unpickled
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        copied.__dict__ = {key: copy.deepcopy(value, memo) for key, value in vars(self).items()}
        return copied

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __iter__(self):
        name, count = _instruction(inspect.currentframe().f_back)
        if name == "UNPACK_SEQUENCE":
            return (self[i] for i in range(count))
        return self.tracer.iter(self)

    def __bool__(self):
        if self.tracer.trace_asserts and _is_asserted(inspect.currentframe().f_back):
            _assert(self, "")
            return True
        return self.tracer.to_bool(self)

    def keys(self):
        """What proxy.keys() gives: the tracer decides."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tracers = {}

        def note(leaf):
            if isinstance(leaf, Proxy):
                tracers[leaf.tracer] = None
            return leaf

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        (tracer,) = tracers
        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = tracer.graph._target_to_str(getattr(orig_method, "__name__", orig_method))
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _instruction(frame):
    """Name and argument of the instruction that `frame` is at."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.opname, instruction.argval
    return None, None


def _is_asserted(frame):
    """Whether the value that `frame` asks the truth of is that of an assert statement: if it is
    false, the next instruction raises."""
    instructions = [i for i in dis.get_instructions(frame.f_code) if i.opname != "CACHE"]
    for now, after in zip(instructions, instructions[1:], strict=False):
        if now.offset == frame.f_lasti:
            return "JUMP" in now.opname and after.opname in (
                "LOAD_ASSERTION_ERROR",
                "LOAD_COMMON_CONSTANT",
            )
    return False


class Attribute(Proxy):
    """An attribute of a proxy. Called, it is a method; otherwise a node that reads it.

    >>> x = torch.fx.Proxy(torch.fx.Graph().placeholder("x"))
    >>> x.shape.node.target is getattr, x.relu().node.op
    (True, 'call_method')
    """

    def __init__(self, root, attr):
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node = None

    @property
    def node(self):
        """The node that reads it, made when it is first asked for."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is that of the real one: for tracers with param_shapes_constant."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The shape of the parameter."""
        return self.param.shape

    def size(self):
        """The shape of the parameter."""
        return self.param.size()

    def dim(self):
        """The number of dimensions of the parameter."""
        return self.param.dim()

    @property
    def ndim(self):
        """The number of dimensions of the parameter."""
        return self.param.ndim

    def numel(self):
        """The number of elements of the parameter."""
        return self.param.numel()

    def nelement(self):
        """The number of elements of the parameter."""
        return self.param.nelement()


def _find_tracer(args):
    """The tracer of the first proxy among the arguments."""
    return next(a.tracer for a in args if isinstance(a, Proxy))


def _add_operators():
    def add(name, function, order):
        def method(*args, **kwargs):
            ordered = args[::-1] if order < 0 else args
            tracer = _find_tracer(args)
            return tracer.create_proxy("call_function", function, ordered, kwargs)

        method.__name__ = name
        method.__qualname__ = f"Proxy.{name}"
        setattr(Proxy, name, method)

    for name in magic_methods:
        function = getattr(operator, name, None)
        if function is None:  # "div" is of Python 2
            continue
        bare = name.strip("_")
        add(f"__{bare}__", function, 1)
        if name in reflectable_magic_methods:
            add(f"__r{bare}__", function, -1)


_add_operators()
assert sys.version_info >= (3, 10), "instructions are found by their offset"
