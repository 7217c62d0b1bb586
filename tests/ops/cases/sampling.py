"""Images sampled at the points of a grid."""

import itertools

import numpy as np

from tests.ops.case import FLOATS, OpCase, S, T, bad, only

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
NEAR = {
    "float16": (5e-2, 5e-2),  # torch rounds coordinates and weights
    "bfloat16": (2e-1, 4e-1),
    "float32": (1e-4, 1e-4),
    "float64": (1e-5, 1e-5),  # the simulated NPU computes in float32; test_grid_sample.py is strict
}


def bounded(at, size, padding, align_corners):
    if padding == REFLECTION:
        low, span = (0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return 0.0
        turns, rest = divmod(abs(at - low), span)
        at = low + (rest if turns % 2 == 0 else span - rest)
    return at if padding == ZEROS else min(max(at, 0), size - 1)


def cubic(x):
    x = abs(x)
    if x < 1:
        return (1.25 * x - 2.25) * x * x + 1
    return ((-0.75 * x + 3.75) * x - 6) * x + 3


def taps(x, size, mode, padding, align_corners):
    """(place, weight) along one dimension."""
    at = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    if mode == CUBIC:
        below = np.floor(at)
        places = [below + step for step in (-1, 0, 1, 2)]
        found = [(bounded(p, size, padding, align_corners), cubic(at - p)) for p in places]
    else:
        at = bounded(at, size, padding, align_corners)
        below = np.floor(at)
        found = [(below, 1 - (at - below)), (below + 1, at - below)]
        if mode == NEAREST:
            found = [(np.round(at), 1.0)]
    return [(int(place), weight) for place, weight in found if 0 <= place < size]


def grid_sampler(input, grid, mode, padding, align_corners):
    result = np.zeros((*input.shape[:2], *grid.shape[1:-1]))
    for place in np.ndindex(*grid.shape[:-1]):
        axes = [
            taps(x, size, mode, padding, align_corners)
            for x, size in zip(grid[place][::-1], input.shape[2:], strict=True)
        ]
        image = input[place[0]]
        for combination in itertools.product(*axes):
            weight = np.prod([weight for _, weight in combination])
            where = (slice(None), *(at for at, _ in combination))
            result[(place[0], slice(None), *place[1:])] += weight * image[where]
    return result


# Points inside and outside of the image; no two of them equal, and none between two elements.
def points(*shape):
    return T(shape, -1.7, 1.7)


def sample(input, grid, mode, *settings):
    """Halves only where a rounded coordinate does not lead to another element."""
    dtypes = FLOATS if mode == LINEAR else ("float32", "float64")
    return only(dtypes, input, grid, mode, *settings)


FLAT, DEEP = T((2, 3, 4, 5)), T((1, 2, 2, 3, 4))
SETTINGS = [
    (padding, corners) for padding in (ZEROS, BORDER, REFLECTION) for corners in (True, False)
]
EVERY_2D = [(mode, *rest) for mode in (LINEAR, NEAREST, CUBIC) for rest in SETTINGS]
EVERY_3D = [(mode, *rest) for mode in (LINEAR, NEAREST) for rest in SETTINGS]
MORE = [
    S(T((1, 1, 3, 2)), points(1, 2, 2, 2), LINEAR, ZEROS, False),
    S(T((1, 2, 1, 1)), points(1, 3, 1, 2), LINEAR, REFLECTION, True),
    sample(T((1, 2, 1, 3)), points(1, 3, 1, 2), CUBIC, REFLECTION, True),
    S(T((2, 1, 7, 9)), points(2, 11, 13, 2), LINEAR, ZEROS, False),  # more than two blocks
    S(T((1, 0, 3, 3)), points(1, 2, 2, 2), LINEAR, ZEROS, False),
    S(T((0, 1, 3, 3)), points(0, 2, 2, 2), LINEAR, ZEROS, False),
    S(T((1, 1, 3, 3)), points(1, 0, 2, 2), LINEAR, ZEROS, False),
]
BAD = (
    bad(RuntimeError, "same batch size", FLAT, points(1, 2, 2, 2), 0, 0, False),
    bad(RuntimeError, "grid to have size 2 in last dimension", FLAT, points(2, 2, 2, 3), 0, 0,
        False),
    bad(RuntimeError, "non-empty spatial dimensions", T((1, 1, 0, 3)), points(1, 2, 2, 2), 0, 0,
        False),
    bad(RuntimeError, "expected scalar type Double but found Float",
        T((1, 1, 3, 3), dtype="float64"), T((1, 2, 2, 2), dtype="float32"), 0, 0, False),
)  # fmt: skip
CASES = [
    OpCase(
        "grid_sampler",
        grid_sampler,
        [sample(FLAT, points(2, 3, 2, 2), *settings) for settings in EVERY_2D]
        + [sample(DEEP, points(1, 2, 2, 2, 3), *settings) for settings in EVERY_3D]
        + MORE,
        FLOATS,
        tolerance=NEAR,
        method=None,
        strides=False,
        bad=(
            *BAD,
            bad(RuntimeError, "bicubic interpolation only supports 4D", DEEP,
                points(1, 2, 2, 2, 3), CUBIC, 0, False),
        ),
    ),
    OpCase(
        "grid_sampler_2d",
        grid_sampler,
        [S(FLAT, points(2, 3, 2, 2), LINEAR, ZEROS, False), *MORE[:4]],
        FLOATS,
        tolerance=NEAR,
        method=None,
        strides=False,
    ),
    OpCase(
        "grid_sampler_3d",
        grid_sampler,
        [S(DEEP, points(1, 2, 2, 2, 3), LINEAR, ZEROS, False)],
        FLOATS,
        tolerance=NEAR,
        method=None,
        strides=False,
    ),
]  # fmt: skip
