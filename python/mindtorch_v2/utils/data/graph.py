"""Which pipes a pipe reads."""

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def traverse_dps(datapipe):
    """{id: (pipe, the graph of the pipes it reads)} of a pipe.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([1])
    >>> graph = torch.utils.data.graph.traverse_dps(pipe.batch(2))
    >>> [(str(each), len(read)) for each, read in graph.values()]
    [('BatcherIterDataPipe', 1)]
    """
    return _graph_of(datapipe, set())


def traverse(datapipe, only_datapipe=None):
    """The same as traverse_dps."""
    return traverse_dps(datapipe)


def _graph_of(pipe, above):
    if id(pipe) in above:
        return {}  # it reads itself
    above = above | {id(pipe)}
    read = {}
    for source in _sources(pipe):
        read.update(_graph_of(source, above))
    return {id(pipe): (pipe, read)}


def _sources(pipe):
    found, seen = [], set()

    def look(value):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, (IterDataPipe, MapDataPipe)):
            found.append(value)
        elif isinstance(value, dict):
            for part in (*value.keys(), *value.values()):
                look(part)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for part in value:
                look(part)

    for value in pipe.__getstate__().values():
        look(value)
    return found
