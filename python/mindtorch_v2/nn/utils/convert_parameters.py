"""All parameters as one vector, and back."""

import mindtorch_v2 as torch

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_device(parameter, device):
    where = parameter.device
    if device is not None and where != device:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
    return where


def parameters_to_vector(parameters):
    """The elements of all parameters, one after the other.

    >>> torch.nn.utils.parameters_to_vector([torch.ones(1, 2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    device, parts = None, []
    for parameter in parameters:
        device = _check_device(parameter, device)
        parts.append(parameter.reshape(-1))
    return torch.cat(parts)


def vector_to_parameters(vec, parameters):
    """Gives the parameters the elements of a vector, as views of it.

    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0]), [p])
    >>> p.data
    tensor([1., 2.])
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    device, start = None, 0
    for parameter in parameters:
        device = _check_device(parameter, device)
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
