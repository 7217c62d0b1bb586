"""grid_sample in float64, to its last digits."""

import itertools

import numpy as np
import pytest

from tests.ops.cases import sampling

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
SETTINGS = [
    (n, mode, padding, align)
    for n, mode, padding, align in itertools.product((2, 3), MODES, PADDINGS, (False, True))
    if (n, mode) != (3, "bicubic")
]


@pytest.mark.parametrize(("n", "between", "padding", "align"), SETTINGS)
def test_float64(torch, n, between, padding, align):
    rng = np.random.default_rng(0)
    image = rng.standard_normal((2, 3, *range(4, 4 + n)))
    grid = rng.uniform(-1.4, 1.4, (2, *range(3, 3 + n), n))
    got = torch.nn.functional.grid_sample(
        torch.tensor(image), torch.tensor(grid), between, padding, align
    )
    want = sampling.grid_sampler(image, grid, MODES.index(between), PADDINGS.index(padding), align)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-12)
