"""torch.autograd.grad_mode: the switches of gradient mode."""

from mindtorch_v2._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
