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
    kind = _reduction.get_enum(_reduction.chosen(reduction, size_average, reduce))
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
    kind = _reduction.get_enum(_reduction.chosen(reduction, size_average, reduce))
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


class _BinaryCrossEntropy(torch.autograd.Function):
    """Of each element. A certain mistake has torch's finite loss and gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, input, target):
        ctx.save_for_backward(input, target)
        hit = target * input.log().clamp_min(-100)
        miss = (1 - target) * (-input).log1p().clamp_min(-100)
        return -(hit + miss)

    @staticmethod
    def backward(ctx, grad):
        input, target = ctx.saved_tensors
        by_input = by_target = None
        if ctx.needs_input_grad[0]:
            by_input = grad * (input - target) / (input * (1 - input)).clamp_min(1e-12)
        if ctx.needs_input_grad[1]:
            by_target = grad * ((-input).log1p() - input.log())
        return by_input, by_target


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
    reduction = _reduction.chosen(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    _check_probabilities(input, "input")
    _check_probabilities(target, "target")
    loss = _BinaryCrossEntropy.apply(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


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
    reduction = _reduction.chosen(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    loss = torch.nn.functional.logsigmoid(input).neg_()
    if pos_weight is not None:
        loss = loss * ((pos_weight - 1) * target + 1)
    # In place, where the result is of the same kind: no backward pass needs the logarithms.
    if loss.dtype == input.dtype == target.dtype and _C._vmap_level() == 0:
        loss = loss.addcmul_(1 - target, input)
    else:
        loss = loss + (1 - target) * input
    return reduced(loss if weight is None else loss * weight, reduction)


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
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.size(0) if input.dim() != 0 else loss.sum()
    return reduced(loss, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> F.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = _reduction.chosen(reduction, size_average, reduce)
    return reduced((-target * input).exp().log1p(), reduction)


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The mean over the classes of the cross entropy of sigmoid(input) and the target.

    >>> F.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    reduction = _reduction.chosen(reduction, size_average, reduce)
    logsigmoid = torch.nn.functional.logsigmoid
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.size(-1), reduction)


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
    reduction = _reduction.chosen(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    rows = input if input.dim() > 1 else input.unsqueeze(0)
    classes = target.view(-1, 1)
    loss = (margin - rows.gather(1, classes) + rows).clamp_min(0)
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * weight[classes]
    loss = loss.scatter(1, classes, 0).sum(1) / rows.size(1)
    return reduced(loss if input.dim() > 1 else loss[0], reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """How far classes that are no targets come closer to a target class than 1. The targets of a
    row end at the first -1.

    >>> F.multilabel_margin_loss(torch.tensor([[0.1, 0.9]]), torch.tensor([[1, -1]]))
    tensor(0.1000)
    """
    reduction = _reduction.chosen(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    counts = (target >= 0).to(input.dtype).cumprod(-1)
    places = target.clamp_min(0)
    is_target = torch.zeros_like(input).scatter_add(-1, places, counts) > 0
    gaps = (1 - input.gather(-1, places).unsqueeze(-1) + input.unsqueeze(-2)).clamp_min(0)
    gaps = gaps * counts.unsqueeze(-1)
    gaps = gaps.masked_fill(is_target.unsqueeze(-2), 0)
    return reduced(gaps.sum((-1, -2)) / input.size(-1), reduction)


_make_overridable(globals())
