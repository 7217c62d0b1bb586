"""torch.backends.cpu: what the processor can do."""

from mindtorch_v2 import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """ "AVX512", "AVX2", "NEON" or "DEFAULT": the instructions that ops use.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
    True
    """
    return _C._cpu_capability()
