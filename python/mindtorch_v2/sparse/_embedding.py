"""Rows of a table whose gradient is sparse: it holds the rows that were looked up."""

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function
from mindtorch_v2.sparse._tensor import make_coo


class EmbeddingWithSparseGradient(Function):
    """torch.embedding(sparse=True)."""

    @staticmethod
    def forward(ctx, weight, indices, padding_idx):
        ctx.save_for_backward(indices)
        ctx.padding_idx, ctx.size = padding_idx, weight.shape
        return torch.embedding(weight, indices, padding_idx)

    @staticmethod
    def backward(ctx, grad):
        (indices,) = ctx.saved_tensors
        places = indices.reshape(-1)
        rows = grad.reshape(-1, grad.shape[-1])
        if ctx.padding_idx >= 0:
            kept = (places != ctx.padding_idx).nonzero().squeeze(1)
            places, rows = places.index_select(0, kept), rows.index_select(0, kept)
        return make_coo(places.unsqueeze(0).long(), rows, ctx.size), None, None


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False):
    """The rows of weight that the indices name; its gradient is a COO tensor."""
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    return EmbeddingWithSparseGradient.apply(weight, indices, padding_idx)
