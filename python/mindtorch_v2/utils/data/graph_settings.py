"""Settings of all pipes that a pipe reads."""

import inspect
import warnings

import mindtorch_v2 as torch

from ._utils.draws import draw_seed
from .graph import traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph):
    """The pipes of a graph of traverse_dps, each once."""
    found = {}

    def collect(graph):
        for key, (pipe, read) in graph.items():
            if key not in found:
                found[key] = pipe
                collect(read)

    collect(graph)
    return list(found.values())


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=None):
    """Tells every pipe that can be divided how many instances there are, and which this is.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).sharding_filter()
    >>> list(torch.utils.data.graph_settings.apply_sharding(pipe, 2, 1))
    [1, 3]
    """

    def divide(graph, above=None):
        for pipe, read in graph.values():
            divided = above
            if hasattr(pipe, "apply_sharding"):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause "
                        f"data loss. Sharding already applied to {above} while trying to apply to "
                        f"{pipe}"
                    )
                takes_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                group = (sharding_group,) if takes_group else ()
                pipe.apply_sharding(num_of_instances, instance_id, *group)
                divided = pipe
            divide(read, divided)

    divide(traverse_dps(datapipe))
    return datapipe


def apply_shuffle_settings(datapipe, shuffle=None):
    """Switches every pipe that shuffles on or off; None leaves them."""
    if shuffle is None:
        return datapipe
    pipes = [
        pipe
        for pipe in get_all_graph_pipes(traverse_dps(datapipe))
        if hasattr(pipe, "set_shuffle") and hasattr(pipe, "set_seed")
    ]
    if shuffle and not pipes:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        pipes = [datapipe]
    for pipe in pipes:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """The old name of apply_random_seed."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases."
        "\nPlease use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe, rng):
    """Gives every pipe that draws random numbers a seed of the generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if hasattr(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe
