"""Tokens of several ranks in the order of the experts."""

import numpy as np

from ..case import Case, In, Out
from ..values import random


def rerouting():
    made = []
    counts = np.array([[2, 0, 3], [1, 2, 0], [0, 1, 2]])  # of each rank and expert
    starts = np.cumsum(np.append(0, counts.reshape(-1)[:-1])).reshape(counts.shape)
    order = []
    for expert in range(3):
        for rank in range(3):
            first = starts[rank, expert]
            order += range(first, first + counts[rank, expert])
    n = len(order)
    for dtype in ("f16", "bf16", "i8"):
        for scaled in (False, True):
            for index in ("i32", "i64"):
                x, scales = random((n, 4), dtype, 1), random((n,), "f32", 2)
                moved = scales[order] if scaled else np.zeros(n)
                arguments = [In(x, dtype), In(counts, index), In(scales, "f32") if scaled else None]
                outputs = [Out(x[order], dtype)]
                outputs += [Out(moved, "f32")] if scaled else [In(moved, "f32")]
                outputs += [Out(np.array(order), "i32"), Out(counts.sum(0), index)]
                name = f"{dtype} {scaled} {index}"
                made.append(Case("aclnnMoeReRouting", [*arguments, 1, 0, *outputs], name))
    return made


OPS = {"aclnnMoeReRouting": rerouting}
