"""Found as `torch_npu` by processes that multiprocessing spawned: becomes mindtorch's."""

import importlib

import mindtorch_v2

mindtorch_v2.install_as_torch(device="npu")
importlib.import_module("mindtorch_v2.torch_npu")
