"""torch.backends.mkldnn: Intel's oneDNN; not there. Its settings can be set and read."""

from mindtorch_v2.backends._flags import flags_context

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available():
    """False.

    >>> torch.backends.mkldnn.is_available()
    False
    """
    return False


flags = flags_context(globals(), {"enabled": False, "deterministic": False, "allow_tf32": True})
