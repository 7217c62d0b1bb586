"""Values as TensorBoard's summaries."""

import io

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

import mindtorch_v2 as torch


def to_numpy(values):
    """Any numbers as an array."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    return np.asarray(values)


def scalar(tag, value):
    number = to_numpy(value)
    if number.size != 1:
        raise AssertionError(f"expected one number for {tag}, not {number.size}")
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(number.reshape(())))])


def _default_edges():
    # As TensorBoard's: 10 % apart, from 1e-12 to 1e20, both signs.
    positive = 1e-12 * 1.1 ** np.arange(0, np.log(1e32) / np.log(1.1))
    return np.concatenate([-positive[::-1], [0.0], positive])


def histogram(tag, values, bins="tensorflow", max_bins=None):
    values = to_numpy(values).astype(np.float64).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    edges = _default_edges() if bins == "tensorflow" else bins
    counts, limits = np.histogram(values, bins=edges)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, range(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    if not counts.any():
        raise ValueError("The histogram is empty, please file a bug report.")
    used = np.flatnonzero(counts)
    first, last = max(used[0] - 1, 0), used[-1]
    proto = HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values @ values,
        bucket_limit=limits[first + 1 : last + 2].tolist(),
        bucket=counts[first : last + 1].tolist(),
    )
    return Summary(value=[Summary.Value(tag=tag, histo=proto)])


def text(tag, value):
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="text", content=b"")
    )
    tensor = TensorProto(
        dtype="DT_STRING",
        string_val=[value.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    name = f"{tag}/text_summary"
    return Summary(value=[Summary.Value(tag=name, metadata=metadata, tensor=tensor)])


def image(tag, values, dataformats):
    """A picture from an array whose dimensions `dataformats` names: CHW, HWC, HW, NCHW."""
    values = to_numpy(values)
    if values.ndim != len(dataformats):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {values.shape}, "
            f"input_format: {dataformats}"
        )
    pixels = _as_rows(values, dataformats.upper())
    if pixels.dtype != np.uint8:
        pixels = (pixels.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    picture = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=_png(pixels)
    )
    return Summary(value=[Summary.Value(tag=tag, image=picture)])


def _as_rows(values, names):
    if "N" not in names:
        order = [names.index(name) for name in "HWC" if name in names]
        single = values.transpose(order)
        single = single if single.ndim == 3 else single[:, :, None]
    else:
        batch = values.transpose([names.index(name) for name in "NHWC"])
        single = _grid(batch)
    return np.repeat(single, 3, axis=2) if single.shape[2] == 1 else single


def _grid(batch, columns=8):
    """The pictures of a batch side by side, 8 in a row."""
    count, height, width, channels = batch.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    missing = np.zeros((rows * columns - count, height, width, channels), batch.dtype)
    tiles = np.concatenate([batch, missing]).reshape(rows, columns, height, width, channels)
    return tiles.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


def _png(pixels):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()
