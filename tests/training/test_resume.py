"""A run that is resumed from a checkpoint goes on as if it had not been interrupted."""

from tests.training import resume


def test_on_cpu(torch, tmp_path):
    resume.check(torch, "cpu", tmp_path / "checkpoint.pt")
