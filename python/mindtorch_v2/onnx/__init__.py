"""torch.onnx: there is no exporter. What asks whether a model is being exported hears no; what
libraries register for an exporter is checked and never called; export() raises.
"""

import enum
import re

from mindtorch_v2.onnx import errors, symbolic_helper, utils
from mindtorch_v2.onnx.errors import OnnxExporterError

__all__ = [
    "OnnxExporterError",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "symbolic_helper",
    "unregister_custom_op_symbolic",
    "utils",
]


class TensorProtoDataType(enum.IntEnum):
    """The dtypes of the ONNX format."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


class OperatorExportTypes(enum.IntEnum):
    """How an exporter treats ops that ONNX does not have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """In which mode an exporter runs a model."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export():
    """False.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False


def export(model, args=(), f=None, **settings):
    """NotImplementedError: models are not written as ONNX files."""
    raise NotImplementedError(
        "torch.onnx.export: mindtorch writes no ONNX files. Save the state_dict() of the model "
        "with torch.save, and export it with torch."
    )


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """What an exporter is to write for an op of one's own. There is none: the name is checked."""
    _check_name(symbolic_name)


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Ends register_custom_op_symbolic."""
    _check_name(symbolic_name)


def _check_name(name):
    if not re.match(r"^[a-zA-Z0-9-_]+::[a-zA-Z-_]+[a-zA-Z0-9-_]*$", name):
        raise errors.OnnxExporterError(
            f"Failed to register operator {name}. The symbolic name must match the format "
            "domain::name, and should start with a letter and contain only alphanumerical "
            "characters"
        )
