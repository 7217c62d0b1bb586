"""Weights of convolutions in another order of memory."""

import mindtorch_v2 as torch

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, kinds):
    if isinstance(module, kinds):
        module.weight.data = module.weight.detach().clone(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Gives the weights of all 2-d convolutions in a module this memory format."""
    kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
    return _convert(module, memory_format, kinds)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Gives the weights of all 3-d convolutions in a module this memory format."""
    kinds = (torch.nn.Conv3d, torch.nn.ConvTranspose3d)
    return _convert(module, memory_format, kinds)
