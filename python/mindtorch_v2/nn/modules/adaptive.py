"""Softmax over very many classes."""

from collections import namedtuple

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.container import ModuleList, Sequential
from mindtorch_v2.nn.modules.linear import Linear
from mindtorch_v2.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over classes sorted by frequency: frequent ones in the head, rare ones in clusters
    of ever smaller vectors.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10])
    >>> layer.log_prob(torch.ones(2, 16)).shape
    torch.Size([2, 20])
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **where),
                    Linear(width, size, bias=False, **where),
                )
            )

    def reset_parameters(self):
        """Gives the parameters first values again."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_, target_):
        if input_.dim() == 2:
            if target_.dim() != 1 or input_.size(0) != target_.size(0):
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
            input, target = input_, target_
        elif input_.dim() == 1:
            if target_.dim() != 0:
                raise RuntimeError("0D target tensor expects 1D input tensor")
            input, target = input_.unsqueeze(0), target_.unsqueeze(0)
        else:
            raise RuntimeError("1D or 2D input tensor expected, multi-target not supported")
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        heads = self.head(input).log_softmax(1)
        # A rare class is at first the cluster that it is in.
        place = target
        output = torch.zeros_like(target, dtype=heads.dtype)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            inside = (target >= low) & (target < high)
            if not bool(inside.any()):
                continue
            place = place.masked_fill(inside, self.shortlist_size + i)
            rows = inside.nonzero().squeeze(1)
            logs = self.tail[i](input.index_select(0, rows)).log_softmax(1)
            chosen = logs.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, chosen)
        output = output + heads.gather(1, place.unsqueeze(1)).squeeze(1)
        loss = -output.mean()
        return _ASMoutput(output if input_.dim() == 2 else output.squeeze(0), loss)

    def _full_log_prob(self, input, heads):
        parts = [heads[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            logs = self.tail[i](input).log_softmax(1)
            parts.append(logs + heads[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, dim=1)

    def log_prob(self, input):
        """The log probability of every class."""
        return self._full_log_prob(input, self.head(input).log_softmax(1))

    def predict(self, input):
        """The most probable class of every row."""
        return self.log_prob(input).argmax(1)
