"""torch.backends.mkl: Intel's library of matrices, which is not used."""


def is_available():
    """False: matrices are multiplied without it.

    >>> torch.backends.mkl.is_available()
    False
    """
    return False
