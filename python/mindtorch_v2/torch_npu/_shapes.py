"""Functions of torch_npu that pick, move or mark elements."""

import mindtorch_v2 as torch


def npu_transpose(self, perm, require_contiguous=True):
    """permute, with the elements in memory in the new order.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_transpose(torch.zeros(2, 3), (1, 0)).shape
    torch.Size([3, 2])
    """
    return self.permute(perm).contiguous()


def npu_reshape(self, shape, can_refresh=False):
    """reshape."""
    return self.reshape(shape)


def npu_broadcast(self, size):
    """expand, with an element in memory for each."""
    return self.expand(size).contiguous()


def npu_dtype_cast(self, dtype, input_dtype=None):
    """The elements in another dtype."""
    return self.to(dtype)


def npu_dtype_cast_(self, src):
    """The elements of src, in this tensor's dtype."""
    return self.copy_(src)


def npu_format_cast_(self, src):
    """The tensor itself: NPU tensors have the plain layout."""
    return self


def npu_slice(self, offsets, size):
    """The part of `size` that begins at `offsets`; -1 takes all that follow.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_slice(torch.tensor([1, 2, 3, 4]), [1], [2])
    tensor([2, 3])
    """
    part = self
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        part = part.narrow(dim, start, self.shape[dim] - start if length == -1 else length)
    return part.contiguous()


def npu_indexing(
    self,
    begin,
    end,
    strides,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
):
    """self[begin:end:stride, ...]. Each bit of a mask is for one place: from the beginning, to the
    end, ..., None, and begin alone.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_indexing(torch.tensor([1, 2, 3, 4]), [0], [4], [2])
    tensor([1, 3])
    """
    index = []
    for place, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            index.append(...)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(start)
        else:
            first, last = (None if begin_mask & bit else start), (None if end_mask & bit else stop)
            index.append(slice(first, last, step))
    return self[tuple(index)].contiguous()


def npu_pad(input, paddings):
    """Zeros around it: `paddings` has how many before and after, dimension by dimension.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_pad(torch.ones(1, 2), (1, 0, 0, 1))
    tensor([[0., 0., 0.],
            [1., 1., 0.]])
    """
    pairs = [list(paddings[at : at + 2]) for at in range(0, len(paddings), 2)]
    return torch.nn.functional.pad(input, sum(reversed(pairs), []))


def npu_min(self, dim, keepdim=False):
    """(the smallest elements along a dimension, their places as int32)."""
    values, indices = torch.min(self, dim, keepdim)
    return values, indices.int()


def npu_max(self, dim, keepdim=False):
    """(the largest elements along a dimension, their places as int32)."""
    values, indices = torch.max(self, dim, keepdim)
    return values, indices.int()


def npu_sort_v2(self, dim=-1, descending=False):
    """The elements in order."""
    return torch.sort(self, dim, descending)[0]


def npu_one_hot(self, num_classes=-1, depth=1, on_value=1, off_value=0):
    """A new last dimension with on_value at the index that the element names, else off_value.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_one_hot(torch.tensor([0, 1]), depth=2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    classes = torch.arange(depth if num_classes == -1 else num_classes, device=self.device)
    return torch.where(self.unsqueeze(-1) == classes, float(on_value), float(off_value))


def one_(self):
    """Sets all elements to 1."""
    return self.fill_(1)


def npu_scatter(self, indices, updates, dim):
    """scatter."""
    return self.scatter(dim, indices, updates)


def scatter_update_(self, indices, updates, axis):
    """Writes updates[i] into self[i], from place indices[i] of dimension `axis` on: new keys and
    values into a cache.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.scatter_update_(torch.zeros(1, 3), torch.tensor([1]), torch.ones(1, 2), 1)
    tensor([[0., 1., 1.]])
    """
    axis %= self.dim()
    length = updates.shape[axis]
    shape = [1] * self.dim()
    shape[0], shape[axis] = indices.shape[0], length
    places = indices.reshape(-1, 1) + torch.arange(length, device=self.device)
    return self.scatter_(axis, places.view(shape).expand(updates.shape), updates)


def scatter_update(self, indices, updates, axis):
    """The same, into a copy."""
    return scatter_update_(self.clone(), indices, updates, axis)


def npu_prefetch(self, dependency, max_size, offset=0):
    """Checks its arguments: there is no cache here that bytes could be brought into early."""
    if max_size <= 0:
        raise RuntimeError(f"max_size should be greater than zero, but got {max_size}")
    if offset < 0:
        raise RuntimeError(f"offset should not be smaller than zero, but got {offset}")
    if offset >= self.nbytes:
        raise RuntimeError(
            f"offset out of range of tensor size, tensor size: {self.nbytes}, offset: {offset}"
        )
