"""Property test: random programs give in pipelines what they give in eager mode, on the CPU."""

import random

import mindtorch_v2 as torch
import pytest
from hypothesis import given

from tests.pipeline.programs import machine
from tests.pipeline.programs.check import CONFIGS, KINDS, LONG, QUICK, check, is_close, programs
from tests.pipeline.programs.machine import Machine, Program, Step, Variant
from tests.pipeline.programs.steps import TABLE


@given(programs(longest=30), CONFIGS)
@QUICK
def test_random_programs(program, config):
    check(torch, "cpu", program, config)


@pytest.mark.slow
@given(programs(longest=120), CONFIGS)
@LONG
def test_long_random_programs(program, config):
    check(torch, "cpu", program, config)


def test_steps_do_something():
    """Every kind of step is accepted far more often than not, and none for want of a name."""
    source = random.Random(1)
    done, refused = dict.fromkeys(TABLE, 0), dict.fromkeys(TABLE, 0)
    for _ in range(300):
        steps = [Step(source.choice(KINDS), *source.choices(range(60), k=4)) for _ in range(20)]
        inputs = [(source.randrange(60), source.randrange(60)) for _ in range(3)]
        run = Machine(torch, "cpu", Program(inputs, steps), Variant(), TABLE)
        run.run()
        for step in steps:
            done[step.kind] += 1
        for step in run.refused:
            refused[step.kind] += 1
        assert not [seen for seen in run.seen if "AttributeError" in seen]
    for kind in TABLE:
        assert done[kind] > 2 * refused[kind], kind


def test_sums_in_another_order(monkeypatch):
    """The tolerance for reductions, where there is one: last places of what was summed."""

    def sums(value):
        layout = ("torch.float32", ((1,), (1,), 0), 0)
        return (*layout, bytes(torch.tensor([value]).untyped_storage())), 4.0

    monkeypatch.setattr(machine, "REDUCTION_ULPS", 0)
    assert is_close(sums(1.0), sums(1.0)) and not is_close(sums(1.0), sums(1.0000002))
    monkeypatch.setattr(machine, "REDUCTION_ULPS", 2)
    assert is_close(sums(1.0), sums(1.0000002)) and not is_close(sums(1.0), sums(1.00001))
    program = Program([(3, 0)], [Step("reduce"), Step("chain"), Step("reduce", 1, 1)])
    check(torch, "cpu", program, {})
