"""python -m mindtorch_v2.npu.simulator [--list | --folder]"""

import argparse

from mindtorch_v2.npu.simulator import _library


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


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.npu.simulator",
        description="Where the Ascend simulator is, what it simulates, how to use it.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="every function by name")
    what.add_argument("--folder", action="store_true", help="only the folder of the libraries")
    chosen = parser.parse_args(arguments)
    print(_listing() if chosen.list else _library.folder() if chosen.folder else _report())


if __name__ == "__main__":
    main()
