"""torch.onnx.errors."""


class OnnxExporterWarning(UserWarning):
    """A warning of an exporter."""


class OnnxExporterError(RuntimeError):
    """An error of an exporter."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op that an exporter cannot write."""


class SymbolicValueError(OnnxExporterError):
    """A value that an exporter cannot write."""
