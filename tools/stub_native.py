"""The part of the native module's stub that nanobind's stubgen writes. Read by make_stubs.py."""

import ast

from nanobind.stubgen import StubGen

# Inside the native module int, float and bool may be dtypes; nanobind's object takes anything.
NAMES = {
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "object": "Any",
    "list": "list[Any]",
    "dict": "dict[str, Any]",
}


class _Annotations(ast.NodeTransformer):
    def visit_Subscript(self, node):
        node.slice = self.visit(node.slice)  # list[int]: the list itself says enough
        return node

    def visit_Name(self, node):
        return ast.parse(NAMES.get(node.id, node.id), mode="eval").body


class _Functions(ast.NodeTransformer):
    """Plain signatures: no documentation, the package's names of types."""

    def visit_ClassDef(self, node):
        node.body = [self.visit(each) for each in node.body if not isinstance(each, ast.Expr)]
        node.body = node.body or [ast.Expr(ast.Constant(...))]
        return node

    def visit_FunctionDef(self, node):
        types = _Annotations()
        arguments = node.args
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            arg.annotation = arg.annotation and types.visit(arg.annotation)
        for arg in filter(None, (arguments.vararg, arguments.kwarg)):
            arg.annotation = ast.Name("Any")
        node.returns = node.returns and types.visit(node.returns)
        node.body = [ast.Expr(ast.Constant(...))]
        return node


def native_names(module, skip):
    """Stubs of everything that nanobind bound in the module, without the names in `skip`."""
    generator = StubGen(module, include_private=True, quiet=True)
    for name, value in vars(module).items():
        if type(value).__name__ in ("nb_func", "nb_type") and name not in skip:
            generator.put(value, name=name, parent=module)
    tree = ast.parse(generator.get())
    wanted = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    return "\n".join(ast.unparse(_Functions().visit(node)) for node in wanted) + "\n"
