"""GraphModule: a module whose forward() is the code of a Graph."""

import contextlib
import copy
import itertools
import linecache
import os
import pickle
import warnings
from pathlib import Path

import mindtorch_v2 as torch
from mindtorch_v2.fx._attributes import (
    _assign_attr,
    _copy_attr,
    _del_attr,
    _get_attr,
    _get_attr_via_attr_list,
    _has_attr,
)
from mindtorch_v2.fx._codegen import PythonCode, _PyTreeCodeGen
from mindtorch_v2.fx._names import _custom_builtins, _is_from_torch
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.nn import Module

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_file_numbers = itertools.count()


def _exec_with_source(src, globals):
    """Runs code whose lines tracebacks and inspect can show."""
    file = f"<eval_with_key>.{next(_file_numbers)}"
    # No modification time: checkcache() leaves the entry alone.
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    exec(compile(src, file, "exec"), globals)


def _forward_from_src(src, globals):
    """The function forward() that `src` defines."""
    return _method_from_src("forward", src, globals)


def _method_from_src(method_name, src, globals):
    names = dict(globals)
    _exec_with_source(src, names)
    return names[method_name]


def _import_statement(name, obj):
    """Defines `name` as `obj` in another file."""
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    module = pickle.whichmodule(obj, obj.__name__)
    found = __import__(module, fromlist=["_"])
    if getattr(found, obj.__name__, None) is not obj:
        raise pickle.PicklingError(
            f"{obj!r} is not found as {module}.{obj.__name__}, so that code that uses it cannot "
            "be saved; define it at the top level of a module"
        )
    return f"from {module} import {obj.__name__} as {name}"


def _format_import_block(globals):
    return "\n".join(dict.fromkeys(_import_statement(*item) for item in globals.items()))


class _CodeOnlyModule(Module):
    """A module with the attributes of another."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body, import_block):
    """What unpickling a GraphModule calls: runs its code and traces it again."""
    names = {}
    exec(import_block, names)
    return _rebuild(_forward_from_src(body["_code"], names), body)


def _rebuild(forward, body):
    from mindtorch_v2.fx._symbolic_trace import PH, Tracer
    from mindtorch_v2.utils import _pytree as pytree

    tracer_class = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_class):
        """Its modules were leaves, or they would not be there."""

        def is_leaf_module(self, m, module_qualified_name):
            return True

    module = type("GraphModule", (_CodeOnlyModule,), {"forward": forward})(body)
    concrete_args = None
    if body.get("_in_spec") is not None:
        spec = body["_in_spec"]
        concrete_args = pytree.tree_unflatten([PH] * spec.num_leaves, spec)
    graph = KeepModules().trace(module, concrete_args)
    graph._tracer_cls = body.get("_tracer_cls")
    result = GraphModule(module, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for key, value in body.items():
        if not hasattr(result, key):
            setattr(result, key, value)
    return result


class GraphModule(Module):
    """A module that runs a Graph. `root` gives the attributes that the graph names: a module, or
    a dict by dotted name. After a change of the graph call recompile().

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    >>> list(traced.graph.nodes)
    [input_1, _0, output]
    >>> traced(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    _code: str

    def __new__(cls, *args, **kwargs):
        # forward() belongs to a class: each object has its own.
        base = next(c for c in cls.__mro__ if "_class_of_one_object" not in vars(c))
        own = type(base.__name__, (base,), {"_class_of_one_object": True})
        own.__module__ = base.__module__
        return super().__new__(own)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                assert isinstance(target, str), f"target should be a str, got {type(target)}"
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
            # A module before what is inside it.
            for target in sorted(set(targets), key=lambda name: name.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._replace_hooks, self._create_node_hooks, self._erase_node_hooks = [], [], []
        self._deepcopy_hooks = []
        self.meta = {}
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = None
        if tracer is not None and "<locals>" not in tracer.__qualname__:
            self._tracer_cls = tracer
        self._tracer_extras = graph._tracer_extras or {}

    # --- graph and code -----------------------------------------------------------------------

    @property
    def graph(self):
        """The Graph that it runs."""
        return self._graph

    @graph.setter
    def graph(self, g):
        assert isinstance(g, Graph), f"Expected a Graph instance, but got {type(g)}"
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of forward()."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self):
        """Generates forward() from the graph again.

        >>> traced = torch.fx.symbolic_trace(lambda x: x.neg())
        >>> traced.graph.find_nodes(op="call_method")[0].target = "abs"
        >>> _ = traced.recompile()
        >>> traced(torch.tensor(-2.0))
        tensor(2.)
        """
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map = code._lineno_map
        type(self).forward = _method_from_src(codegen._func_name, code.src, code.globals)
        return code

    def _recompile_submodules(self):
        return [
            (name, module.recompile())
            for name, module in self.named_children()
            if isinstance(module, GraphModule)
        ]

    def __str__(self):
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])

    def print_readable(
        self,
        print_output=True,
        include_stride=False,
        include_device=False,
        colored=False,
    ):
        """The code as a class, those of inner GraphModules inside it; printed and returned.

        >>> _ = torch.fx.symbolic_trace(lambda x: x).print_readable()  # doctest: +ELLIPSIS
        class <lambda>(torch.nn.Module):
            def forward(self, x):
        ...
        """
        text = self._readable(self._get_name())
        if print_output:
            print(text)
        return text

    def _readable(self, name):
        code = self._graph.python_code(root_module="self", verbose=True).src
        lines = [f"class {name}(torch.nn.Module):"]
        lines += [f"    {line}".rstrip() for line in code.strip("\n").rstrip().splitlines()]
        for child_name, child in self.named_children():
            if isinstance(child, GraphModule):
                inner = child._readable(child_name)
                lines += ["", *(f"    {line}".rstrip() for line in inner.splitlines())]
        return "\n".join(lines) + "\n"

    # --- submodules ---------------------------------------------------------------------------

    def add_submodule(self, target, m):
        """Adds a submodule by dotted name; False where something else stands in the way."""
        *path, name = target.split(".")
        module = self
        for part in path:
            child = getattr(module, part, None)
            if child is None:
                child = Module()
                setattr(module, part, child)
            elif not isinstance(child, Module):
                return False
            module = child
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Deletes a submodule by dotted name; False where there is none."""
        if not _has_attr(self, target) or not isinstance(_get_attr(self, target), Module):
            return False
        _del_attr(self, target)
        return True

    def delete_all_unused_submodules(self):
        """Deletes the submodules that no node names, and that hold none that a node names."""
        used = set()
        for node in self._graph.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            path = node.target.split(".")
            used.update(".".join(path[:i]) for i in range(1, len(path) + 1))
            if node.op == "call_module":
                called = self.get_submodule(node.target)
                used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- hooks --------------------------------------------------------------------------------

    def _register_replace_node_hook(self, f):
        """f(old=node, new=name, user=node) whenever a node uses another one instead."""
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        """f(node) for every new node."""
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        """f(node) before a node is erased."""
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f):
        """f(module) for every deep copy."""
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    # --- copies and files ---------------------------------------------------------------------

    def __copy__(self):
        copied = GraphModule(self, self._graph, self._get_name())
        copied.meta = getattr(self, "meta", {})
        return copied

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        own = {key: value for key, value in vars(self).items() if key != "_graph"}
        Module.__init__(copied)
        copied.__dict__.update(copy.deepcopy(own, memo))
        type(copied).__name__ = type(self).__name__
        copied.graph = copy.deepcopy(self._graph, memo)
        for hook in self._deepcopy_hooks:
            hook(copied)
        return copied

    def __reduce__(self):
        code = self._graph.python_code(root_module="self")
        body = {**vars(self), "_code": code.src, "_graphmodule_cls_name": self._get_name()}
        del body["_graph"]
        for key in ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks"):
            body.pop(key, None)
        return reduce_graph_module, (body, _format_import_block(code.globals))

    def to_folder(self, folder, module_name="FxModule"):
        """Writes a Python package with the code as a class `module_name`, and its weights.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.fx.symbolic_trace(lambda x: x).to_folder(folder)
        ...     sorted(os.listdir(folder))
        ['__init__.py', 'module.py', 'state_dict.pt']
        """
        folder = Path(folder)
        folder.mkdir(exist_ok=True, parents=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        code = self._graph.python_code(root_module="self")
        lines, pickled = [], []
        for name, module in self.named_children():
            if _has_constructor_repr(module):
                lines.append(f"setattr(self, {name!r}, {module!r})")
                continue
            file = folder / f"{name}.pt"
            torch.save(module, file)
            pickled.append(name)
            lines.append(f"setattr(self, {name!r}, torch.load({str(file)!r}, weights_only=False))")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                new = f"torch.empty({list(buffer.shape)}, dtype={buffer.dtype})"
                lines.append(f"self.register_buffer({name!r}, {new})")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                new = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
                lines.append(f"setattr(self, {name!r}, torch.nn.Parameter({new}))")
        state = os.fspath(folder / "state_dict.pt")
        lines.append(f"self.load_state_dict(torch.load({state!r}))")
        body = "".join(f"        {line}\n" for line in lines)
        forward = "\n".join(f"    {line}".rstrip() for line in code.src.splitlines())
        (folder / "module.py").write_text(
            f"{_format_import_block(code.globals)}\nfrom mindtorch_v2.nn import *\n\n\n"
            + f"class {module_name}(torch.nn.Module):\n    def __init__(self):\n"
            + f"        super().__init__()\n{body}{forward}\n"
        )
        (folder / "__init__.py").write_text("from .module import *\n")
        if pickled:
            warnings.warn(
                "Was not able to save the following children modules as reprs -saved as pickled "
                f"files instead: {pickled}",
                stacklevel=2,
            )


# Modules whose repr() is a call that makes one.
def _has_constructor_repr(module):
    nn = torch.nn
    return type(module) in (
        nn.Linear,
        nn.Conv1d,
        nn.Conv2d,
        nn.Conv3d,
        nn.BatchNorm1d,
        nn.BatchNorm2d,
        nn.BatchNorm3d,
        nn.ReLU,
        nn.Dropout,
    )
