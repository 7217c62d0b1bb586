"""torch.backends.mkldnn: Intel's oneDNN; not there. Its settings can be set and read."""

from mindtorch_v2.backends._flags import flags_context
from mindtorch_v2.backends._precision import Precision, add_precision

enabled = True
deterministic = False
allow_tf32 = True
matmul = Precision("torch.backends.mkldnn.matmul", "mkldnn", "matmul")
conv = Precision("torch.backends.mkldnn.conv", "mkldnn", "conv")
rnn = Precision("torch.backends.mkldnn.rnn", "mkldnn", "rnn")


def is_available():
    """False.

    >>> torch.backends.mkldnn.is_available()
    False
    """
    return False


flags = flags_context(globals(), {"enabled": False, "deterministic": False, "allow_tf32": True})
add_precision(globals(), "mkldnn")
