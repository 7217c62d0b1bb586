"""python -m mindtorch_v2 program.py: runs a program with mindtorch in the place of torch."""

import os
import sys

_USAGE = """\
usage: python -m mindtorch_v2 [--device npu] program.py [argument ...]
       python -m mindtorch_v2 [--device npu] -m module [argument ...]
       python -m mindtorch_v2 [--device npu] -c code [argument ...]
       python -m mindtorch_v2 [--device npu] [- [argument ...]]

Runs a program, a module, code, or what stands on standard input, as python itself would;
`import torch` and `import torch_npu` give mindtorch.

  --device npu   a device named "cuda" is an NPU
  -h, --help     print this
"""


class _UsageError(Exception):
    """What was wrong with the command line."""


def _options(arguments):
    """(device, the rest), where the rest begins with what is to be run."""
    device = None
    while arguments and arguments[0].startswith("--"):
        name, equals, value = arguments.pop(0).partition("=")
        if name == "--help":
            return device, [name]
        if name != "--device":
            raise _UsageError(f"unknown option {name}")
        if not equals:
            value = arguments.pop(0) if arguments else ""
        if value != "npu":
            raise _UsageError(f"--device takes npu, not {value!r}")
        device = value
    return device, arguments


def _new_main(path=None):
    """An empty __main__ in the place of this module."""
    import types

    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    if path is not None:
        from importlib.machinery import SourceFileLoader

        module.__file__ = path
        module.__cached__ = None
        module.__loader__ = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    return module.__dict__


def _run_file(path, arguments):
    sys.argv = [path, *arguments]
    absolute = os.path.abspath(path)
    if not os.path.isfile(absolute) or absolute.endswith((".zip", ".pyz", ".pyc")):
        import runpy

        if not os.path.exists(absolute):
            raise _UsageError(f"can't open file {absolute!r}: no such file")
        sys.path.pop(0)  # run_path puts folder or archive there
        runpy.run_path(path, run_name="__main__")
        return
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    with open(absolute, "rb") as file:
        code = compile(file.read(), absolute, "exec", dont_inherit=True)
    exec(code, _new_main(absolute))


def _run_module(name, arguments):
    import runpy

    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_code(text, arguments):
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<string>", "exec", dont_inherit=True), _new_main())


def _run_input(arguments):
    sys.argv = ["-", *arguments]
    if sys.stdin.isatty():
        import code

        code.interact(local=_new_main(), exitmsg="")
        return
    exec(compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), _new_main())


def main(arguments):
    device, arguments = _options(list(arguments))
    first, *rest = arguments or ["-"]
    if first in ("-h", "--help"):
        print(_USAGE, end="")
        return
    import mindtorch_v2

    mindtorch_v2.install_as_torch(device=device)
    if first in ("-m", "-c"):
        if not rest:
            raise _UsageError(f"{first} needs an argument")
        (_run_module if first == "-m" else _run_code)(rest[0], rest[1:])
    elif first == "-":
        _run_input(rest)
    elif first.startswith("-"):
        raise _UsageError(f"unknown option {first}")
    else:
        _run_file(first, rest)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except _UsageError as error:
        print(f"python -m mindtorch_v2: {error}\n{_USAGE}", end="", file=sys.stderr)
        sys.exit(2)
