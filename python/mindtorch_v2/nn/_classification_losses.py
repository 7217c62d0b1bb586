"""Losses of torch.nn.functional that compare with classes or probabilities."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.nn import _reduction
from mindtorch_v2.nn._reduction import reduced

_ops = _C._internal_functions


def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """The negative of input, a log probability, at the target class.

    >>> F.nll_loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["nll_loss_nd"](input, target, weight, kind, ignore_index)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The cross entropy of softmax(input) and the target: classes, or probabilities of all.

    >>> F.cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor(0.6931)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["cross_entropy_loss"](
        input, target, weight, kind, ignore_index, float(label_smoothing)
    )


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """The cross entropy of a linear layer's output and the target. The weight is (C, in), or
    (C, ..., in) for a loss with more dimensions. Options, hints of how to split the work, change
    nothing.

    >>> F.linear_cross_entropy(torch.ones(1, 3), torch.zeros(2, 3), torch.tensor([1]))
    tensor(0.6931)
    """
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    flat = linear_weight.reshape(-1, linear_weight.size(-1))
    logits = torch.nn.functional.linear(input, flat, bias)
    return cross_entropy(
        logits.view(*input.shape[:-1], *linear_weight.shape[:-1]),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_probabilities(tensor, what):
    # On accelerators nobody waits for the answer.
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return
    low, high = torch.aminmax(tensor.detach())
    if not (low.item() >= 0 and high.item() <= 1):  # also false for NaN
        raise RuntimeError(f"all elements of {what} should be between 0 and 1")


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The cross entropy of probabilities and targets between 0 and 1.

    >>> F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    _check_probabilities(input, "input")
    _check_probabilities(target, "target")
    return _ops["binary_cross_entropy"](input, target, weight, kind)


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight=None,
):
    """The cross entropy of sigmoid(input) and targets between 0 and 1.

    >>> F.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return _ops["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, kind)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The divergence of target from input, which is given as log probabilities.

    >>> F.kl_div(torch.tensor([[0.0]]), torch.tensor([[0.5]]), reduction="batchmean")
    tensor(-0.3466)
    """
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    op = _ops["kl_div"]
    if reduction == "batchmean":
        loss = op(input, target, 2, log_target=log_target)
        return loss / input.size(0) if input.dim() != 0 else loss
    return op(input, target, _reduction.get_enum(reduction), log_target=log_target)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> F.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    return _ops["soft_margin_loss"](
        input, target, _reduction.chosen(reduction, size_average, reduce)
    )


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The mean over the classes of the cross entropy of sigmoid(input) and the target.

    >>> F.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    reduction = _reduction.name(reduction, size_average, reduce)
    logsigmoid = torch.nn.functional.logsigmoid
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    loss = loss.sum(classes) / input.size(classes)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return reduced(loss, ("none", "mean", "sum").index(reduction))


def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """How far other classes come closer to the target class than the margin.

    >>> F.multi_margin_loss(torch.tensor([[1.0, 0.5]]), torch.tensor([0]))
    tensor(0.2500)
    """
    kind = _reduction.chosen(reduction, size_average, reduce)
    return _ops["multi_margin_loss"](input, target, p, margin, weight, kind)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """How far classes that are no targets come closer to a target class than 1. The targets of a
    row end at the first -1.

    >>> F.multilabel_margin_loss(torch.tensor([[0.1, 0.9]]), torch.tensor([[1, -1]]))
    tensor(0.1000)
    """
    return _ops["multilabel_margin_loss"](
        input, target, _reduction.chosen(reduction, size_average, reduce)
    )


_make_overridable(globals())
