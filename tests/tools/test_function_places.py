"""A pointwise op with a tile of its own is written in few places, and nothing lists it besides."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = ("mindtorch", "bindings", "tests/ops/cases")


def places(name):
    """Where the sources name a function, but for devices whose vendor has an op for it."""
    word = re.compile(rf"\bk?{name}\b", re.IGNORECASE)
    files = (path for folder in SOURCES for path in (ROOT / folder).rglob("*.*"))
    return {
        str(path.relative_to(ROOT))
        for path in files
        if path.suffix in (".h", ".cpp", ".py") and "ascend" not in path.parts
        if word.search(re.sub(r"np\.\w+", "", path.read_text()))
    }


def test_logaddexp_is_five_places():
    assert places("logaddexp") == {
        "mindtorch/ops/pointwise.h",  # its number
        "mindtorch/ops/functions/powers.cpp",  # its row: formula, gradients, cost, tolerance
        "mindtorch/ops/definitions/binary.cpp",  # the op
        "mindtorch/backends/cpu/tiles/power.cpp",  # the tile, and the line that enters it
        "tests/ops/cases/binary.py",
    }
