"""torch.ops.aten has every operator of torch's Core ATen IR, and each gives what torch's gives."""

import json
import pathlib
import warnings

import mindtorch_v2
import numpy as np
import pytest

from tests.ops_namespace.core_calls import (
    CALLS,
    MORE_CALLS,
    UNKNOWN_STRIDES,
    UNKNOWN_VALUES,
    call,
    described,
)

ANSWERS = pathlib.Path(__file__).with_name("core_answers.json")  # torch's; write_answers.py

ALL_CALLS = CALLS | MORE_CALLS


def answer(torch, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return described(call(torch, name, ALL_CALLS[name]))


def same(given, expected, ignored=()):
    """Whether two described results are equal, numbers nearly."""
    if isinstance(expected, list):
        pairs = zip(given, expected, strict=False)
        return len(given) == len(expected) and all(same(g, e, ignored) for g, e in pairs)
    if isinstance(expected, float):
        return given == pytest.approx(expected)
    if not isinstance(expected, dict):
        return given == expected
    if any(given[key] != expected[key] for key in {"dtype", "shape", "stride"} - {*ignored}):
        return False
    close = {"rtol": 1e-4, "atol": 2e-5, "equal_nan": True}
    return "values" in ignored or np.allclose(given["values"], expected["values"], **close)


def ignored(name):
    if name in UNKNOWN_VALUES:
        return ("values",)
    return ("stride",) if name in UNKNOWN_STRIDES else ()


@pytest.mark.parametrize("name", ALL_CALLS)
def test_results(name):
    expected = json.loads(ANSWERS.read_text())[name]
    given = answer(mindtorch_v2, name)
    assert same(given, expected, ignored(name)), (given, expected)


def test_every_core_operator_is_called():
    aten = mindtorch_v2.ops.aten
    core = {
        overload.name().removeprefix("aten::")
        for packet in (getattr(aten, name) for name in dir(aten) if not name.startswith("__"))
        if hasattr(packet, "overloads")
        for overload in (getattr(packet, each) for each in packet.overloads())
        if mindtorch_v2.Tag.core in overload.tags
    }
    assert core == set(CALLS)


def test_the_answers_are_torchs(oracle):
    torch, core = oracle, set()
    for name in torch._C._dispatch_get_all_op_names():
        operator, _, overload = name.removeprefix("aten::").partition(".")
        if name.startswith("aten::") and hasattr(torch.ops.aten, operator):
            found = getattr(getattr(torch.ops.aten, operator), overload or "default")
            core |= {name.removeprefix("aten::")} if torch.Tag.core in found.tags else set()
    assert core == set(CALLS)
    answers = json.loads(ANSWERS.read_text())
    for name in ALL_CALLS:
        assert same(answer(torch, name), answers[name], ignored(name)), name
