"""torch.quasirandom: Sobol's sequences, which fill a cube more evenly than random points.

The direction numbers, those of Joe and Kuo, come from SciPy, which must be installed.
"""

import numpy as np

import mindtorch_v2 as torch

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of [0, 1)^dimension; scrambled ones depend on a seed.

    torch.quasirandom.SobolEngine(2).draw(2) gives tensor([[0., 0.], [0.5, 0.5]]).
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = torch.from_numpy(_direction_numbers(dimension, self.MAXBIT))
        with torch.device("cpu"):
            self.shift = torch.zeros(dimension, dtype=torch.int64)
            if scramble:
                self._scramble()
            self.quasi = self.shift.clone()
            self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n=1, out=None, dtype=None):
        """The next n points (n, dimension)."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        is_first = self.num_generated == 0 and n > 0
        points = self._next_points(n).to(dtype) / 2**self.MAXBIT
        if is_first:
            points[0] = self._first_point  # in the default dtype, as torch keeps it
        if out is None:
            return points
        return out.resize_as_(points).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points; with those before they must be a power of 2 again."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require "
                f"n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self):
        """Begins again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out n points."""
        self._next_points(n)
        return self

    def _next_points(self, n):
        """n points as whole numbers below 2**MAXBIT. Each follows from the one before by one bit:
        the lowest that is 0 in the number of points so far.
        """
        numbers = np.arange(max(self.num_generated - 1, 0), self.num_generated + n - 1)
        lowest_zero = np.log2((numbers + 1) & ~numbers).astype(np.int64)
        steps = self.sobolstate.numpy()[:, lowest_zero].T
        points = np.bitwise_xor.accumulate(steps, axis=0) ^ self.quasi.numpy()
        if self.num_generated == 0 and n > 0:
            points = np.concatenate([self.quasi.numpy()[None], points])
        self.num_generated += n
        if len(points) > 0:
            self.quasi = torch.from_numpy(points[-1].copy())
        return torch.from_numpy(points)

    def _scramble(self):
        """Owen's scrambling: a random triangular matrix of bits and a random shift for each
        dimension.
        """
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits = self.MAXBIT
        shift = torch.randint(2, (self.dimension, bits), generator=generator)
        self.shift = (shift << torch.arange(bits)).sum(1)
        shape = (self.dimension, bits, bits)
        matrix = torch.randint(2, shape, generator=generator).tril()
        matrix.diagonal(dim1=-2, dim2=-1).fill_(1)
        places = torch.arange(bits - 1, -1, -1)  # the highest bit is the first row
        columns = (self.sobolstate[:, None, :] >> places[:, None]) & 1
        columns = (matrix.double() @ columns.double()).long() & 1
        self.sobolstate = (columns << places[:, None]).sum(1)

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] if self.scramble else []
        parts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"


def _direction_numbers(dimension, bits):
    try:
        from scipy.stats import _sobol
    except ImportError as error:
        raise ImportError(
            "torch.quasirandom.SobolEngine takes its direction numbers from SciPy: "
            "pip install scipy"
        ) from error
    numbers = np.zeros((dimension, bits), dtype=np.uint64)
    _sobol._initialize_v(numbers, dim=dimension, bits=bits)
    return numbers.astype(np.int64)
