"""default_collate and default_convert: how a loader makes a batch of samples."""

import re
from collections.abc import Sequence

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import _shared_memory

from . import worker
from .containers import is_mapping, is_namedtuple, like_mapping, like_sequence

_TEXT_KINDS = "SaUO"  # kinds of NumPy arrays that are no numbers


def default_convert(data):
    """Makes tensors of NumPy arrays and numbers, also inside of lists, tuples and dicts.

    >>> import numpy
    >>> torch.utils.data.default_convert([numpy.array([1, 2]), "text"])
    [tensor([1, 2]), 'text']
    """
    if isinstance(data, torch.Tensor):
        return data
    cls = type(data)
    if cls.__module__ == "numpy" and cls.__name__ not in ("str_", "string_", "bytes_"):
        if isinstance(data, np.ndarray) and data.dtype.kind in _TEXT_KINDS:
            return data
        return torch.as_tensor(data)
    if is_mapping(data):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if is_namedtuple(data):
        return cls(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(item) for item in data])
    return data


np_str_obj_array_pattern = re.compile(r"[SaUO]")  # of arrays that hold no numbers
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate(batch, *, collate_fn_map=None):
    """A batch of samples: `collate_fn_map` says by type how values are joined; dicts, lists and
    tuples are joined item by item."""
    first = batch[0]
    if collate_fn_map is not None:
        function = _function_for(first, collate_fn_map)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def join(values):
        return collate(values, collate_fn_map=collate_fn_map)

    if is_mapping(first):
        joined = {key: join([sample[key] for sample in batch]) for key in first}
        return like_mapping(first, joined)
    if is_namedtuple(first):
        return type(first)(*(join(values) for values in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        joined = [join(values) for values in zip(*batch, strict=True)]
        return joined if isinstance(first, tuple) else like_sequence(first, joined)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _function_for(value, collate_fn_map):
    if type(value) in collate_fn_map:
        return collate_fn_map[type(value)]
    for cls, function in collate_fn_map.items():
        if isinstance(value, cls):
            return function
    return None


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """The tensors stacked; in a worker, in shared memory, where the loader reads them."""
    first = batch[0]
    if worker.get_worker_info() is None or not first.is_cpu or first.requires_grad:
        return torch.stack(batch, 0)
    size = (len(batch), *first.shape)
    nbytes = first.numel() * len(batch) * first.element_size()
    if nbytes <= _shared_memory.SMALL_BYTES:
        return torch.stack(batch, 0)
    storage = worker.new_batch_storage(nbytes)
    out = torch.empty(0, dtype=first.dtype).set_(storage, 0, size)
    return torch.stack(batch, 0, out=out)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """The arrays as one tensor."""
    if batch[0].dtype.kind in _TEXT_KINDS:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy's numbers as a tensor."""
    return torch.as_tensor(np.asarray(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    """Python's floats as a tensor of float64."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Python's integers as a tensor of int64."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Texts as they are."""
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """A batch of samples: numbers, arrays and tensors become tensors with one more dimension in
    front; dicts, lists and tuples of them are joined item by item.

    >>> torch.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
