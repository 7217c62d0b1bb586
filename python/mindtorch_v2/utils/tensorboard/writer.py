"""SummaryWriter: writes what TensorBoard shows."""

import datetime
import os
import socket
import time

from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Events of one folder."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self._writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Adds an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self._writer.add_event(event)

    def add_summary(self, value, global_step=None, walltime=None):
        """Adds a summary."""
        self.add_event(event_pb2.Event(summary=value), global_step, walltime)

    def flush(self):
        """Writes what is waiting."""
        self._writer.flush()

    def close(self):
        """Writes what is waiting, and closes the file."""
        self._writer.close()


class SummaryWriter:
    """Writes curves, histograms, pictures and texts to a folder: runs/DATE_HOST if none is given.

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)
    """

    def __init__(
        self,
        log_dir=None,
        comment="",
        purge_step=None,
        max_queue=10,
        flush_secs=120,
        filename_suffix="",
    ):
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self._options = max_queue, flush_secs, filename_suffix
        self._writers = {}  # folder: writer
        if purge_step is not None:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            writer = self._get_file_writer()
            writer.add_event(event_pb2.Event(file_version="brain.Event:2"), purge_step)
            writer.add_event(event_pb2.Event(session_log=start), purge_step)
        else:
            self._get_file_writer()

    def _get_file_writer(self, folder=""):
        path = os.path.join(self.log_dir, folder) if folder else self.log_dir
        if path not in self._writers:
            self._writers[path] = FileWriter(path, *self._options)
        return self._writers[path]

    def _add(self, value, global_step, walltime):
        self._get_file_writer().add_summary(value, global_step, walltime)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style=False,
        double_precision=False,
    ):
        """One point of a curve."""
        self._add(summary.scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """One point of each of several curves in one picture."""
        for tag, value in tag_scalar_dict.items():
            writer = self._get_file_writer(f"{main_tag.replace('/', '_')}_{tag}")
            writer.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        """How values are distributed."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: bytes, or floats from 0 to 1."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """A batch of pictures, side by side."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib."""
        import matplotlib.pyplot as plt
        import numpy as np

        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
        if close:
            plt.close(figure)
        self.add_image(tag, pixels.copy(), global_step, walltime, dataformats="HWC")

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def flush(self):
        """Writes what is waiting."""
        for writer in self._writers.values():
            writer.flush()

    def close(self):
        """Writes what is waiting, and closes the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.close()
