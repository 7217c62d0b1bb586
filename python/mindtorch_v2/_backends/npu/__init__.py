"""The Ascend backend's memory and runtime, as tests and tools see them."""


def knows_bfloat16(device_name):
    """Whether a device of that name computes with bfloat16."""
    return not device_name.startswith("Ascend910A")
