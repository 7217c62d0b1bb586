"""torch.backends.cudnn: not there. Its settings can be set and read: `deterministic` is told to
devices, and those that do nothing say so, once."""

from mindtorch_v2 import _math_settings
from mindtorch_v2.backends._flags import flags_context, watch
from mindtorch_v2.backends._precision import Precision, add_precision, keep

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
conv = Precision("torch.backends.cudnn.conv", "cuda", "conv")
rnn = Precision("torch.backends.cudnn.rnn", "cuda", "rnn")


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


def _says(name, quiet, why, act=None):
    def on_change(value):
        if act is not None:
            act(value)
        if value != quiet:
            _math_settings.warn_once(f"torch.backends.cudnn.{name} = {value!r}", why)

    return on_change


def _set_tf32(value):
    for op in ("conv", "rnn"):
        keep("cuda", op, "tf32" if value else "none")


watch(
    globals(),
    {
        "benchmark": _says("benchmark", False, "there is no cuDNN here to try kernels of"),
        "benchmark_limit": _says("benchmark_limit", 10, "there is no cuDNN here to try kernels of"),
        "allow_tf32": _says(
            "allow_tf32", False, "convolutions of float32 are exact here", _set_tf32
        ),
        "deterministic": lambda value: _math_settings.set_deterministic(cudnn_deterministic=value),
    },
)
add_precision(globals(), "cuda")
