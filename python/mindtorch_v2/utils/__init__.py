"""torch.utils: what fits nowhere else."""

from mindtorch_v2.utils import dlpack, hooks

_SUBMODULES = (
    "_pytree",
    "checkpoint",
    "data",
    "model_zoo",
    "safetensors",
    "serialization",
    "tensorboard",
)

__all__ = [*_SUBMODULES[1:], "dlpack", "hooks"]


def __getattr__(name):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
