"""torch.backends.mps: Apple's GPUs; not there."""


def is_available():
    """False.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_built():
    """False."""
    return False


def is_macos_or_newer(major, minor):
    """Whether this is macOS of that version or a newer one: mindtorch runs on Linux."""
    return False


def is_macos13_or_newer(minor=0):
    """is_macos_or_newer(13, minor)."""
    return is_macos_or_newer(13, minor)
