"""torch.utils._python_dispatch: there is no __torch_dispatch__, so that no tensor has one. Modes of
dispatch (TorchDispatchMode) are not there; torch.overrides.TorchFunctionMode is.
"""

__all__ = ["is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]


def is_traceable_wrapper_subclass(t):
    """Whether an object is a tensor that wraps others and can be taken apart.

    >>> from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    from mindtorch_v2 import Tensor

    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same of a class: it has the two methods that take a tensor apart and put it together."""
    from mindtorch_v2 import Tensor

    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )
