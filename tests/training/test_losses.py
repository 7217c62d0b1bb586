"""Losses of 100 steps are torch's, and a pipeline's are those of eager mode.

`tests/npu/test_training.py` does the same for NPUs.
"""

import mindtorch_v2
import numpy
import pytest

from tests.training.programs import PROGRAMS, losses


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_torch(name):
    expected = losses(pytest.importorskip("torch"), name)
    assert 0.5 < expected.min() and expected[-20:].mean() < 0.95 * expected[:10].mean()
    numpy.testing.assert_allclose(losses(mindtorch_v2, name), expected, rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pipeline(torch, name):
    numpy.testing.assert_allclose(
        losses(torch, name, pipeline=True), losses(torch, name), rtol=1e-6
    )
