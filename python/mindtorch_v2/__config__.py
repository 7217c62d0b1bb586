"""torch.__config__: what this build can do, as text."""

import mindtorch_v2 as torch

__all__ = ["parallel_info", "show"]


def show():
    """The libraries and settings of this build, with torch's names for them.

    >>> "USE_MKL=OFF" in torch.__config__.show()
    True
    """
    settings = {
        "BLAS_INFO": "open",
        "LAPACK_INFO": "open",
        "TORCH_VERSION": torch.version.torch_version,
        "USE_CUDA": "OFF",
        "USE_CUDNN": "OFF",
        "USE_MKL": "OFF",
        "USE_MKLDNN": "ON" if torch.backends.mkldnn.is_available() else "OFF",
        "USE_MPI": "OFF",
        "USE_NCCL": "OFF",
        "USE_OPENMP": "ON" if torch.backends.openmp.is_available() else "OFF",
        "USE_ROCM": "OFF",
    }
    lines = [
        "mindtorch built with:",
        f"  - CPU capability usage: {torch.backends.cpu.get_cpu_capability()}",
        f"  - CPU capabilities compiled: {', '.join(torch._C._cpu_compiled_capabilities())}",
        "  - Build settings: " + ", ".join(f"{key}={value}" for key, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def parallel_info():
    """How many threads compute.

    >>> "get_num_threads() : " in torch.__config__.parallel_info()
    True
    """
    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {torch.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {torch.get_num_interop_threads()}\n"
    )
