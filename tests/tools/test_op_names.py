"""The layers that treat all ops alike know none by name: what differs is a trait."""

import pathlib
import re

from mindtorch_v2 import _C

DISPATCH = pathlib.Path(__file__).parents[2] / "mindtorch" / "dispatch"
# The two ops that preparing a call uses as tools; and words of the language of patterns.
ALLOWED = {
    ("eager/copy.cpp", "copy_"),
    ("eager/copy.cpp", "clone"),
    ("plan/pattern.cpp", "view"),
    ("plan/pattern.cpp", "alias"),
}


def test_no_op_name_in_dispatch():
    names = set()
    for full_name in _C._all_op_names():
        names |= {full_name, full_name.split(".")[0]}
    found = {
        (str(path.relative_to(DISPATCH)), text)
        for path in DISPATCH.rglob("*.cpp")
        for text in re.findall(r'"([^"\\\n]+)"', path.read_text())
        if names.issuperset(text.split())
    }
    assert found == ALLOWED
