"""Normalizations by statistics of the channels of a batch, and what InstanceNorm shares."""

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.lazy import LazyModuleMixin
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *(f"BatchNorm{n}d" for n in (1, 2, 3)),
    *(f"LazyBatchNorm{n}d" for n in (1, 2, 3)),
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Parameters and running statistics, one value per channel."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            if wanted:
                empty = torch.empty(num_features, device=device, dtype=dtype)
                setattr(self, name, Parameter(empty))
            else:
                self.register_parameter(name, None)
        zeros = ones = count = None
        if track_running_stats:
            zeros = torch.zeros(num_features, device=device, dtype=dtype)
            ones = torch.ones(num_features, device=device, dtype=dtype)
            count = torch.tensor(0, dtype=torch.long, device=device)
        self.register_buffer("running_mean", zeros)
        self.register_buffer("running_var", ones)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forgets the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Forgets the statistics, sets the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            # Files of the first version have no count.
            count = self.num_batches_tracked
            if count is None or count.is_meta:
                count = torch.tensor(0, dtype=torch.long)
            state_dict.setdefault(prefix + "num_batches_tracked", count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _channels_first(dims, name):
    def check(self, input):
        if input.dim() not in dims:
            texts = " or ".join(f"{d}D" for d in dims)
            raise ValueError(f"expected {texts} input (got {input.dim()}D input)")

    check.__name__ = check.__qualname__ = name
    return check


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        known = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if known else None,
            self.running_var if known else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Channels of (N, C) or (N, C, L) with mean 0 and variance 1, then scaled and moved.

    >>> torch.nn.BatchNorm1d(4, momentum=0.2).momentum
    0.2
    """

    _check_input_dim = _channels_first((2, 3), "_check_input_dim")


class BatchNorm2d(_BatchNorm):
    """Channels of (N, C, H, W) with mean 0 and variance 1, then scaled and moved.

    >>> sorted(torch.nn.BatchNorm2d(4).state_dict())
    ['bias', 'num_batches_tracked', 'running_mean', 'running_var', 'weight']
    """

    _check_input_dim = _channels_first((4,), "_check_input_dim")


class BatchNorm3d(_BatchNorm):
    """Channels of (N, C, D, H, W) with mean 0 and variance 1, then scaled and moved."""

    _check_input_dim = _channels_first((5,), "_check_input_dim")


class SyncBatchNorm(_BatchNorm):
    """BatchNorm whose statistics are those of all processes. In one process it is BatchNorm.

    >>> model = torch.nn.Sequential(torch.nn.BatchNorm2d(3))
    >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        if process_group is not None:
            raise NotImplementedError("SyncBatchNorm: torch.distributed is not there yet")
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every BatchNorm in it made a SyncBatchNorm."""
        result = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None or not module.affine,
            )
            result.weight, result.bias = module.weight, module.bias
            for name, buffer in module._buffers.items():
                result._buffers[name] = buffer
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNorm(LazyModuleMixin):
    """Takes num_features from the first input."""

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        # The real shapes come later; affine and statistics are switched on below.
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self):
        """Gives the parameters first values again, once they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Gives parameters and statistics one value per channel of the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d that takes num_features from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d that takes num_features from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d that takes num_features from its first input."""

    cls_to_become = BatchNorm3d
