"""The Ascend backend's memory and runtime, as tests and tools see them."""
