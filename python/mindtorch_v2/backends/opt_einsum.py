"""torch.backends.opt_einsum: in which order torch.einsum multiplies; from left to right."""

enabled = False
strategy = None


def is_available():
    """False: the order of products is not searched for.

    >>> torch.backends.opt_einsum.is_available()
    False
    """
    return False


def get_opt_einsum():
    """None: the package opt_einsum is not used."""
    return None
