"""Optimizers that look at parameters as matrices: Adafactor, Muon."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import ListOptimizer, count_steps, new_step, number, of_each

__all__ = ["Adafactor", "Muon"]


class Adafactor(ListOptimizer):
    """Keeps the squares of the gradients of a matrix by row and by column only.

    >>> p = torch.nn.Parameter(torch.ones(2, 3))
    >>> p.grad = torch.ones(2, 3)
    >>> optimizer = torch.optim.Adafactor([p])
    >>> optimizer.step()
    >>> optimizer.state[p]["row_var"].shape, optimizer.state[p]["col_var"].shape
    (torch.Size([2, 1]), torch.Size([1, 3]))
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if not 0.0 <= number(lr):
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        state = {"step": new_step(parameter, {})}
        if parameter.dim() > 1:
            shape = list(parameter.shape)
            state["row_var"] = parameter.new_zeros([*shape[:-1], 1])
            state["col_var"] = parameter.new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = torch.zeros_like(parameter)
        return state

    def _update(self, group, params, grads, states):
        lr, eps1, eps2 = number(group["lr"]), *group["eps"]
        counts = count_steps(states)
        for param, grad, state, step in zip(params, grads, states, counts, strict=True):
            eps = torch.finfo(param.dtype).eps if eps1 is None else eps1
            share = step ** group["beta2_decay"]
            size = param.norm(2).item() / param.numel() ** 0.5
            rate = max(eps2, size) * min(lr, 1 / step**0.5)
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
            update = _squares(grad, state, share, eps).clamp_(min=eps * eps).rsqrt_().mul_(grad)
            length = update.norm(2).item() / (update.numel() ** 0.5 * group["d"])
            param.add_(update, alpha=-rate / max(1.0, length))


def _squares(grad, state, share, eps):
    """The running mean of the squares of the gradient, as far as the state keeps it."""
    if grad.dim() <= 1:
        return state["variance"].lerp_(grad * grad, share).clone()
    rows, cols = state["row_var"], state["col_var"]
    rows.lerp_(torch.norm(grad, 2, -1, keepdim=True).square_().div_(grad.size(-1)), share)
    cols.lerp_(torch.norm(grad, 2, -2, keepdim=True).square_().div_(grad.size(-2)), share)
    return (rows @ cols).div_(rows.mean(-2, keepdim=True).clamp_(min=eps))


class Muon(ListOptimizer):
    """Steps by the momentum of a matrix, made orthogonal.

    >>> p = torch.nn.Parameter(torch.zeros(2, 2))
    >>> p.grad = torch.eye(2)
    >>> torch.optim.Muon([p], lr=0.1).step()
    >>> bool(p.data[0, 0] < 0), p.data[0, 1].item()
    (True, 0.0)
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        if not 0.0 <= number(lr):
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{parameter.size()}"
                    )

    def _new_state(self, parameter, group):
        return {"momentum_buffer": torch.zeros_like(parameter.grad)}

    def _update(self, group, params, grads, states):
        lr, momentum = number(group["lr"]), group["momentum"]
        buffers = of_each(states, "momentum_buffer")
        torch._foreach_lerp_(buffers, grads, 1 - momentum)
        updates = torch._foreach_lerp(grads, buffers, momentum) if group["nesterov"] else buffers
        torch._foreach_mul_(params, 1 - lr * group["weight_decay"])
        for param, update in zip(params, updates, strict=True):
            update = _orthogonalized(
                update, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            factor = _rate_factor(group["adjust_lr_fn"], *param.shape[:2])
            param.add_(update.to(param.dtype), alpha=-lr * factor)


def _orthogonalized(matrix, coefficients, steps, eps):
    """About the orthogonal matrix next to this one, by a few steps of an iteration."""
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        x = x.T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _rate_factor(kind, rows, cols):
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, cols))
    return math.sqrt(max(1, rows / cols))
