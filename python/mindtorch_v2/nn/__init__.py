"""torch.nn: parameters and functions of neural networks."""

from mindtorch_v2.nn.parameter import Buffer, Parameter, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedParameter", "functional", "parameter"]


def __getattr__(name):
    if name in ("functional", "parameter"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
