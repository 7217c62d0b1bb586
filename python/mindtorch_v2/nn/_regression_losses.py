"""Losses of torch.nn.functional that compare with values, vectors or rankings."""

import functools
import math
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.nn import _reduction
from mindtorch_v2.nn._reduction import reduced

_ops = _C._internal_functions


def _warn_of_broadcast(input, target):
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(losses, input, weight, reduction):
    """The losses times their weights; `reduction` is looked at last."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = losses() * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    return reduced(loss, ("none", "mean", "sum").index(reduction))


def _by_weights(losses, input, weight, reduction):
    """The same, with a mean by the weights."""
    loss = _weighted(losses, input, weight, "sum" if reduction == "mean" else reduction)
    return loss / weight.sum() if reduction == "mean" else loss


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The square of the difference.

    >>> F.mse_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """
    _warn_of_broadcast(input, target)
    reduction = _reduction.name(reduction, size_average, reduce)
    if weight is not None:
        return _by_weights(lambda: (input - target) ** 2, input, weight, reduction)
    return _ops["mse_loss"](input, target, _reduction.get_enum(reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute value of the difference.

    >>> F.l1_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(1.)
    """
    _warn_of_broadcast(input, target)
    reduction = _reduction.name(reduction, size_average, reduce)
    if weight is not None:
        return _by_weights(lambda: (input - target).abs(), input, weight, reduction)
    return _ops["l1_loss"](input, target, _reduction.get_enum(reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The absolute difference; below beta a parabola that meets it smoothly.

    >>> F.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    _warn_of_broadcast(input, target)
    return _ops["smooth_l1_loss"](input, target, kind, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the square of the difference; above delta it goes on as a line.

    >>> F.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    _warn_of_broadcast(input, target)
    if weight is not None:
        losses = functools.partial(_ops["huber_loss"], input, target, 0, delta)
        return _weighted(losses, input, weight, reduction)
    return _ops["huber_loss"](input, target, _reduction.get_enum(reduction), delta)


def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """The negative log likelihood of counts under a Poisson distribution.

    >>> F.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([2.0]))
    tensor(1.)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["poisson_nll_loss"](input, target, log_input, full, eps, kind)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log likelihood of values under a normal distribution.

    >>> F.gaussian_nll_loss(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([1.0]))
    tensor(0.5000)
    """
    if not isinstance(var, torch.Tensor):
        var = var * torch.ones_like(input)
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not (input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1):
            try:
                wanted = torch.broadcast_shapes(input.shape, var.shape)
            except RuntimeError:
                wanted = None
            if wanted != input.shape:
                raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with torch.no_grad():  # so that too small a variance has a gradient, too
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, _reduction.get_enum(reduction))


def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """input where the target is 1, and what it lacks of the margin where it is -1.

    >>> F.hinge_embedding_loss(torch.tensor([2.0, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([2.0000, 0.7500])
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["hinge_embedding_loss"](input, target, margin, kind)


def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """What input1 lacks to rank above input2 by the margin (target 1), or below it (-1).

    >>> F.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1]))
    tensor(1.)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["margin_ranking_loss"](input1, input2, target, margin, kind)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - cosine where the target is 1; where it is -1, what the cosine is above the margin.

    >>> one = torch.tensor([[1.0, 0.0]])
    >>> F.cosine_embedding_loss(one, one, torch.tensor([-1]))
    tensor(1.)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["cosine_embedding_loss"](input1, input2, target, margin, kind)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """What the negative lacks to be farther from the anchor than the positive, by the margin.

    >>> zero = torch.zeros(1, 2)
    >>> F.triplet_margin_loss(zero, zero, zero)
    tensor(1.)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _ops["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, kind)


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """triplet_margin_loss with a distance of one's own.

    >>> zero = torch.zeros(1, 2)
    >>> F.triplet_margin_with_distance_loss(zero, zero, zero)
    tensor(1.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or torch.nn.functional.pairwise_distance
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    far = distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    lacking = (margin + distance(anchor, positive) - far).clamp_min(0)
    return reduced(lacking, _reduction.get_enum(reduction))


_make_overridable(globals())
