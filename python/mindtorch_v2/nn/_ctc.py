"""torch.nn.functional.ctc_loss: label sequences that are not aligned with the input."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.nn import _reduction


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """The negative log-likelihood of label sequences, summed over all their alignments.

    >>> even = torch.full((2, 1, 2), 0.5).log()
    >>> F.ctc_loss(even, torch.tensor([[1]]), [2], [1]).exp()
    tensor(1.3333)
    """
    return torch.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        _reduction.get_enum(reduction),
        zero_infinity,
    )


_make_overridable(globals())
