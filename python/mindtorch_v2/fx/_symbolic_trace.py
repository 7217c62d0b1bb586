"""symbolic_trace and Tracer: run a program on proxies and keep what it calls as a Graph."""

import collections
import inspect
import math
import types
import warnings

import mindtorch_v2 as torch
from mindtorch_v2._checks import _assert
from mindtorch_v2.fx import _patching
from mindtorch_v2.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import base_types
from mindtorch_v2.fx.proxy import ParameterProxy, Scope, ScopeContextManager, TracerBase
from mindtorch_v2.nn import Module, Parameter
from mindtorch_v2.utils import _pytree as pytree

_wrapped_fns_to_patch = {}  # (id of the globals, name): the globals
_wrapped_methods_to_patch = []  # (class, name)
_proxyable_classes = {}
_is_fx_tracing_flag = False


class PHBase:
    """In concrete_args: what stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A PH whose attributes are put on the proxy that stands for it."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Metaclass of classes whose objects may be made of proxies: making one becomes a node.

    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> traced = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1))
    >>> traced(1).right
    2
    """

    def __init__(cls, name, bases, namespace):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, namespace)

    def __call__(cls, *args, **kwargs):
        instance = cls.__new__(cls)
        if _patching.find_proxy(args, kwargs) is not None:
            _made_from[id(instance)] = instance, args, kwargs
        cls.__init__(instance, *args, **kwargs)
        return instance


_made_from = {}  # id: (object of a proxyable class, arguments that it was made from)


def is_fx_tracing():
    """Whether a program is being traced.

    >>> torch.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing():
    """The same as is_fx_tracing: nothing else traces here."""
    return _is_fx_tracing_flag


def wrap(fn_or_name):
    """Makes a function of this module one call in graphs: tracing does not look inside. Call it
    at the top level of the module, with the function's name, or use it as a decorator.

    >>> # @torch.fx.wrap
    >>> # def shift(x, by): ...
    """
    is_function = callable(fn_or_name) and not isinstance(fn_or_name, str)
    if not is_function and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name.__name__ if is_function else fn_or_name
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _assert_is_none(value, msg):
    assert value is None, msg


class Tracer(TracerBase):
    """Makes Graphs of programs. Subclasses choose which modules are one call (is_leaf_module),
    which values may stand in a graph (create_arg), what reading an attribute gives (getattr).

    >>> class Whole(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> graph = Whole().trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False
    ):
        super().__init__()
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(map(id, autowrap_functions))
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}
        self.root, self.tensor_attrs = None, {}

    # --- values -------------------------------------------------------------------------------

    def create_arg(self, a):
        """Parameters, buffers and tensors become get_attr nodes of the root module."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a, "_tensor_constant", self.tensor_attrs)
        if type(a) in _proxyable_classes and id(a) in _made_from:
            _, args, kwargs = _made_from[id(a)]
            args, kwargs = super().create_arg(args), super().create_arg(kwargs)
            return self.create_node("call_function", type(a), args, kwargs)
        return super().create_arg(a)

    def _constant(self, value, prefix, known):
        name = known.get(id(value))
        if name is None:
            name = self.get_fresh_qualname(prefix)
            setattr(self.root, name, value)
            known[id(value)] = name
        return self.create_node("get_attr", name, (), {})

    def get_fresh_qualname(self, prefix):
        """`prefix` and a number, such that the root has no attribute of that name."""
        count = 0
        while hasattr(self.root, f"{prefix}{count}"):
            count += 1
        return f"{prefix}{count}"

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What reading a parameter, buffer or submodule of a module gives."""
        if isinstance(attr_val, Parameter):
            named = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            named = self.root.named_buffers()
        else:
            return attr_val
        for name, value in named:
            if value is not attr_val:
                continue
            if name not in parameter_proxy_cache:
                factory = None
                if self.param_shapes_constant and isinstance(attr_val, Parameter):

                    def factory(node, name=name):
                        return ParameterProxy(self, node, name, attr_val)

                parameter_proxy_cache[name] = self.create_proxy(
                    "get_attr", name, (), {}, proxy_factory_fn=factory
                )
            return parameter_proxy_cache[name]
        return attr_val

    # --- modules ------------------------------------------------------------------------------

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module is one call_module node. Those of torch.nn are, but for containers."""
        package = m.__module__.split(".")[:2]
        ours = package in (["mindtorch_v2", "nn"], ["torch", "nn"])
        return ours and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        """The name that a submodule has in the root."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """A call of a module: one node, or what forward(*args, **kwargs) does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = path if calls == 0 else f"{path}@{calls}"
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    # --- programs -----------------------------------------------------------------------------

    def trace(self, root, concrete_args=None):
        """The Graph of a module or function. `concrete_args` gives parameters fixed values, by
        name; PH inside them stays an input."""
        global _is_fx_tracing_flag
        if isinstance(root, Module):
            function = self._take_module(root)
        else:
            assert isinstance(root, types.FunctionType | types.MethodType) or callable(root), (
                f"Expected FunctionType, got {type(root)}"
            )
            self.root, function = Module(), root
            self.root_module_name = getattr(root, "__name__", type(root).__name__)
            self.submodule_paths = {}
        self.graph = Graph(tracer_cls=getattr(type(self), "__fx_tracer_cls__", type(self)))
        self.tensor_attrs = {}
        if isinstance(root, Module):
            self._note_tensor_attributes(root, "")
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            names = getattr(inspect.unwrap(function), "__globals__", {})
            function, args = self.create_args_for_root(
                function, isinstance(root, Module), concrete_args
            )
            with _patching._Patcher() as patcher:
                self._patch_modules(patcher)
                _patching.patch_wrapped(
                    patcher,
                    [(names, name) for (_, name), names in _wrapped_fns_to_patch.items()],
                    _wrapped_methods_to_patch,
                )
                _patching.patch_known(patcher, names, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    _patching.patch_known(patcher, vars(module), self._autowrap_function_ids)
                result = self.create_arg(function(*args))
            annotation = getattr(function, "__annotations__", {}).get("return")
            self.create_node("output", "output", (result,), {}, type_expr=annotation)
            return self.graph
        finally:
            _is_fx_tracing_flag = before
            self.submodule_paths = None
            _made_from.clear()

    def _take_module(self, root):
        self.root = root
        self.root_module_name = root._get_name()
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        return _method_of(root, self.traced_func_name)

    def _note_tensor_attributes(self, module, prefix):
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                self.tensor_attrs[id(value)] = prefix + name
        for name, child in module.named_children():
            self._note_tensor_attributes(child, f"{prefix}{name}.")

    def _patch_modules(self, patcher):
        read, call, cache = Module.__getattr__, Module.__call__, {}

        def traced_getattr(module, name):
            return self.getattr(name, read(module, name), cache)

        def traced_call(module, *args, **kwargs):
            def forward(*args, **kwargs):
                return call(module, *args, **kwargs)

            function = getattr(module, "forward", module)
            names = getattr(function, "__globals__", {})
            _patching.patch_known(patcher, names, self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)

        patcher.patch_method(Module, "__getattr__", traced_getattr)
        patcher.patch_method(Module, "__call__", traced_call)

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, arguments): `root_fn` and a proxy for each of its parameters."""
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        signature = inspect.signature(analysed)
        count = code.co_argcount + code.co_kwonlyargcount
        first = 1 if is_module else 0
        if is_module and count == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        names = list(code.co_varnames[first:count])
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(names):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} "
                    "concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args, strict=True))
        args = [self.root] if is_module else []
        args += [self._proxy_placeholder(n, concrete_args, signature, analysed) for n in names]
        rest = [
            name
            for flag, name in (
                (inspect.CO_VARARGS, "*"),
                (inspect.CO_VARKEYWORDS, "**"),
            )
            if code.co_flags & flag
        ]
        for i, stars in enumerate(rest):
            name = stars + code.co_varnames[count + i]
            args.append(self._proxy_placeholder(name, concrete_args, signature, analysed))
        if rest or code.co_kwonlyargcount:
            root_fn = _with_positional_parameters(analysed, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args[first:]))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        return self._flattened(root_fn, names, args[:first], leaves, spec)

    def _flattened(self, root_fn, names, root, leaves, in_spec):
        """The same for parameters with a structure: takes and gives leaves."""
        codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))
        self.graph._codegen = codegen

        def function(*args):
            result = root_fn(*root, *pytree.tree_unflatten(list(args), in_spec))
            result, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return result

        return function, leaves

    def _proxy_placeholder(self, name, concrete_args, sig, fn_for_analysis):
        parameter = sig.parameters.get(name.lstrip("*"))
        default = ()
        if not name.startswith("*") and parameter.default is not inspect.Parameter.empty:
            default = (parameter.default,)
        if concrete_args is not None and name in concrete_args:
            return self._concrete(name, concrete_args[name], default)
        annotation = getattr(fn_for_analysis, "__annotations__", {}).get(name)
        return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)

    def _concrete(self, name, tree, default):
        """The tree with proxies for PH; for fixed values, inputs that are checked."""
        leaves, spec = pytree.tree_flatten(tree)
        found = []
        for i, value in enumerate(leaves, 1):
            given = self.create_proxy("placeholder", f"{name}_{i}", default, {})
            text = f"{name} has been specialized to have value {value} but got another value"
            if isinstance(value, PHBase):
                if value is not PH:
                    vars(given.node).update(
                        {k: v for k, v in vars(value).items() if not hasattr(given.node, k)}
                    )
                value = given
            elif isinstance(value, base_types) and not isinstance(value, torch.Tensor):
                _assert(given == value, text)
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (given, text), {})
            else:
                warnings.warn(
                    "Was not able to add assertion to guarantee correct input "
                    f"{name} to specialized function. It is up to the user to make sure that "
                    "your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            found.append(value)
        return pytree.tree_unflatten(found, spec)


def _method_of(root, name):
    """The function of a class behind a method of one of its objects."""
    if not hasattr(type(root), name):
        raise AssertionError(f"traced_func_name={name} doesn't exist in {type(root).__name__}")
    return getattr(type(root), name)


def _with_positional_parameters(function, count):
    """`function` with `count` plain parameters: *args, **kwargs and keyword-only ones are given
    by position, as one value each."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags
    )
    return types.FunctionType(
        code, function.__globals__, function.__name__, None, function.__closure__
    )


def symbolic_trace(root, concrete_args=None):
    """A GraphModule that does what a module or function does, made by running it on proxies.
    `concrete_args` fixes parameters, by name, so that Python code may decide by their values.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> traced(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else getattr(root, "__name__", "Function")
    return _make_graph_module(tracer.root, graph, name)


def _make_graph_module(root, graph, class_name):
    return GraphModule(root, graph, class_name)
