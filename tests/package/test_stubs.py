"""The type stubs name what there is."""

import ast
import pathlib

import mindtorch_v2
import pytest

PACKAGE = pathlib.Path(mindtorch_v2.__file__).parent


def defined(body):
    """The names that statements of a stub define."""
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def stub(name):
    return ast.parse((PACKAGE / name).read_text()).body


def test_package_names(torch):
    missing = {name for name in dir(torch) if name[0] != "_"} - defined(stub("__init__.pyi"))
    # An op named like a keyword cannot be written in a stub.
    assert missing == set()


def test_tensor_names(torch):
    [cls] = [n for n in stub("_C.pyi") if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    missing = {name for name in dir(torch.Tensor) if name[0] != "_"} - defined(cls.body)
    assert missing == set()


def test_native_names():
    from mindtorch_v2 import _C

    missing = {name for name in vars(_C) if not name.startswith("__")} - defined(stub("_C.pyi"))
    assert missing == set()


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_device_names(torch, kind):
    module = getattr(torch, kind)
    public = {name for name in vars(module) if name[0] != "_"}
    assert public - defined(stub(f"{kind}/__init__.pyi")) == set()
    assert "Stream" in public and "memory_stats" in public


def test_stubs_name_nothing_else(torch):
    for node in stub("__init__.pyi"):
        for name in defined([node]):
            assert name[0] == "_" or name in ("Any", "Sequence", "TypeAlias", "builtins",
                                              "overload") or hasattr(torch, name), name  # fmt: skip


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()
