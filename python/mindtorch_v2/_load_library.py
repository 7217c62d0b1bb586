"""Loads the C++ library, with OpenBLAS kept to the calling thread.

OpenBLAS starts a thread for every processor while it is loaded, and each spins for some
milliseconds. mindtorch divides its work among threads of its own (backends/cpu/parallel.h), so none
of them would ever get anything to do. Other libraries find the variable as it was.
"""

import os

_NAME = "OPENBLAS_NUM_THREADS"
_given = os.environ.get(_NAME)
os.environ[_NAME] = "1"
try:
    from mindtorch_v2 import _C
finally:
    if _given is None:
        del os.environ[_NAME]
    else:
        os.environ[_NAME] = _given
