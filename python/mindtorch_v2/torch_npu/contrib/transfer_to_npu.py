"""import torch_npu.contrib.transfer_to_npu: from here on a device named "cuda" is an NPU."""

from mindtorch_v2._cuda_as_npu import send_cuda_to_npu

send_cuda_to_npu()
