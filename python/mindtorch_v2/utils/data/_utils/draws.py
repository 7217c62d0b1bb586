"""Random numbers that only Python reads."""

import mindtorch_v2 as torch


def place_of(generator):
    """Where such numbers are drawn: where the generator is, whatever the default device."""
    return torch.device("cpu") if generator is None else generator.device


def draw_seed(generator=None):
    made = torch.empty((), dtype=torch.int64, device=place_of(generator))
    return made.random_(generator=generator).item()
