"""Other ways to train than the plain loop have torch's losses, too."""

import contextlib

import numpy
import pytest

from tests.training.recipes import RECIPES


def losses(torch, recipe, mode="eager", steps=12):
    torch.manual_seed(0)
    step = recipe(torch)
    found = []
    for _ in range(steps):
        with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
            found.append(step().detach())
    return numpy.array([loss.item() for loss in found])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_like_torch(torch, torch_gives, recipe, mode):
    expected = torch_gives(losses, recipe, key=recipe.__name__)
    numpy.testing.assert_allclose(losses(torch, recipe, mode), expected, rtol=1e-4)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_pipeline(torch, recipe):
    expected = losses(torch, recipe)
    assert (numpy.diff(expected) != 0).all()
    numpy.testing.assert_allclose(losses(torch, recipe, "pipeline"), expected, rtol=1e-6)
