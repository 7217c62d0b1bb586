"""torch.backends.openmp: threads of the CPU's ops."""


def is_available():
    """True: torch.set_num_threads() says how many threads ops use.

    >>> torch.backends.openmp.is_available()
    True
    """
    return True
