"""The CUDA backend's memory, as tests and tools see it."""
