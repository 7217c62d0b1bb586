"""What torch gives for the layers of layers.py, kept in expected.txt for machines without torch.

usage: python -m tests.nn.expected      writes expected.txt anew; needs torch

A line has the layer, its inputs, the keys of its state dict, and sums: of the state, of the outputs
in training, of the outputs after, of the state at the end.
"""

import pathlib
import warnings

from tests.nn import layers
from tests.nn.compare import World, flat

FILE = pathlib.Path(__file__).with_name("expected.txt")


def total(value):
    # Weighted, so that elements in another order give another sum.
    weights = [(i % 7 + 1) * float(v) for a in flat(value) for i, v in enumerate(a.flatten())]
    return sum(weights)


def describe(library, layer, inputs):
    """(keys, sums) of a layer in one of the libraries."""
    world = World(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = world.module(layer)
        sums = [] if "Lazy" in layer else [total(module.state_dict())]
        if inputs is not None:
            for mode in (True, False):
                module.train(mode)
                args, kwargs = world.arguments(inputs)
                with library.no_grad():
                    library.manual_seed(1)
                    sums.append(total(module(*args, **kwargs)))
            sums.append(total(module.state_dict()))
    return list(module.state_dict()), sums


def read():
    """[(layer, inputs, keys, sums)]"""
    cases = []
    for line in FILE.read_text().splitlines():
        layer, inputs, keys, sums = line.split(" | ")
        inputs = None if inputs == "-" else inputs
        cases.append((layer, inputs, keys.split(), [float(s) for s in sums.split()]))
    return cases


def main():
    import torch

    lines = []
    for layer, inputs in layers.ALL:
        keys, sums = describe(torch, layer, inputs)
        numbers = " ".join(f"{value:.7g}" for value in sums)
        lines.append(f"{layer} | {inputs or '-'} | {' '.join(keys)} | {numbers}\n")
    FILE.write_text("".join(lines))


if __name__ == "__main__":
    main()
