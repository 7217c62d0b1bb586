"""python -m mindtorch_v2.npu.simulator [run PROGRAM ... | env | --list | --folder]"""

import argparse
import sys

from mindtorch_v2.npu.simulator import _environment, _library


def _report():
    folder = _library.folder()
    functions = _library.functions()
    kinds = {"ops": [], "functions": []}
    for name, simulated in functions.items():
        kinds["ops" if name.startswith("aclnn") else "functions"].append(simulated)
    linked = f"-L{folder} -Wl,-rpath,{folder} -lopapi -lnnopbase -lascendcl"
    preloaded = ":".join(f"{folder}/lib{library}.so" for library in _library.LIBRARIES)
    counts = [f"  {kind}: {sum(flags)} of {len(flags)} simulated" for kind, flags in kinds.items()]
    return "\n".join(
        [
            f"Libraries: {folder}",
            *(f"  lib{library}.so" for library in _library.LIBRARIES),
            "",
            "Of CANN's functions",
            *counts,
            '  The others answer "not supported", by name, in aclGetRecentErrMsg.',
            "  --list names all of them.",
            "",
            "With this package",
            "  MINDTORCH_NPU=sim python program.py",
            "  or torch.npu.simulator.enable() before anything else of torch.npu",
            "With a C or C++ program",
            f"  gcc -rdynamic program.c {linked}",
            "  -rdynamic lets reports name its functions",
            "With a Python program for another library, such as torch_npu",
            "  python -m mindtorch_v2.npu.simulator run program.py ...    (-m and -c, too)",
            '  eval "$(python -m mindtorch_v2.npu.simulator env)"    for all that a shell runs',
            "With a program that is linked to CANN already",
            f"  LD_LIBRARY_PATH={folder} ./program",
            "With one that names CANN's folder itself (RPATH)",
            f"  LD_PRELOAD={preloaded} ./program",
            "Settings are variables of the environment, such as MINDTORCH_SIM_DEVICES=2.",
        ]
    )


def _listing():
    """One line for each function, those that are simulated first."""
    functions = _library.functions()
    words = {True: "simulated", False: "not supported"}
    ordered = sorted(functions.items(), key=lambda item: (not item[1], item[0]))
    lines = [f"{words[simulated]}\t{name}" for name, simulated in ordered]
    # By name: all others answer so, too.
    lines += [f"simulated\taclopCompileAndExecute {name}" for name in _library.named_ops()]
    return "\n".join(lines)


def _run(arguments):
    """What follows `run` is the interpreter's, all of it."""
    python = None
    if arguments[:1] == ["--python"]:
        python, arguments = (arguments[1] if len(arguments) > 1 else ""), arguments[2:]
    if not arguments or python == "":
        sys.exit("usage: python -m mindtorch_v2.npu.simulator run [--python PYTHON] PROGRAM ...")
    _environment.run(arguments, python)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["run"]:
        return _run(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.npu.simulator",
        description="Where the Ascend simulator is, what it simulates, how to use it.",
        epilog="run [--python PYTHON] PROGRAM ...: runs somebody else's program, or -m MODULE or "
        "-c TEXT, with the simulator in CANN's place. env: prints what does so in a shell.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="every function by name")
    what.add_argument("command", nargs="?", choices=["env"], help="lines for a shell; see below")
    what.add_argument("--folder", action="store_true", help="only the folder of the libraries")
    chosen = parser.parse_args(arguments)
    if chosen.command == "env":
        print(_environment.exports())
    else:
        print(_listing() if chosen.list else _library.folder() if chosen.folder else _report())


if __name__ == "__main__":
    main()
