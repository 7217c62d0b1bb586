"""torch.backends: which libraries compute, and their settings. What is set can be read back; ops
do not depend on it, because there is one way to compute each.

>>> torch.backends.cudnn.is_available(), torch.backends.mps.is_available()
(False, False)
"""

import contextlib

from mindtorch_v2.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum
from mindtorch_v2.backends._precision import add_precision

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


@contextlib.contextmanager
def __allow_nonbracketed_mutation():
    """A block in which settings may be set: they always may."""
    yield


add_precision(globals(), "generic")
