"""The text of docs/options.md, from the tables in mindtorch/base/options.h and of each device."""

HEAD = """# Environment variables

Written by `tools/make_stubs.py` from `mindtorch/base/options.h` and the `options.h` of each
backend; run `make stubs` after a change. `python -m mindtorch_v2.options` prints the same with the
values in force.

An empty variable is the same as one that is not set. A flag takes 1, true, yes, on, or 0, false,
no, off. A value of the wrong type is ignored, and a `UserWarning` at import names variable and
value. Variables are read at first use. The simulator's own, `MINDTORCH_SIM_*`, are in
[simulator.md](simulator.md).

| variable | type | default | meaning |
| --- | --- | --- | --- |
"""


def document(options):
    """`options` as mindtorch_v2.options.describe() gives them."""
    rows = (
        f"| `{row['name']}` | {row['type']} | {row['default']} | {row['meaning']} |\n"
        for row in options
    )
    return HEAD + "".join(rows)
