"""torch.utils.cpp_extension: extensions in torch's C++ cannot be built, because its headers and
libraries are not there. Libraries of ops for mindtorch are: docs/add_an_op.md.
"""

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CUDA_HOME",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]

CUDA_HOME = ROCM_HOME = SYCL_HOME = None
IS_HIP_EXTENSION = False


def _refuse(what):
    raise RuntimeError(
        f"torch.utils.cpp_extension.{what}: mindtorch has no headers of torch's C++ to compile "
        "against. Ops of one's own are written in Python with torch.library, or in C++ with "
        "MINDTORCH_LIBRARY and loaded with torch.ops.load_library."
    )


def load(name, sources, *args, **kwargs):
    """RuntimeError: nothing can be compiled."""
    _refuse("load")


def load_inline(name, cpp_sources, *args, **kwargs):
    """RuntimeError: nothing can be compiled."""
    _refuse("load_inline")


def CppExtension(name, sources, *args, **kwargs):
    """RuntimeError: nothing can be compiled."""
    _refuse("CppExtension")


def CUDAExtension(name, sources, *args, **kwargs):
    """RuntimeError: nothing can be compiled."""
    _refuse("CUDAExtension")


class BuildExtension:
    """RuntimeError: nothing can be compiled."""

    def __init__(self, *args, **kwargs):
        _refuse("BuildExtension")


def include_paths(device_type="cpu", torch_include_dirs=True):
    """No folders: there are no headers of torch's C++."""
    return []


def library_paths(device_type="cpu", torch_include_dirs=True, cross_target_platform=None):
    """No folders: there are no libraries of torch's C++."""
    return []
