"""torch.utils.tensorboard, through the package tensorboard."""

import importlib.util
import subprocess
import sys

import mindtorch_v2 as torch
import pytest

INSTALLED = importlib.util.find_spec("tensorboard") is not None


def test_error_without_the_package():
    program = """
        import sys
        sys.modules["tensorboard"] = None
        import mindtorch_v2 as torch
        try:
            from mindtorch_v2.utils.tensorboard import SummaryWriter
        except ImportError as error:
            print(error)
    """
    import textwrap

    command = [sys.executable, "-c", textwrap.dedent(program)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text.strip() == (
        "torch.utils.tensorboard needs the package tensorboard: pip install tensorboard"
    )


@pytest.mark.skipif(not INSTALLED, reason="needs tensorboard")
def test_events(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.5 * step), step)
        writer.add_histogram("weights", torch.arange(-5.0, 5.0), 1)
        writer.add_image("picture", torch.rand(3, 4, 6))
        writer.add_images("pictures", torch.rand(10, 1, 4, 6))
        writer.add_text("note", "hello")
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 4)
    events = EventAccumulator(str(tmp_path), {"histograms": 0, "images": 0, "tensors": 0})
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [
        (0, 0.0),
        (1, 1.5),
        (2, 3.0),
    ]
    histogram = events.Histograms("weights")[0].histogram_value
    assert (histogram.min, histogram.max, histogram.num) == (-5.0, 4.0, 10.0)
    assert sum(histogram.bucket) == 10
    assert len(histogram.bucket) == len(histogram.bucket_limit)
    assert (events.Images("picture")[0].height, events.Images("picture")[0].width) == (4, 6)
    assert (events.Images("pictures")[0].height, events.Images("pictures")[0].width) == (8, 48)
    assert events.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"hello"]
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"both_a", "both_b"}
