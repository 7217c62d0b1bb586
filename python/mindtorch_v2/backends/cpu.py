"""torch.backends.cpu: what the processor can do."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """ "AVX512", "AVX2", "NEON" or "DEFAULT": the instructions that ops use.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
    True
    """
    import platform

    if platform.machine() == "aarch64":
        return "NEON"
    try:
        with open("/proc/cpuinfo") as file:
            features = next(line for line in file if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return "DEFAULT"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(features):
        return "AVX512"
    return "AVX2" if "avx2" in features else "DEFAULT"
