"""The CUDA backend's memory, as tests and tools see it."""


def knows_bfloat16(device_name):
    """Whether a device of that name computes with bfloat16."""
    return True
