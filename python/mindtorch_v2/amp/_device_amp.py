"""What torch.cpu.amp, torch.cuda.amp and torch.npu.amp have in common."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2.amp import autocast_mode, grad_scaler


def _warn(device_type, name, call):
    warnings.warn(
        f"`torch.{device_type}.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}({call})` instead.",
        FutureWarning,
        stacklevel=3,
    )


def make_names(device_type, dtype, deprecated=True):
    """autocast, GradScaler, custom_fwd and custom_bwd of one device type."""

    class autocast(autocast_mode.autocast):
        __doc__ = f'The same as torch.autocast("{device_type}", ...).'

        def __init__(self, enabled=True, dtype=dtype, cache_enabled=True):
            if deprecated:
                _warn(device_type, "autocast", f"'{device_type}', args...")
            super().__init__(device_type, dtype, enabled, cache_enabled)

    class GradScaler(grad_scaler.GradScaler):
        __doc__ = f'The same as torch.amp.GradScaler("{device_type}", ...).'

        def __init__(
            self,
            init_scale=2.0**16,
            growth_factor=2.0,
            backoff_factor=0.5,
            growth_interval=2000,
            enabled=True,
        ):
            if deprecated:
                _warn(device_type, "GradScaler", f"'{device_type}', args...")
            super().__init__(
                device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled
            )

    def custom_fwd(fwd=None, *, cast_inputs=None):
        if deprecated:
            _warn(device_type, "custom_fwd", f"args..., device_type='{device_type}'")
        return torch.amp.custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    def custom_bwd(bwd=None):
        if deprecated:
            _warn(device_type, "custom_bwd", f"args..., device_type='{device_type}'")
        return torch.amp.custom_bwd(bwd, device_type=device_type)

    names = {"autocast": autocast, "GradScaler": GradScaler}
    for function in (custom_fwd, custom_bwd):
        function.__doc__ = f'The same as torch.amp.{function.__name__} for "{device_type}".'
        names[function.__name__] = function
    for value in names.values():
        value.__module__ = f"mindtorch_v2.{device_type}.amp"
        value.__qualname__ = value.__name__
    return names
