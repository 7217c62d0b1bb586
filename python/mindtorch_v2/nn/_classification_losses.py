"""Losses of torch.nn.functional that compare with classes or probabilities."""

import math
import warnings

import mindtorch_v2 as torch
from mindtorch_v2.nn import _reduction
from mindtorch_v2.nn._reduction import reduced


def _class_dim(input):
    return 0 if input.dim() == 1 else 1


def _check_classes(input, target, weight):
    if input.dim() > 1 and input.size(0) != target.size(0):
        raise ValueError(
            f"Expected input batch_size ({input.size(0)}) to match target batch_size "
            f"({target.size(0)})."
        )
    wanted = [*input.shape[: _class_dim(input)], *input.shape[_class_dim(input) + 1 :]]
    if list(target.shape) != wanted:
        if input.dim() <= 2:
            if target.dim() > 1:
                raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
            raise RuntimeError(
                f"size mismatch (got input: {list(input.shape)}, target: {list(target.shape)})"
            )
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    if target.dtype not in (torch.int64, torch.uint8):
        kind = target.type().removeprefix("torch.").removesuffix("Tensor")
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {kind}")
    classes = input.size(_class_dim(input))
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )


def _pick(values, target, dim, kept):
    """values at the class that target names, and 0 where it is not to be kept."""
    safe = target.long() * kept
    try:
        picked = values.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    except (IndexError, RuntimeError):
        wrong = (safe < 0) | (safe >= values.size(dim))
        if not bool(wrong.any()):
            raise
        raise IndexError(f"Target {int(safe[wrong].flatten()[0])} is out of bounds.") from None
    return torch.where(kept, picked, 0)


def _nll(input, target, weight, ignore_index, reduction):
    """(loss, what a mean divides by)."""
    dim = _class_dim(input)
    kept = target != ignore_index
    loss = -_pick(input, target, dim, kept)
    if weight is None:
        return loss, kept.sum() if reduction == "mean" else None
    shape = [1] * input.dim()
    shape[dim] = -1
    factor = _pick(weight.view(shape).expand_as(input), target, dim, kept)
    return loss * factor, factor.sum() if reduction == "mean" else None


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
    reduction = _reduction.chosen(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    loss, divisor = _nll(input, target, weight, ignore_index, reduction)
    return loss.sum() / divisor if reduction == "mean" else reduced(loss, reduction)


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
    reduction = _reduction.chosen(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = _class_dim(input)
    if tuple(input.shape) == tuple(target.shape):
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, ignore_index)
    _check_classes(input, target, weight)
    logs = input.log_softmax(dim)
    loss, divisor = _nll(logs, target, weight, ignore_index, reduction)
    if label_smoothing > 0.0:
        shares = logs
        if weight is not None:
            shape = [1] * input.dim()
            shape[dim] = -1
            shares = logs * weight.view(shape)
        spread = -shares.sum(dim).masked_fill(target == ignore_index, 0)
        loss = loss * (1 - label_smoothing) + spread * (label_smoothing / input.size(dim))
    return loss.sum() / divisor if reduction == "mean" else reduced(loss, reduction)


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


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing, ignore_index):
    dim = _class_dim(input)
    if not target.is_floating_point():
        kind = target.type().removeprefix("torch.").removesuffix("Tensor")
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got " + kind
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / input.size(dim)
    shares = input.log_softmax(dim) * target
    if weight is not None:
        shape = [1] * input.dim()
        shape[dim] = -1
        shares = shares * weight.view(shape)
    if reduction == "none":
        return -shares.sum(dim)
    if reduction == "sum":
        return -shares.sum()
    # A tensor, so that the mean of no rows is nan.
    rows = math.prod(size for i, size in enumerate(input.shape) if i != dim)
    return -shares.sum() / torch.tensor(float(rows), dtype=shares.dtype, device=shares.device)


class _BinaryCrossEntropy(torch.autograd.Function):
    """Of each element. A certain mistake has torch's finite loss and gradient."""

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
    logs = torch.nn.functional.logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - logs
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
