"""Pipes that put samples together, and take them apart."""

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of `batch_size` samples; the last may be shorter, or is left out.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5))
    >>> list(pipe.batch(2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self):
        batch = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self):
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The elements of lists, of lists of lists, ...; with -1 down to what is no list.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([[1, 2], [3]])
    >>> list(pipe.unbatch())
    [1, 2, 3]
    """

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self):
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element, level):
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        is_list = isinstance(element, (list, DataChunk))
        if level == 0 or (level == -1 and not is_list):
            yield element
        elif is_list:
            for inner in element:
                yield from self._dive(inner, level if level == -1 else level - 1)
        else:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of samples for which a function gives the same key. A group is given out when it has
    `group_size` samples, when it is the largest of a full buffer, and at the end.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5))
    >>> list(pipe.groupby(lambda x: x % 2))
    [[0, 2, 4], [1, 3]]
    """

    def __init__(
        self,
        datapipe,
        group_key_fn,
        *,
        keep_key=False,
        buffer_size=10000,
        group_size=None,
        guaranteed_group_size=None,
        drop_remaining=False,
    ):
        if guaranteed_group_size is None and group_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size")
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def __iter__(self):
        groups = {}
        count = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = groups.setdefault(key, [])
            group.append(sample)
            count += 1
            if len(group) == self.group_size:
                count -= len(group)
                yield self._result(key, groups.pop(key))
            if count == self.buffer_size:
                key = self._largest(groups)
                count -= len(groups[key])
                group = groups.pop(key)
                if len(group) >= (self.guaranteed_group_size or 0):
                    yield self._result(key, group)
        for key, group in groups.items():
            yield self._result(key, group)

    def _largest(self, groups):
        key = max(groups, key=lambda key: len(groups[key]))
        least = self.guaranteed_group_size
        if least is not None and len(groups[key]) < least and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(groups[key]))
        return key

    def _result(self, key, group):
        group = self.wrapper_class(group)
        return (key, group) if self.keep_key else group
