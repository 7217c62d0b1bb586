"""Layers and losses under the names, and with the arguments, of torch's ops."""

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import _C

_ops = _C._internal_functions


def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """`nn.functional.batch_norm`, with the arguments of the op.

    >>> x = torch.tensor([[0.0], [2.0]])
    >>> torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-12, False)
    tensor([[-1.],
            [ 1.]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    """`nn.functional.instance_norm`, with the arguments of the op.

    >>> x = torch.tensor([[[0.0, 2.0]]])
    >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """`nn.functional.group_norm`, with the arguments of the op.

    >>> torch.group_norm(torch.tensor([[0.0, 2.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
    """
    return F.group_norm(input, num_groups, weight, bias, eps)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """`nn.functional.binary_cross_entropy_with_logits`, with the reduction as a number.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(1), torch.ones(1))
    tensor([0.6931])
    """
    return _ops["binary_cross_entropy_with_logits"](
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    )


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """`nn.functional.cosine_embedding_loss`, with the reduction as a number.

    >>> torch.cosine_embedding_loss(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1)).abs() < 1e-6
    tensor([True])
    """
    return _ops["cosine_embedding_loss"](input1, input2, target, margin=margin, reduction=reduction)


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """`nn.functional.hinge_embedding_loss`, with the reduction as a number.

    >>> torch.hinge_embedding_loss(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor([0.5000])
    """
    return _ops["hinge_embedding_loss"](input, target, margin=margin, reduction=reduction)


def kl_div(input, target, reduction=0, *, log_target=False):
    """`nn.functional.kl_div`, with the reduction as a number.

    >>> torch.kl_div(torch.zeros(2), torch.ones(2))
    tensor([0., 0.])
    """
    return _ops["kl_div"](input, target, reduction=reduction, log_target=log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """`nn.functional.margin_ranking_loss`, with the reduction as a number.

    >>> torch.margin_ranking_loss(torch.zeros(1), torch.ones(1), torch.ones(1))
    tensor([1.])
    """
    return _ops["margin_ranking_loss"](input1, input2, target, margin=margin, reduction=reduction)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """`nn.functional.poisson_nll_loss`, with the reduction as a number.

    >>> torch.poisson_nll_loss(torch.zeros(1), torch.zeros(1), True, False, 1e-8, 1)
    tensor(1.)
    """
    return _ops["poisson_nll_loss"](input, target, log_input, full, eps=eps, reduction=reduction)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=0
):
    """`nn.functional.triplet_margin_loss`, with the reduction as a number.

    >>> torch.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    tensor([1.])
    """
    return _ops["triplet_margin_loss"](
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction
    )
