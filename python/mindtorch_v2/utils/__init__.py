"""torch.utils: what fits nowhere else."""

from mindtorch_v2.utils import dlpack, hooks

__all__ = ["checkpoint", "dlpack", "hooks"]


def __getattr__(name):
    if name == "checkpoint":
        import importlib

        return importlib.import_module(f"{__name__}.checkpoint")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
