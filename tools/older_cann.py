"""Copies the simulated CANN libraries without some of their symbols, as an older release would be:

    python tools/older_cann.py FROM TO           # without what is newer than CANN 8.1.RC1
    python tools/older_cann.py FROM TO NAME ...  # without these

A program that looks a symbol up there takes the way that it has for releases without it.
"""

import pathlib
import sys

import make_acl_abi

TABLES = pathlib.Path(__file__).resolve().parents[1] / "mindtorch" / "backends" / "ascend" / "abi"


def without(library, names):
    """The bytes of a shared library in which nobody finds the names. The symbols stay, under a name
    that no lookup asks for, so that nothing in the file moves."""
    for name in names:
        library = library.replace(b"\0" + name + b"\0", b"\0~" + name[1:] + b"\0")
    return library


def main():
    source, target, *names = sys.argv[1:]
    if not names:
        names = [name for name, *_ in make_acl_abi.rows(TABLES / "functions_newer.tsv")]
        for name, *parameters in make_acl_abi.rows(TABLES / "operators_newer.tsv"):
            if parameters != [make_acl_abi.LEFT_OUT]:
                names += [f"{name}GetWorkspaceSize", name]
    libraries = {path.name: path.read_bytes() for path in pathlib.Path(source).glob("lib*.so")}
    for name in names:
        if not any(b"\0" + name.encode() + b"\0" in data for data in libraries.values()):
            sys.exit(f"no library in {source} has the symbol {name}")
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    for name, data in libraries.items():
        (pathlib.Path(target) / name).write_bytes(without(data, [n.encode() for n in names]))


if __name__ == "__main__":
    main()
