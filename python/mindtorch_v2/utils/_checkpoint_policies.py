"""Policies of torch.utils.checkpoint that choose op by op what is kept. They need a mode that sees
every operator below autograd (__torch_dispatch__), and there is none."""

import enum


class CheckpointPolicy(enum.Enum):
    """What a policy says of an operator's result: whether it is kept or computed again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy function is told beside the operator."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """NotImplementedError: a checkpoint computes everything again."""
    raise NotImplementedError(
        "create_selective_checkpoint_contexts: no mode sees single operators here; checkpoint() "
        "without context_fn computes everything again"
    )
