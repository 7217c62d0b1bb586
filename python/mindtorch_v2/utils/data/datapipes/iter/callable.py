"""Pipes that call a function for each sample."""

from mindtorch_v2.utils.data._utils.collate import default_collate

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """A function of each sample, or of its columns `input_col`. The result takes the place of the
    first of these, of `output_col`, or with -1 is appended.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([(1, 2), (3, 4)])
    >>> list(pipe.map(lambda x: -x, input_col=1))
    [(1, -2), (3, -4)]
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        self.datapipe = datapipe
        self.fn = fn
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.input_col = input_col
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def __iter__(self):
        for sample in self.datapipe:
            yield self._apply(sample)

    def _apply(self, sample):
        columns = self.input_col
        if columns is None:
            return self.fn(sample)
        if isinstance(columns, (list, tuple)):
            result = self.fn(*(sample[column] for column in columns))
            target = columns[0]
        else:
            result = self.fn(sample[columns])
            target = columns
        if self.output_col is not None:
            target = self.output_col
        kind = type(sample)
        changed = list(sample) if isinstance(sample, tuple) else kind(sample)
        if self.output_col == -1 and not isinstance(sample, dict):
            changed.append(result)
        else:
            changed[target] = result
        if self.output_col is None and isinstance(columns, (list, tuple)):
            for column in sorted(columns[1:], reverse=True):
                del changed[column]
        return tuple(changed) if isinstance(sample, tuple) else changed

    def __len__(self):
        return len(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Makes tensors of batches, as a DataLoader does.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([[1, 2], [3, 4]])
    >>> list(pipe.collate())
    [tensor([1, 2]), tensor([3, 4])]
    """

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        super().__init__(datapipe, fn=conversion if collate_fn is None else collate_fn)
