"""A run on an NPU that is resumed from a checkpoint goes on as if it had not been interrupted."""

from tests.training import resume


def test_resume(torch, tmp_path):
    resume.check(torch, "npu", tmp_path / "checkpoint.pt")
