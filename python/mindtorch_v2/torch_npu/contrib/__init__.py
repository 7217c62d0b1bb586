"""torch_npu.contrib: transfer_to_npu, which runs programs that say "cuda" on NPUs."""


def __getattr__(name):
    if name == "transfer_to_npu":
        import importlib

        return importlib.import_module("mindtorch_v2.torch_npu.contrib.transfer_to_npu")
    raise AttributeError(f"module 'torch_npu.contrib' has no attribute {name!r}")
