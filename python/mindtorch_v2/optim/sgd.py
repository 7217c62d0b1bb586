"""Stochastic gradient descent."""

from mindtorch_v2.optim.optimizer import ListOptimizer, check_not_negative, number

__all__ = ["SGD"]


class SGD(ListOptimizer):
    """parameter -= lr * gradient, with momentum if asked for.

    >>> p = torch.nn.Parameter(torch.ones(2))
    >>> p.grad = torch.tensor([1.0, 2.0])
    >>> torch.optim.SGD([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000, 0.8000])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None)):
                group.setdefault(name, value)
            group.setdefault("differentiable", False)
            group.setdefault("fused", False)

    def _state(self, parameter, group):
        # Without momentum there is no state, not even an empty one.
        return self.state[parameter] if group["momentum"] != 0 else None

    def _update(self, group, params, grads, states):
        lr, weight_decay = number(group["lr"]), group["weight_decay"]
        momentum, dampening = group["momentum"], group["dampening"]
        for param, grad, state in zip(params, grads, states, strict=True):
            if weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            if momentum != 0:
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            param.add_(grad, alpha=-lr)
