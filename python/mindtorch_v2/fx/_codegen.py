"""Python code of a Graph."""

import enum
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mindtorch_v2.fx._names import (
    _custom_builtins,
    _get_qualified_name,
    _is_from_torch,
    _Namespace,
    inplace_methods,
    magic_methods,
    operator_format,
    type_expression,
)
from mindtorch_v2.fx.immutable_collections import immutable_dict, immutable_list
from mindtorch_v2.fx.node import Node, map_arg
from mindtorch_v2.utils import _pytree as pytree


@dataclass
class PythonCode:
    """The source of a function and the names it needs."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)


def _format_target(base, target):
    """Code of an attribute of `base`; names that are not identifiers go through getattr."""
    code = base
    for part in target.split("."):
        code = f"{code}.{part}" if part.isidentifier() else f'getattr({code}, "{part}")'
    return code


def last_uses(nodes):
    """{node: the nodes that are used there for the last time}."""
    found, seen = {}, set()
    for node in reversed(nodes):

        def note(used, user=node):
            if used not in seen:
                seen.add(used)
                found.setdefault(user, []).append(used)
            return used

        map_arg(node.args, note)
        map_arg(node.kwargs, note)
    return found


class CodeGen:
    """Writes forward(). A subclass given to Graph.set_codegen changes its signature
    (gen_fn_def), its result (generate_output) or what arguments are made of (process_inputs,
    process_outputs).

    >>> class ListArguments(torch.fx.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         names = ", ".join(free_vars)
    ...         return f"def forward(self, args_list){maybe_return_annotation}:" + (
    ...             f"\\n    {names}, = args_list"
    ...         )
    >>> traced = torch.fx.symbolic_trace(lambda a, b: a + b)
    >>> traced.graph.set_codegen(ListArguments())
    >>> _ = traced.recompile()
    >>> traced([1, 2])
    3
    """

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The line with def; `free_vars` are the parameters."""
        parameters = ", ".join(free_vars if free_vars[:1] == ["self"] else ["self", *free_vars])
        return f"def {self._func_name}({parameters}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """The line with return."""
        return f"return {_argument(output_args, None)}"

    def process_inputs(self, *args):
        """The values of the placeholders for the arguments of forward()."""
        return args

    def process_outputs(self, outputs):
        """The result of forward() for the value of the output node."""
        return outputs

    def additional_globals(self):
        """[(name, object)] that gen_fn_def and generate_output need."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, **_):
        return _Writer(self, list(nodes), root_module, namespace, verbose).write()


class _PyTreeInfo(NamedTuple):
    """Names of the parameters, and the structures of arguments and result."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Nested arguments and results: placeholders are the leaves."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args):
        return pytree.arg_tree_leaves(*args)

    def process_outputs(self, outputs):
        if self.pytree_info.out_spec is None:
            return outputs
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        return pytree.tree_unflatten(list(outputs), self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        names = self.pytree_info.orig_args
        head = super().gen_fn_def(names, maybe_return_annotation)
        if not free_vars:
            return head
        # Annotations and defaults do not belong in an assignment.
        targets = "".join(re.split(r"[ :=]", name)[0] + ", " for name in free_vars)
        return (
            f"{head}\n    {targets}= fx_pytree.tree_flatten_spec([{', '.join(names)}], "
            "self._in_spec)"
        )

    def generate_output(self, output_args):
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            leaves = _argument(list(output_args), None)
            return f"return pytree.tree_unflatten({leaves}, self._out_spec)"
        return super().generate_output(output_args)


def _argument(value, add_global):
    """Code that gives an argument of a node."""
    if isinstance(value, Node):
        return value.name
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        cls = type(value)
        name = cls.__name__ if add_global is None else add_global(_get_qualified_name(cls), cls)
        return f"{name}({', '.join(_argument(item, add_global) for item in value)})"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return f"({', '.join(_argument(item, add_global) for item in value)}{comma})"
    if isinstance(value, (list, immutable_list)):
        return f"[{', '.join(_argument(item, add_global) for item in value)}]"
    if isinstance(value, (dict, immutable_dict)):
        entries = (f"{key!r}: {_argument(item, add_global)}" for key, item in value.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, slice):
        parts = (_argument(part, add_global) for part in (value.start, value.stop, value.step))
        return f"slice({', '.join(parts)})"
    if add_global is not None:
        if isinstance(value, enum.Enum):
            cls = type(value)
            return f"{add_global(_get_qualified_name(cls), cls)}.{value.name}"
        if callable(value) and hasattr(value, "__name__"):
            return add_global(_get_qualified_name(value), value)
    return repr(value)


class _Writer:
    """Writes one function."""

    def __init__(self, codegen, nodes, root_module, namespace, verbose):
        self.codegen, self.nodes, self.root = codegen, nodes, root_module
        self.namespace, self.verbose = namespace, verbose
        self.globals = {}
        self.parameters = []  # of the function
        self.lines = []  # of the body: (text, index of the node or None)
        self.wrapped = {}  # names of functions that fx.wrap() knows
        self.return_annotation = ""

    def add_global(self, hint, obj):
        """The name that the code calls `obj`."""
        for name, builtin in _custom_builtins.items():
            if builtin.obj is obj:
                self.globals[name] = obj
                return name
        if _is_from_torch(obj):
            return _get_qualified_name(obj)
        name = self.namespace.create_name(hint.replace(".", "_"), obj)
        self.globals[name] = obj
        return name

    def type_text(self, annotation):
        return type_expression(annotation, self.add_global)

    def argument(self, value):
        return _argument(value, self.add_global)

    def arguments(self, args, kwargs):
        texts = [self.argument(value) for value in args]
        texts += [f"{name} = {self.argument(value)}" for name, value in kwargs.items()]
        return ", ".join(texts)

    def write(self):
        for name, builtin in _custom_builtins.items():
            self.globals[name] = builtin.obj
        for name, obj in self.codegen.additional_globals():
            self.globals[self.add_global(name, obj)] = obj
        done_after = last_uses(self.nodes)
        for index, node in enumerate(self.nodes):
            if self.verbose and node.stack_trace:
                place = node.stack_trace.strip().splitlines()[-2:]
                self.lines.append(("# " + ", ".join(line.strip() for line in place), None))
            text = self.statement(node)
            if text is None:
                continue
            if node.op not in ("placeholder", "output"):
                unused = [used.name for used in done_after.get(node, ())]
                if not node.users:
                    unused.append(node.name)
                if unused:
                    text += f";  {' = '.join(unused)} = None"
            self.lines.append((text, index))
        if not self.lines:
            self.lines.append(("pass", None))
        return self.assemble()

    def assemble(self):
        transform = self.codegen._body_transformer
        if transform is not None:
            lines = transform([f"{text}\n" for text, _ in self.lines])
            self.lines = [(text, None) for text in "".join(lines).splitlines()]
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        head = self.codegen.gen_fn_def(self.parameters, self.return_annotation)
        body = "\n".join(f"    {text}" for text, _ in self.lines)
        # The lines of wraps, if any, stand before the function, and so does an empty one.
        first = wraps.count("\n") + head.count("\n") + 4
        numbers = {first + i: index for i, (_, index) in enumerate(self.lines)}
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}\n    ", self.globals, numbers)

    def statement(self, node):
        annotation = "" if node.type is None else f" : {self.type_text(node.type)}"
        if node.op == "placeholder":
            default = f" = {self.argument(node.args[0])}" if node.args else ""
            self.parameters.append(f"{node.target}{annotation}{default}")
            name = node.target.replace("*", "")
            return None if name == node.name else f"{node.name} = {name}"
        if node.op == "output":
            if node.type is not None:
                self.return_annotation = f" -> {self.type_text(node.type)}"
            return self.output(node)
        if node.op == "get_attr":
            return f"{node.name}{annotation} = {_format_target(self.root, node.target)}"
        if node.op == "call_function":
            return self.function_call(node, annotation)
        if node.op == "call_module":
            called, args = _format_target(self.root, node.target), node.args
        else:
            called = _format_target(self.argument(node.args[0]), node.target)
            args = node.args[1:]
        return f"{node.name}{annotation} = {called}({self.arguments(args, node.kwargs)})"

    def output(self, node):
        """The line with return, with names for objects inside it."""
        cls = type(self.codegen)
        if cls.generate_output is CodeGen.generate_output:
            return f"return {self.argument(node.args[0])}"
        return self.codegen.generate_output(node.args[0])

    def function_call(self, node, annotation):
        target, args, kwargs = node.target, node.args, node.kwargs
        plain = not kwargs and all(not isinstance(a, slice) or i > 0 for i, a in enumerate(args))
        form = operator_format(target, magic_methods)
        if form is not None and plain and form.count("{}") == len(args):
            return f"{node.name}{annotation} = {form.format(*map(self.operand, args))}"
        form = operator_format(target, inplace_methods)
        if form is not None and plain and form.count("{}") == len(args):
            statement = form.format(*map(self.operand, args))
            return f"{statement};  {node.name}{annotation} = {self.argument(args[0])}"
        if target is getattr and len(args) == 2 and not kwargs:
            attribute = args[1]
            if isinstance(attribute, str) and attribute.isidentifier():
                owner = self.operand(args[0])
                return f"{node.name}{annotation} = {owner}.{attribute}"
        name = self.add_global(_function_hint(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(name)
        return f"{node.name}{annotation} = {name}({self.arguments(args, kwargs)})"

    def operand(self, value):
        """An argument beside an operator."""
        text = self.argument(value)
        return f"({text})" if isinstance(value, (int, float)) and text[0] == "-" else text


def _function_hint(target):
    if getattr(target, "__module__", None) == "_operator":
        return f"_operator.{target.__name__}"
    if not hasattr(target, "__name__"):
        return type(target).__name__
    return _get_qualified_name(target)


def python_code(graph, root_module, *, verbose=False):
    """The code of `graph`, with a namespace of its own in which its nodes have their names."""
    namespace = _Namespace()
    names = {}
    for node in graph.nodes:
        names[node] = node.name
        node.name = namespace.create_name(node.name, node)
    try:
        return graph._codegen._gen_python_code(graph.nodes, root_module, namespace, verbose=verbose)
    finally:
        for node, name in names.items():
            node.name = name
