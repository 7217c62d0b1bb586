"""The errors of torch's tracer."""

__all__ = ["BackendCompilerFailed", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """An error of a compiled function's compilation."""


class InvalidBackend(TorchDynamoException):
    """torch.compile was given a backend that does not exist."""


class Unsupported(TorchDynamoException):
    """Python code that cannot be traced. Nothing is traced, so that it is never raised."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend failed. The pipeline's errors are those of the ops, so that it is never raised."""
