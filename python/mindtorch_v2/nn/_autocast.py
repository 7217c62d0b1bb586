"""What autocast does for functions of torch.nn.functional that are written in Python."""

import inspect

from mindtorch_v2.amp._policies import autocast_as

# (on CPUs, on accelerators): the functions.
_POLICIES = {
    ("float32", None): (
        "adaptive_avg_pool3d fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d"
    ),
    (None, "float32"): "cosine_similarity interpolate pdist",
    (None, "widest"): "bilinear",
}


def apply_policies(functions):
    """Replaces functions of a module's globals() by those that cast."""
    for (cpu, accelerator), names in _POLICIES.items():
        decorate = autocast_as(cpu, accelerator)
        for name in names.split():
            # The casts come inside: whoever handles the call gets the arguments as they are.
            made = functions[name] = decorate(inspect.unwrap(functions[name]))
            made.__module__ = functions["__name__"]
