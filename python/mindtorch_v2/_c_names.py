"""Names of torch._C that libraries use and that need no C++."""

import types

from mindtorch_v2 import _C

NAMES = (
    "DispatchKey",
    "DispatchKeySet",
    "_ExcludeDispatchKeyGuard",
    "_are_functorch_transforms_active",
    "_get_tracing_state",
    "_log_api_usage_once",
    "_nn",
)


class _Functions(types.ModuleType):
    """torch._C._nn: the functions of neural networks as torch's C++ has them."""

    @staticmethod
    def _parse_to(*args, **kwargs):
        """(device, dtype, non_blocking, memory_format) of the arguments of Tensor.to."""
        from mindtorch_v2.nn.modules._convert import _parse_to

        return _parse_to(args, kwargs)

    def __getattr__(self, name):
        if name in _C._nn_functions:
            return _C._nn_functions[name]
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")


_nn = _Functions("torch._C._nn")


def _are_functorch_transforms_active():
    """Whether vmap is at work: values of tensors cannot be read then."""
    return _C._vmap_level() > 0


def _log_api_usage_once(*names):
    """Nobody counts which functions are used: it does nothing."""


def _get_tracing_state():
    """None: torch.jit.trace does not trace."""
    return None


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mindtorch_v2._library import dispatch_keys  # it needs much of the library

    return getattr(dispatch_keys, name)
