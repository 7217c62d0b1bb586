"""torch.onnx.symbolic_helper: decorators of functions for an exporter. There is none, and nobody
calls these functions."""


def parse_args(*arg_descriptors):
    """A decorator that gives the function itself; it tells an exporter the kinds of arguments.

    >>> from mindtorch_v2.onnx.symbolic_helper import parse_args
    >>> parse_args("v")(len) is len
    True
    """
    return lambda function: function


def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """A decorator that gives the function itself."""
    return lambda function: function
