"""What a loader does for datasets that are data pipes: seeds, and a share for each worker."""

import mindtorch_v2 as torch

from . import draws


def draw_seed(dataset, generator):
    """A seed for the pipes of a dataset, and gives it to them; None if it has no pipes."""
    from ..datapipes.datapipe import IterDataPipe

    if not isinstance(dataset, IterDataPipe):
        return None
    seed = draws.draw_seed(generator)
    give_seed(dataset, seed)
    return seed


def give_seed(dataset, seed):
    """The same numbers in every process, so that the shares of the workers do not overlap."""
    from ..graph_settings import apply_random_seed

    if seed is not None:
        apply_random_seed(dataset, torch.Generator().manual_seed(seed))


def take_share(dataset, num_workers, worker_id):
    """Lets the pipes of a worker give every num_workers-th sample."""
    from ..datapipes.datapipe import IterDataPipe, MapDataPipe
    from ..graph_settings import apply_sharding

    if isinstance(dataset, (IterDataPipe, MapDataPipe)):
        apply_sharding(dataset, num_workers, worker_id)
