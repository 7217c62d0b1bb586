"""torch.utils.data.datapipes: steps of loading data that are joined to a pipeline.

>>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(6))
>>> list(pipe.filter(lambda x: x % 2 == 0).batch(2))
[[0, 2], [4]]
"""

from . import iter, map

__all__ = ["iter", "map"]
