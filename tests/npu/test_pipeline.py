"""Deferred ops on NPUs: what eager gives."""

import pytest


def test_random_numbers_are_the_same_deferred(torch):
    def draw():
        torch.manual_seed(3)
        first = torch.rand(5, device="npu")
        torch.rand(7, device="npu")
        return first, torch.randn(5, device="npu"), torch.randperm(9, device="npu")

    expected = draw()
    with torch.pipeline():
        got = draw()
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_waits_and_events_run_what_is_recorded(torch, simulator):
    a = torch.ones(8, device="npu")
    with torch.pipeline() as pipe:
        b = a + 1
        torch.npu.synchronize()
        assert not b._pending and pipe.last_flush_reason == "synchronize"
        c = a * 3
        torch.npu.Event().record()
        assert not c._pending
    assert b.tolist() == [2] * 8 and c.tolist() == [3] * 8


def test_what_nobody_can_see_is_not_computed(torch, called):
    a = torch.ones(8, device="npu")
    kept = []

    def block():
        with torch.pipeline():
            a * 3
            kept.append(a + 1)

    functions = called(block)
    assert "aclnnAdds" in functions
    assert not [name for name in functions if name.startswith("aclnnMul")]
    assert kept[0].tolist() == [2] * 8


@pytest.mark.parametrize("name", ["abs", "hypot", "gelu"])
def test_dtypes_that_an_op_does_not_take_are_told_at_the_call(torch, name):
    call = {
        "abs": lambda: torch.abs(torch.ones(3, dtype=torch.bool, device="npu")),
        "hypot": lambda: torch.hypot(*[torch.ones(3, dtype=torch.int64, device="npu")] * 2),
        "gelu": lambda: torch.nn.functional.gelu(torch.ones(3, device="npu").double()),
    }[name]
    with pytest.raises(NotImplementedError):
        call()
    with torch.pipeline() as pipe, pytest.raises(NotImplementedError):
        call()
    assert pipe.last_error() is None
