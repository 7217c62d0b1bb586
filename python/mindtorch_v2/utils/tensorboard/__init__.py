"""torch.utils.tensorboard: curves, histograms, pictures and texts for TensorBoard.

The package tensorboard writes and shows the files (pip install tensorboard).
"""

try:
    import tensorboard as _tensorboard
except ImportError as error:
    raise ImportError(
        "torch.utils.tensorboard needs the package tensorboard: pip install tensorboard"
    ) from error

from tensorboard.summary.writer.record_writer import RecordWriter

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
