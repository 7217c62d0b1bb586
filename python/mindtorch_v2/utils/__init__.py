"""torch.utils: what fits nowhere else."""

from mindtorch_v2.utils import dlpack, hooks

_SUBMODULES = (
    "_contextlib",
    "_foreach_utils",
    "_python_dispatch",
    "_pytree",
    "checkpoint",
    "cpp_extension",
    "data",
    "flop_counter",
    "model_zoo",
    "module_tracker",
    "safetensors",
    "serialization",
    "tensorboard",
)

__all__ = [*(name for name in _SUBMODULES if name[0] != "_"), "dlpack", "hooks"]


def __getattr__(name):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
