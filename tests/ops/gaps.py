"""What a device's vendor library cannot compute: such a call must say so, and no other may fail."""

# Ops of CANN that take no float64.
NO_FLOAT64 = {
    "celu", "elu", "erfinv", "expm1", "gelu", "hardshrink", "hardsigmoid", "hardswish",
    "leaky_relu", "lerp", "logit", "logsigmoid", "mish", "nan_to_num", "prelu", "selu", "sigmoid",
    "silu", "softplus", "softshrink", "tanh", "tanhshrink", "threshold",
}  # fmt: skip


def is_missing(case, dtype, sample, device):
    """Whether the device refuses this call."""
    if not device.startswith("npu"):
        return False
    if dtype == "float64" and case.name in NO_FLOAT64:
        return True
    if case.name == "scatter_reduce":
        return sample.kwargs.get("reduce", sample.args[-1]) in ("amax", "amin")
    return False
