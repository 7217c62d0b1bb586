"""Functions of torch_npu that programs for Ascend call, over torch's ops."""

import mindtorch_v2 as torch

_ND = 2  # CANN's number of the plain layout, which every tensor here has


def npu_format_cast(self, acl_format, customize_dtype=None):
    """The tensor itself: NPU tensors have the plain layout."""
    return self


def get_npu_format(self):
    """2: the plain layout, ND.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.get_npu_format(torch.ones(1))
    2
    """
    return _ND


def npu_rms_norm(self, gamma, epsilon=1e-6):
    """(x / rms(x) * gamma, 1 / rms(x)), over gamma's dimensions, the first in x's dtype.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_rms_norm(torch.full((1, 2), 2.0), torch.ones(2))[0]
    tensor([[1.0000, 1.0000]])
    """
    dims = tuple(range(-gamma.dim(), 0))
    exact = self.float()
    reciprocal = torch.rsqrt(exact.square().mean(dims, keepdim=True) + epsilon)
    return ((exact * reciprocal).to(gamma.dtype) * gamma).to(self.dtype), reciprocal


def npu_add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    """(norm, 1 / rms, sum) of x1 + x2: npu_rms_norm of the sum."""
    total = x1 + x2
    return *npu_rms_norm(total, gamma, epsilon), total


def npu_swiglu(self, dim=-1):
    """silu of the first half times the second half.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_swiglu(torch.tensor([0.0, 3.0]))
    tensor([0.])
    """
    gate, value = self.chunk(2, dim)
    return torch.nn.functional.silu(gate) * value


def npu_geglu(self, dim=-1, approximate=1, activate_left=False):
    """(one half times gelu of the other, which is the second unless activate_left; that gelu).
    With approximate=1 gelu is the one by tanh.

    >>> from mindtorch_v2 import torch_npu
    >>> torch_npu.npu_geglu(torch.tensor([3.0, 0.0]))[0]
    tensor([0.])
    """
    value, gate = self.chunk(2, dim)
    if activate_left:
        value, gate = gate, value
    gate = torch.nn.functional.gelu(gate, approximate="tanh" if approximate == 1 else "none")
    return value * gate, gate


def npu_rotary_mul(self, r1, r2, rotary_mode="half"):
    """x * r1 + rotate(x) * r2, where rotate turns halves, or with "interleave" neighbours, by a
    quarter.

    >>> from mindtorch_v2 import torch_npu
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch_npu.npu_rotary_mul(x, torch.zeros(2), torch.ones(2))
    tensor([-2.,  1.])
    """
    if rotary_mode == "half":
        first, second = self.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    elif rotary_mode == "interleave":
        turned = torch.stack((-self[..., 1::2], self[..., ::2]), -1).flatten(-2)
    else:
        raise RuntimeError(f"npu_rotary_mul: unknown rotary_mode {rotary_mode!r}")
    return self * r1 + turned * r2


def npu_scaled_masked_softmax(x, mask, scale=1.0, fixed_triu_mask=False):
    """softmax of x * scale along the last dimension; entries where mask is true count little."""
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return torch.softmax((x * scale).masked_fill(mask, -10000.0), -1)


def npu_confusion_transpose(self, perm, shape, transpose_first):
    """permute(perm) and reshape(shape), in this order or the other."""
    if transpose_first:
        return self.permute(perm).reshape(shape)
    return self.reshape(shape).permute(perm)
