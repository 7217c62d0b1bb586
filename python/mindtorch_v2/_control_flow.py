"""Control flow as functions: torch.cond and torch.while_loop. They run as Python does."""

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred holds, else false_fn(*operands).

    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(2),))
    tensor([0., 0.])
    """
    if not isinstance(pred, (bool, torch.Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    _check_operands("operands", operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Calls carried = body_fn(*carried) as long as cond_fn(*carried) holds, and returns it.

    >>> torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))
    (tensor(3),)
    """
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    _check_operands("carried_inputs", carried_inputs)
    carried = carried_inputs
    while _holds(cond_fn(*carried)):
        after = body_fn(*carried)
        if not isinstance(after, tuple) or len(after) != len(carried):
            raise RuntimeError(
                "body_fn should return a tuple with the same length as carried_inputs, but got "
                f"{after}"
            )
        carried = after
    return carried


def _check_operands(name, operands):
    is_flat = isinstance(operands, (tuple, list))
    leaves = _pytree.tree_leaves(operands) if is_flat else ()
    if not is_flat or not all(isinstance(leaf, (torch.Tensor, int, float)) for leaf in leaves):
        raise RuntimeError(
            f"Expect {name} to be a tuple of possibly nested dict/list/tuple that only consists of "
            f"tensor, int or float leaves, but got {operands}."
        )


def _holds(value):
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.dtype == torch.bool:
        return bool(value)
    if isinstance(value, bool):
        return value
    raise RuntimeError(
        f"cond_fn must return a boolean scalar tensor or a boolean but got {type(value)}"
    )
