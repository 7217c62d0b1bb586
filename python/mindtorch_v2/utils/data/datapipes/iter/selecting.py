"""Pipes that leave samples out."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import validate_input_col

__all__ = ["FilterIterDataPipe", "ShardingFilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which a function of them, or of their columns `input_col`, is true.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5))
    >>> list(pipe.filter(lambda x: x > 2))
    [3, 4]
    """

    def __init__(self, datapipe, filter_fn, input_col=None):
        self.datapipe = datapipe
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def __iter__(self):
        for sample in self.datapipe:
            if self._is_wanted(sample):
                yield sample

    def _is_wanted(self, sample):
        columns = self.input_col
        if columns is None:
            result = self.filter_fn(sample)
        elif isinstance(columns, (list, tuple)):
            result = self.filter_fn(*(sample[column] for column in columns))
        else:
            result = self.filter_fn(sample[columns])
        if not isinstance(result, bool):
            raise ValueError(
                f"Boolean output is required for `filter_fn` of {type(self).__name__}, got "
                f"{type(result)}"
            )
        return result


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """Every n-th sample: each worker of a DataLoader gets others.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(7)).sharding_filter()
    >>> pipe.apply_sharding(3, 1)
    >>> list(pipe)
    [1, 4]
    """

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups = {}
        self.num_of_instances = 1
        self.instance_id = 0

    def is_shardable(self):
        """True."""
        return True

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=None):
        """Sets how many there are and which this is, in a group: numbers of groups multiply."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        self.groups[sharding_group or 0] = (num_of_instances, instance_id)
        self.num_of_instances, self.instance_id = 1, 0
        wanted = self.sharding_group_filter
        for group in sorted(self.groups, key=str):
            if wanted is None or group == wanted:
                count, number = self.groups[group]
                self.instance_id += self.num_of_instances * number
                self.num_of_instances *= count

    def __iter__(self):
        for index, sample in enumerate(self.source_datapipe):
            if index % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self):
        whole, rest = divmod(len(self.source_datapipe), self.num_of_instances)
        return whole + (self.instance_id < rest)
