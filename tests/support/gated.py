"""The ops of examples/cpp/gated.cpp, a library that knows mindtorch by its public headers alone."""

import os
import pathlib

import numpy as np


def load():
    """torch.ops.gated."""
    import mindtorch_v2 as torch

    if not hasattr(torch.ops, "gated"):
        module = pathlib.Path(os.path.realpath(torch._C.__file__))  # in the build folder
        torch.ops.load_library(str(module.parents[1] / "examples" / "libgated.so"))
    return torch.ops.gated


def swiglu(x, gate, beta=1.0):
    """NumPy's answer, in double."""
    x, gate = np.asarray(x, np.float64), np.asarray(gate, np.float64)
    return x / (1 + np.exp(-beta * x)) * gate
