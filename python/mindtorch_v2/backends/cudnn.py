"""torch.backends.cudnn: not there. Its settings can be set and read: `deterministic` is told to
devices, and those that do nothing say so, once."""

from mindtorch_v2 import _math_settings
from mindtorch_v2.backends._flags import flags_context, watch

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


def _says(name, quiet, why):
    def on_change(value):
        if value != quiet:
            _math_settings.warn_once(f"torch.backends.cudnn.{name} = {value!r}", why)

    return on_change


watch(
    globals(),
    {
        "benchmark": _says("benchmark", False, "there is no cuDNN here to try kernels of"),
        "benchmark_limit": _says("benchmark_limit", 10, "there is no cuDNN here to try kernels of"),
        "allow_tf32": _says("allow_tf32", False, "convolutions of float32 are exact here"),
        "deterministic": lambda value: _math_settings.set_deterministic(cudnn_deterministic=value),
    },
)
