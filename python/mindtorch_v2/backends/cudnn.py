"""torch.backends.cudnn: not there. Its settings can be set and read."""

from mindtorch_v2.backends._flags import flags_context

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available():
    """False: no library of NVIDIA's computes.

    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def version():
    """None: cuDNN is not there."""
    return None


def is_acceptable(tensor):
    """False: no tensor is cuDNN's to compute with."""
    return False


flags = flags_context(
    globals(),
    {
        "enabled": False,
        "benchmark": False,
        "benchmark_limit": 10,
        "deterministic": False,
        "allow_tf32": True,
    },
)
