"""Mistakes in layers and functions raise torch's errors, word for word."""

import pathlib
import warnings

import mindtorch_v2
import pytest

from tests.nn.compare import World

LINES = pathlib.Path(__file__).with_name("mistakes.txt").read_text().splitlines()
CALLS = [line for line in LINES if line and not line.startswith("#")]


def outcome(library, call):
    world = World(library)
    names = {name: getattr(world, name) for name in ("torch", "nn", "f", "pos", "i")}
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(call, {**names, "F": library.nn.functional})
        except Exception as error:
            return type(error).__name__, str(error).replace("mindtorch_v2", "torch")
    return None


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused(torch, call):
    assert outcome(torch, call) is not None


@pytest.mark.parametrize("call", CALLS)
def test_like_torch(torch_gives, call):
    assert outcome(mindtorch_v2, call) == torch_gives(outcome, call)
