"""Layers and losses under the names, and with the arguments, of torch's ops."""

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import _C

_ops = _C._internal_functions
_BAG_MODES = ("sum", "mean", "max")


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


def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """`nn.functional.embedding_bag`, with the mode as a number (sum, mean, max) and with what its
    derivative needs: the bag of each index, the sizes of the bags, the rows that were largest.

    >>> torch.embedding_bag(torch.eye(2), torch.tensor([0, 1]), torch.tensor([0]))[0]
    tensor([[1., 1.]])
    """
    if not 0 <= mode < len(_BAG_MODES):
        raise ValueError("mode has to be one of sum, mean or max")
    result = F.embedding_bag(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=_BAG_MODES[mode],
        sparse=sparse,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    places = torch.arange(indices.size(0), device=indices.device, dtype=offsets.dtype)
    owner = torch.searchsorted(offsets.contiguous(), places, right=True) - 1
    owner = owner.clamp(max=result.size(0) - 1)  # the last offset may be the end
    counted = torch.ones_like(indices) if padding_idx is None else (indices != padding_idx).long()
    if mode == 0:
        sizes = result.new_zeros(result.size(0), dtype=torch.int64)
        return result, owner if padding_idx is not None else owner[:0], sizes, sizes.clone()
    sizes = torch.zeros(result.size(0), dtype=torch.int64, device=indices.device)
    sizes = sizes.index_add(0, owner, counted)
    if mode == 1:
        return result, owner, sizes, sizes.clone()
    return result, owner, sizes, _largest_rows(weight, indices, owner, counted, result.detach())


def _largest_rows(weight, indices, owner, counted, largest):
    """For each bag and column the row of weight that holds the largest value, the first of equal
    ones; 0 for empty bags.
    """
    is_largest = (weight.detach()[indices] == largest[owner]) & counted.bool().unsqueeze(1)
    count = indices.size(0)
    place = torch.arange(count, device=indices.device).unsqueeze(1)
    places = torch.where(is_largest, place, count)
    first = torch.full(largest.shape, count, device=indices.device)
    to = owner.unsqueeze(1).expand_as(places)
    first = first.scatter_reduce(0, to, places, "amin")
    return torch.cat([indices, indices.new_zeros(1)])[first]


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
