"""torch.backends.openmp: threads of the CPU's ops."""


def is_available():
    """False: ops run on threads of their own; torch.set_num_threads() says how many.

    >>> torch.backends.openmp.is_available()
    False
    """
    return False
