"""How the samples of a batch are taken from a dataset."""


class MapFetcher:
    """Takes samples by index."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self._dataset = dataset
        self._auto_collation = auto_collation
        self._collate_fn = collate_fn

    def fetch(self, index):
        if not self._auto_collation:
            return self._collate_fn(self._dataset[index])
        if getattr(self._dataset, "__getitems__", None):
            return self._collate_fn(self._dataset.__getitems__(index))
        return self._collate_fn([self._dataset[i] for i in index])


class IterableFetcher:
    """Takes as many of the next samples as the list of indices is long."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self._samples = iter(dataset)
        self._auto_collation = auto_collation
        self._collate_fn = collate_fn
        self._drop_last = drop_last
        self._ended = False

    def fetch(self, index):
        if self._ended:
            raise StopIteration
        if not self._auto_collation:
            return self._collate_fn(next(self._samples))
        samples = []
        for _ in index:
            try:
                samples.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not samples or self._drop_last and len(samples) < len(index):
            raise StopIteration
        return self._collate_fn(samples)
