"""The beginning of a pipeline."""

import copy
import warnings

from ..datapipe import IterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of any iterable, or of a copy of it for each iteration.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper(range(3)))
    [0, 1, 2]
    """

    def __init__(self, iterable, deepcopy=True):
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self):
        try:
            return len(self.iterable)
        except TypeError:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from None
