"""Runs a random program, eagerly or in a pipeline, and notes everything that can be seen of it.

A program is a list of steps: a kind and a few integers. What an integer means (which tensor, which
dimension, which function) is decided while the program runs. So any list of steps is a program, and
the same list runs again over other values and with other numbers.
"""

import dataclasses
import math
import warnings

import numpy as np

# How many last places a reduction of floats may differ by, where pointwise work is fused into it.
# 0: bit-equal. Otherwise such results are compared and nothing computes with them any more: a
# comparison or a difference would make anything of a last place.
REDUCTION_ULPS = 4
LONG_ROW = 16_384  # sums of no more elements have the bits of eager mode anyway

DTYPES = ("float32", "float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
# The large ones cross tiles, and the size from which loops are parallel.
SHAPES = (
    (3,), (), (1,), (5, 4), (3, 1), (1, 4), (2, 3), (4, 4), (2, 3, 4), (0,), (37, 129), (70000,),
)  # fmt: skip
NUMBERS = ((2, 3, 1, 0, -1, 7), (0.5, 1.5, -2.25, 3.0, 0.0, 1e-3))
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38, 65504.0)
MAX_ALIVE = 10
MAX_ELEMENTS = 300_000


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


@dataclasses.dataclass(frozen=True)
class Program:
    inputs: tuple  # pairs: shape, dtype
    steps: tuple


@dataclasses.dataclass(frozen=True)
class Variant:
    """What may differ between two runs of the same program."""

    seed: int = 0  # of the inputs' values
    numbers: int = 0  # other numbers of the same kind
    swap: int = 0  # floats for integers, and the reverse
    keeps: bool = False  # what the program drops stays visible, and some of what it leaves does not


class Machine:
    """One run of a program. Without a pipeline every op runs at once."""

    def __init__(self, torch, device, program, variant, table):
        self.torch, self.device, self.variant = torch, device, variant
        self.steps, self.table = program.steps, table
        self.alive, self.held, self.sums, self.seen, self.refused = [], [], [], [], []
        self.storages, self.pipes, self.depth = [], [], 0
        self.generator = torch.Generator(device)
        for salt, (shape, dtype) in enumerate(program.inputs):
            self.alive.append(self.input(self.shape(shape), self.dtype(dtype), salt))

    def run(self, pipe=None):
        self.outer = pipe
        self.torch.manual_seed(11)
        self.generator.manual_seed(12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in self.steps:
                try:
                    self.table[step.kind](self, step)
                except Exception as error:
                    self.refused.append(step)
                    self.see(step.kind, type(error).__name__, str(error))
            while self.depth:
                self.leave()
        if self.variant.keeps:
            del self.alive[1::2]

    def outcome(self):
        """What is left, what was seen on the way, and where the random numbers stand."""
        whole = [self.torch.empty(0, dtype=dtype, device=self.device).set_(storage)
                 for storage, dtype in self.storages]  # fmt: skip
        kept = self.alive + self.held + whole
        first = {}
        addresses = [tensor.untyped_storage().data_ptr() for tensor in kept]
        return {
            "seen": self.seen,
            "tensors": [describe(self.torch, tensor) for tensor in kept],
            "aliases": [first.setdefault(address, i) for i, address in enumerate(addresses)],
            "random": [self.random_state(), self.generator.get_state().tolist()],
            "sums": [(describe(self.torch, result), size) for result, size in self.sums],
        }

    # --- for the steps: what their integers mean ---
    def pick(self, n):
        return self.alive[n % len(self.alive)]

    def fitting(self, n, shape, suits=lambda tensor: True, same=False):
        """The first tensor from n on that broadcasts with a shape (or has it), or else any."""
        for i in range(n, n + len(self.alive)):
            tensor = self.pick(i)
            fits = tensor.shape == shape if same else broadcasts(tensor.shape, shape)
            if fits and suits(tensor):
                return tensor
        return self.pick(n)

    def number(self, n):
        values = NUMBERS[(n + self.variant.swap) % 2]
        return values[(n // 2 + self.variant.numbers) % len(values)]

    def shape(self, n):
        return SHAPES[n % len(SHAPES)]

    def dtype(self, n):
        return getattr(self.torch, DTYPES[n % len(DTYPES)])

    def input(self, shape, dtype, salt):
        """Values of this variant; some of the floats are special ones."""
        source = np.random.default_rng((self.variant.seed, salt))
        count = int(np.prod(shape))
        if dtype.is_floating_point:
            values = source.normal(0, 2, count)
            odd = source.random(count) < 0.1 * (salt % 2)
            values[odd] = source.choice(SPECIAL, int(odd.sum()))
        else:
            values = source.integers(0, 2 if dtype == self.torch.bool else 9, count)
        return self.torch.tensor(values, dtype=dtype, device=self.device).reshape(shape)

    def random_state(self):
        source = self.torch if self.device == "cpu" else self.torch.npu
        return source.get_rng_state().tolist()

    # --- for the steps: what they leave ---
    def add(self, tensor):
        if tensor.numel() > MAX_ELEMENTS:
            return
        self.alive.append(tensor)
        if len(self.alive) > MAX_ALIVE:
            self.drop(0)

    def add_sum(self, result, operand):
        """The result of a reduction."""
        # Only the CPU fuses reductions.
        is_long = self.device == "cpu" and REDUCTION_ULPS != 0 and operand.numel() > LONG_ROW
        if not is_long or not result.dtype.is_floating_point:
            return self.add(result)
        size = None  # in a pipeline: to look at the operand would keep it from being fused
        if self.outer is None and operand.numel():
            size = operand.numel() * max(1.0, float(operand.double().abs().max())) ** 2
        self.sums.append((result, size))

    def drop(self, n):
        tensor = self.alive.pop(n % len(self.alive))
        if self.variant.keeps:
            self.held.append(tensor)
        if not self.alive:
            self.alive.append(self.torch.ones(3, device=self.device))

    def see(self, *values):
        self.seen.append(values)

    # --- for the steps: pipelines, if there are any ---
    def flush(self):
        if self.outer:
            (self.pipes[-1][1] if self.pipes else self.outer).flush()

    def enter(self, **config):
        self.depth += 1
        if self.outer:
            block = self.torch.pipeline(**config)
            self.pipes.append((block, block.__enter__()))

    def leave(self):
        self.depth = max(self.depth - 1, 0)
        if self.pipes:
            self.pipes.pop()[0].__exit__(None, None, None)


def broadcasts(a, b):
    """Whether two shapes go together, and to something of a size that a test can have."""
    rank = max(len(a), len(b))
    pairs = list(
        zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b), strict=True)
    )
    fits = all(x == y or 1 in (x, y) for x, y in pairs)
    return fits and math.prod(max(pair) for pair in pairs) <= MAX_ELEMENTS


def bits(torch, tensor):
    plain = tensor.detach().cpu().contiguous().reshape(-1)
    if plain.dtype.is_floating_point:
        plain = plain.masked_fill(plain.isnan(), math.nan)  # of which there are many
    return (
        plain.view(torch.int16 if plain.dtype == torch.bfloat16 else plain.dtype).numpy().tobytes()
    )


def describe(torch, tensor):
    """All that can be seen of a tensor."""
    layout = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    return str(tensor.dtype), layout, tensor._version, bits(torch, tensor)
