"""Functions of torch.nn.functional that draw random numbers: dropout, rrelu, gumbel_softmax."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Elements, each 0 with probability p; the others are scaled to keep the mean.

    >>> F.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def _drop_channels(input, p, training, inplace):
    drop = torch.feature_dropout_ if inplace else torch.feature_dropout
    return drop(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean 0 and variance 1 of what selu gives.

    >>> F.alpha_dropout(torch.ones(2))
    tensor([1., 1.])
    """
    _check_probability(p)
    drop = torch.alpha_dropout_ if inplace else torch.alpha_dropout
    return drop(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels.

    >>> F.feature_alpha_dropout(torch.ones(1, 2))
    tensor([[1., 1.]])
    """
    _check_probability(p)
    drop = torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout
    return drop(input, p, training)


def _unbatched(input, p, training, inplace):
    result = _drop_channels(input.unsqueeze(0), p, training, inplace)
    return result.squeeze(0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, L) or (C, L).

    >>> F.dropout1d(torch.ones(1, 2, 3), training=False).shape
    torch.Size([1, 2, 3])
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 "
            "spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    if input.dim() == 2:
        return _unbatched(input, p, training, inplace)
    return _drop_channels(input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, H, W).

    >>> F.dropout2d(torch.ones(1, 2, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3])
    """
    _check_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated "
            "and will result in an error in a future release. To retain the behavior "
            "and silence this warning, please use dropout instead. Note that dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, "
            "a channel dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise "
            "1D dropout behavior is desired - input is interpreted as shape (N, C, L), where C "
            "is the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> F.dropout3d(torch.ones(1, 2, 3, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3, 3])
    """
    _check_probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated "
            "and will result in an error in a future release. To retain the behavior "
            "and silence this warning, please use dropout instead. Note that dropout3d "
            "exists to provide channel-wise dropout on inputs with 3 spatial dimensions, "
            "a channel dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    if input.dim() == 4:
        return _unbatched(input, p, training, inplace)
    return _drop_channels(input, p, training, inplace)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """input where it is positive, else scaled by a random number, or by the middle of its range.

    >>> F.rrelu(torch.tensor([-24.0, 1.0]))
    tensor([-5.5000,  1.0000])
    """
    function = rrelu_ if inplace else torch.rrelu
    return function(input, lower, upper, training)


rrelu_ = _C._functions["rrelu_"]


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the classes that logits describe: soft, or with hard a one for the class drawn.

    >>> F.gumbel_softmax(torch.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    drawn = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    # The value of the class drawn, the slope of the soft sample.
    return drawn - soft.detach() + soft


_make_overridable(globals())
