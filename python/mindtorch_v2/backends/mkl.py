"""torch.backends.mkl: Intel's library of matrices; OpenBLAS is in its place."""


def is_available():
    """False: OpenBLAS multiplies matrices.

    >>> torch.backends.mkl.is_available()
    False
    """
    return False
