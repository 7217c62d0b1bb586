"""Losses of 100 steps are torch's, and a pipeline's are those of eager mode.

`tests/npu/test_training.py` does the same for NPUs.
"""

import mindtorch_v2
import numpy
import pytest

from tests.training.programs import PROGRAMS, losses


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_torch(torch_gives, name):
    expected = torch_gives(losses, name)
    assert 0.5 < expected.min() and expected[-20:].mean() < 0.95 * expected[:10].mean()
    numpy.testing.assert_allclose(losses(mindtorch_v2, name), expected, rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pipeline(torch, name):
    numpy.testing.assert_allclose(
        losses(torch, name, pipeline=True), losses(torch, name), rtol=1e-6
    )


@pytest.mark.parametrize(
    "text",
    ["SGD(p, lr=0.1, momentum=0.9)", "Adam(p, amsgrad=True)", "AdamW(p)", "RMSprop(p)",
     "Adagrad(p)", "Adadelta(p)", "Adamax(p)", "RAdam(p)", "Rprop(p)"],
)  # fmt: skip
def test_a_step_is_one_trace(torch, text):
    """Nothing in a step reads a value, so that a pipeline flushes at its end only."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 3))
    optimizer = eval(f"torch.optim.{text}", {"torch": torch, "p": model.parameters()})
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    for _ in range(3):
        with torch.pipeline(max_ops=1000) as pipe:
            first = pipe.flush_id
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            assert pipe.flush_id == first and pipe.pending_count() > 0
