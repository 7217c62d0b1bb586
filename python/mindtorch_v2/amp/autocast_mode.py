"""torch.autocast, and what custom autograd Functions need to work with it."""

import functools
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds
from mindtorch_v2.amp import _state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type):
    """Whether autocast can be used for a device type.

    >>> torch.amp.is_autocast_available("npu")
    True
    """
    return _state.check_device_type(device_type)


def _why_disabled(device_type, dtype):
    """Why a block cannot cast, or None."""
    if device_type in _kinds.ACCELERATORS and not _kinds.module(device_type).is_available():
        title = _kinds.ROWS[device_type].title
        other = " or torch_xla is imported" if device_type == "cuda" else ""  # as torch has it
        return f"{title} is not available{other}. Disabling autocast."
    if dtype in (torch.bfloat16, torch.float16):
        return None
    name = device_type.upper()
    return (
        f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
        f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
    )


class autocast:
    """Runs ops in the dtype that suits them: products in half precision, sums in float32.

    >>> model = torch.nn.Linear(4, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     loss = torch.nn.functional.mse_loss(model(torch.ones(3, 4)), torch.zeros(3, 2))
    >>> loss.dtype
    torch.float32

    It is also a decorator. Backward passes belong outside of the block.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if enabled and (why := _why_disabled(device_type, self.fast_dtype)):
            warnings.warn(why, stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._cache_enabled = cache_enabled
        self._before = []

    def __enter__(self):
        if not isinstance(self._enabled, bool):
            raise TypeError(
                "set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
                f"{type(self._enabled).__name__}"
            )
        if not isinstance(self.fast_dtype, torch.dtype):
            raise TypeError(
                "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
                f"{type(self.fast_dtype).__name__}"
            )
        if self._cache_enabled is not None and not isinstance(self._cache_enabled, bool):
            raise TypeError(f"enabled must be a bool (got {type(self._cache_enabled).__name__})")
        before = (
            _C._is_autocast_enabled(self.device),
            _C._get_autocast_dtype(self.device),
            _C.is_autocast_cache_enabled(),
        )
        self._before.append(before)
        _C._set_autocast_enabled(self.device, self._enabled)
        _C._set_autocast_dtype(self.device, self.fast_dtype)
        if self._cache_enabled is not None:
            _C.set_autocast_cache_enabled(self._cache_enabled)
        _C.autocast_increment_nesting()
        return self

    def __exit__(self, *exception):
        if _C.autocast_decrement_nesting() == 0:
            _C.clear_autocast_cache()
        enabled, dtype, cache_enabled = self._before.pop()
        _C._set_autocast_enabled(self.device, enabled)
        _C._set_autocast_dtype(self.device, dtype)
        _C.set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside


def _cast(value, device_type, dtype):
    """A tensor, or what is made of tensors, in another dtype; float64 stays."""
    if isinstance(value, torch.Tensor):
        eligible = value.device.type == device_type and value.is_floating_point()
        return value.to(dtype) if eligible and value.dtype != torch.float64 else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, dict):
        cast = {key: _cast(entry, device_type, dtype) for key, entry in value.items()}
        return type(value)(cast)
    if isinstance(value, (list, tuple)):
        entries = [_cast(entry, device_type, dtype) for entry in value]
        return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For forward of a custom autograd Function that is used under autocast.

    Without `cast_inputs` it runs as its surroundings do; with it, its arguments become that dtype
    and autocast is off inside.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad * ctx.saved_tensors[0]
    >>> Square.apply(torch.tensor(3.0))
    tensor(9.)
    """
    _check_type_name(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        context = args[0]
        context._dtype = _state.get_autocast_dtype(device_type)
        enabled = _state.is_autocast_enabled(device_type)
        if cast_inputs is None:
            context._fwd_used_autocast = enabled
            return fwd(*args, **kwargs)
        context._fwd_used_autocast = False
        if not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """For backward of a custom autograd Function: runs with the autocast of its forward.

    The example of custom_fwd() shows both.
    """
    _check_type_name(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        context = args[0]
        with autocast(device_type, enabled=context._fwd_used_autocast, dtype=context._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _check_type_name(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
