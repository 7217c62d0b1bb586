"""Lists the ACLNN ops that kernels name, as C strings: list_aclnn_ops.py OUT TABLE SOURCE..."""

import pathlib
import re
import sys


def main():
    out, table, *sources = map(pathlib.Path, sys.argv[1:])
    known = {line.split("\t")[0] for line in table.read_text().splitlines()}
    named = {
        name for source in sources for name in re.findall(r"\baclnn[A-Z]\w*", source.read_text())
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f'"{name}",\n' for name in sorted(known & named)))


if __name__ == "__main__":
    main()
