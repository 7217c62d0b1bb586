"""What autocast does for functions of torch.nn.functional that are written in Python."""

import inspect

from mindtorch_v2.amp._policies import in_float32

_ON_CPU = "fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d"
_ON_ACCELERATORS = "interpolate"


def apply_policies(functions):
    """Replaces functions of a module's globals() by those that cast."""
    for on_cpu, names in ((True, _ON_CPU), (False, _ON_ACCELERATORS)):
        for name in names.split():
            # The casts come inside: whoever handles the call gets the arguments as they are.
            made = functions[name] = in_float32(on_cpu)(inspect.unwrap(functions[name]))
            made.__module__ = functions["__name__"]
