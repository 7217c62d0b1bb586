"""Found as `torch` by processes that multiprocessing spawned: becomes mindtorch."""

import mindtorch_v2

mindtorch_v2.install_as_torch(device="npu")
