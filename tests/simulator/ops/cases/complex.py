"""Complex numbers from their parts, and back."""

import numpy as np

from ..case import Case, In, Out
from ..values import FLOATS, random

WHOLE = {"f32": "c64", "f64": "c128"}


def parts(op, f):
    def cases():
        made = []
        for dtype, result in WHOLE.items():
            for shape in [(3, 4), (0, 4), ()]:
                a, b = random(shape, dtype, 1), random((), dtype, 2)
                arguments = [In(a, dtype), In(b, dtype), Out(f(a, b), result)]
                made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def real():
    made = []
    for dtype in (*FLOATS, "f64"):
        x = random((3, 4), dtype, 1)
        made.append(Case("aclnnReal", [In(x, dtype), Out(x, dtype)], dtype))
    for dtype, whole in WHOLE.items():
        x = random((3, 4), whole, 1)
        made.append(Case("aclnnReal", [In(x, whole), Out(x.real, dtype)], whole))
    return made


OPS = {
    "aclnnComplex": parts("aclnnComplex", lambda a, b: a + 1j * b),
    "aclnnPolar": parts("aclnnPolar", lambda a, b: a * np.exp(1j * b)),
    "aclnnReal": real,
}
