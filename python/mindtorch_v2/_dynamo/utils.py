"""torch._dynamo.utils: what libraries ask about compiling."""


def is_compile_supported(device_type):
    """Whether torch.compile makes anything of a function on this kind of device. It runs it as
    it is: False.

    >>> from mindtorch_v2._dynamo.utils import is_compile_supported
    >>> is_compile_supported("cpu")
    False
    """
    return False
