"""Moving a module to another device or dtype."""

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.nn.parameter import Parameter


def _parse_to(args, kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of Tensor.to."""
    args = list(args)
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    other = kwargs.pop("tensor", kwargs.pop("other", None))
    non_blocking = kwargs.pop("non_blocking", False)
    memory_format = kwargs.pop("memory_format", None)
    kwargs.pop("copy", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if args and isinstance(args[0], Tensor):
        other = args.pop(0)
    elif args and isinstance(args[0], torch.dtype):
        dtype = args.pop(0)
    elif args:
        device = args.pop(0)
        if args and (args[0] is None or isinstance(args[0], torch.dtype)):
            dtype = args.pop(0)
    if args:
        non_blocking = args.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    if device is not None:
        device = torch.device(device)
    return device, dtype, non_blocking, memory_format


class ConversionMethods:
    """The parts of a module that change where and as what its tensors are kept."""

    def _apply(self, fn, recurse=True):
        """Replaces every parameter, gradient and buffer by fn of it. Parameters stay the same
        objects, so that optimizers that know them go on with the new ones; only a change to or
        from the meta device makes new ones.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                if parameter is not None:
                    self._parameters[name] = _converted(parameter, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Moves parameters and buffers to a device, and floating point ones to a dtype.

        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex "
                f"dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor):
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            try:
                if memory_format is not None and tensor.dim() in (4, 5):
                    return tensor.to(device, wanted, non_blocking, memory_format=memory_format)
                return tensor.to(device, wanted, non_blocking)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Moves to a device without copying: the values there are unset."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self):
        """Moves everything to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Moves everything to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def npu(self, device=None):
        """Moves everything to an NPU."""
        return self._apply(lambda tensor: tensor.npu(device))

    def _to_dtype(self, dtype):
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor
        )

    def float(self):
        """Makes floating point parameters and buffers float32."""
        return self._to_dtype(torch.float32)

    def double(self):
        """Makes floating point parameters and buffers float64."""
        return self._to_dtype(torch.float64)

    def half(self):
        """Makes floating point parameters and buffers float16."""
        return self._to_dtype(torch.float16)

    def bfloat16(self):
        """Makes floating point parameters and buffers bfloat16."""
        return self._to_dtype(torch.bfloat16)

    def type(self, dst_type):
        """Makes all parameters and buffers of this type."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def share_memory(self):
        """Moves everything to memory that processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _converted(parameter, fn):
    result, grad = fn(parameter), parameter.grad
    if grad is not None:
        grad = fn(grad).requires_grad_(grad.requires_grad)
    if result.is_meta != parameter.is_meta:
        parameter = Parameter(result, parameter.requires_grad)
    else:
        if grad is not None:
            parameter.grad = None  # it must fit the data at every moment
        parameter.data = result
    if grad is not None:
        parameter.grad = grad
    return parameter
