"""Normalizations by statistics of every channel of every sample."""

import warnings

from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.batchnorm import _channels_first, _LazyNorm, _NormBase

__all__ = [
    *(f"InstanceNorm{n}d" for n in (1, 2, 3)),
    *(f"LazyInstanceNorm{n}d" for n in (1, 2, 3)),
]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing, unexpected, error_msgs
    ):
        version = local_metadata.get("version", None)
        if version is None and not self.track_running_stats:
            found = [
                prefix + name
                for name in ("running_mean", "running_var")
                if prefix + name in state_dict
            ]
            if found:
                names = " and ".join(f'"{key}"' for key in found)
                name = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {name} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, "
                    f"this may be expected because {name} does not track running stats by default "
                    "since 0.4.0. Please remove these keys from state_dict. If the running stats "
                    f"are actually needed, instead set track_running_stats=True in {name} to "
                    f"enable them. See the documentation of {name} for details."
                )
                for key in found:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing, unexpected, error_msgs
        )

    def forward(self, input):
        self._check_input_dim(input)
        channel_dim = input.dim() - self._without_batch
        if input.size(channel_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel_dim} to match num_features"
                    f" ({self.num_features}), but got: {input.size(channel_dim)}."
                )
            warnings.warn(
                f"input's size at dim={channel_dim} does not match num_features. "
                "You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == self._without_batch:
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Every channel of every sample (N, C, L) with mean 0 and variance 1.

    >>> list(torch.nn.InstanceNorm1d(4).state_dict())
    []
    """

    _without_batch = 2
    _check_input_dim = _channels_first((2, 3), "_check_input_dim")


class InstanceNorm2d(_InstanceNorm):
    """Every channel of every sample (N, C, H, W) with mean 0 and variance 1."""

    _without_batch = 3
    _check_input_dim = _channels_first((3, 4), "_check_input_dim")


class InstanceNorm3d(_InstanceNorm):
    """Every channel of every sample (N, C, D, H, W) with mean 0 and variance 1."""

    _without_batch = 4
    _check_input_dim = _channels_first((4, 5), "_check_input_dim")


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """InstanceNorm1d that takes num_features from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """InstanceNorm2d that takes num_features from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """InstanceNorm3d that takes num_features from its first input."""

    cls_to_become = InstanceNorm3d
