"""Property test: random programs give in pipelines what they give in eager mode, on NPUs."""

import mindtorch_v2 as torch
import pytest
from hypothesis import given, settings

from tests.pipeline.programs.check import CONFIGS, LONG, QUICK, check, programs


@given(programs(longest=30), CONFIGS)
@QUICK
def test_random_programs(program, config):
    check(torch, "npu", program, config)


@given(programs(longest=30), CONFIGS)
@settings(QUICK, max_examples=15)
def test_random_programs_that_repeat(program, config):
    """Often enough for their traces to be replayed as graphs."""
    for _ in range(7):
        check(torch, "npu", program, config)


@pytest.mark.slow
@given(programs(longest=120), CONFIGS)
@LONG
def test_long_random_programs(program, config):
    check(torch, "npu", program, config)
