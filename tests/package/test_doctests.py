"""Every example in the documentation gives what it says."""

import doctest
import importlib
import inspect
import pkgutil

import mindtorch_v2
import pytest
from mindtorch_v2 import _C

from tests.support import simulated

EXAMPLES = {op["base"]: op["example"] for op in _C._op_schemas() if op["example"]}
NATIVE = {
    name: value.__doc__
    for name, value in sorted(vars(_C).items())
    if callable(value) and ">>>" in (value.__doc__ or "")
}
METHODS = {
    name: value.__doc__
    for name, value in sorted(vars(_C.Tensor).items())
    if not isinstance(value, type(_C._functions["add"])) and ">>>" in (value.__doc__ or "")
}
# These show what needs a device: a simulated one, in a process of their own.
ON_NPU = [
    "mindtorch_v2._graphs",
    "mindtorch_v2._streams",
    "mindtorch_v2.accelerator",
    "mindtorch_v2.npu.doctor",
    "mindtorch_v2.npu.simulator",
]
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(mindtorch_v2.__path__, "mindtorch_v2.")
    # Importing transfer_to_npu is what it does.
    if not name.endswith(("._C", ".where", ".tensorboard", ".transfer_to_npu"))
    and name not in ON_NPU
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Examples may write files."""
    monkeypatch.chdir(tmp_path)


def run(text, name):
    functional = importlib.import_module("mindtorch_v2.nn.functional")
    names = {"torch": mindtorch_v2, "F": functional}
    mindtorch_v2.manual_seed(0)
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
    return len(test.examples)


@pytest.mark.parametrize("name", EXAMPLES)
def test_ops(name):
    assert run(EXAMPLES[name], name) > 0


@pytest.mark.parametrize("name", NATIVE)
def test_native_functions(name):
    run(NATIVE[name], name)


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    run(METHODS[name], name)


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module = importlib.import_module(name)
    run(module.__doc__ or "", name)
    for key, value in vars(module).items():
        if getattr(value, "__module__", None) != name or not value.__doc__:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            run(inspect.cleandoc(value.__doc__), f"{name}.{key}")


@pytest.mark.parametrize("name", ON_NPU)
def test_modules_on_npu(name):
    text = simulated.run(
        f"""
import doctest, importlib
module = importlib.import_module({name!r})
print(doctest.testmod(module, extraglobs={{"torch": torch}}, optionflags=doctest.ELLIPSIS))
"""
    )
    assert "failed=0" in text and "attempted=0" not in text, text


def test_public_functions_are_documented(torch):
    """Every public function of the package says in a sentence what it does."""
    silent = [
        name
        for name in dir(torch)
        if not name.startswith("_")
        and callable(getattr(torch, name))
        and not (getattr(torch, name).__doc__ or "").strip()
    ]
    assert silent == []
