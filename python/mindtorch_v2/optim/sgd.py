"""Stochastic gradient descent."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import ListOptimizer, check_not_negative, number, of_each

__all__ = ["SGD"]


class SGD(ListOptimizer):
    """parameter -= lr * gradient, with momentum if asked for.

    >>> p = torch.nn.Parameter(torch.ones(2))
    >>> p.grad = torch.tensor([1.0, 2.0])
    >>> torch.optim.SGD([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000, 0.8000])
    """

    _maximizes = True
    _has_temporaries = False
    _foreach_needs_no_graph = False

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
        if group["differentiable"]:
            return self._update_by_parts(group, params, grads, states)
        if group["momentum"] == 0:
            return _pass(group, params, grads, [])
        fresh = [state.get("momentum_buffer") is None for state in states]
        if any(fresh) and not all(fresh):
            for is_fresh in (True, False):
                parts = zip(params, grads, states, fresh, strict=True)
                chosen = [part[:3] for part in parts if part[3] == is_fresh]
                self._update(group, *map(list, zip(*chosen, strict=True)))
            return None
        if all(fresh):
            for param, state in zip(params, states, strict=True):
                state["momentum_buffer"] = torch.empty_like(param)
        return _pass(group, params, grads, of_each(states, "momentum_buffer"), all(fresh))

    def _update_sparse(self, group, parameter, grad, state):
        if group["weight_decay"] != 0:
            grad = grad.add(parameter, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone().detach()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        parameter.add_(grad, alpha=-number(group["lr"]))

    def _update_by_parts(self, group, params, grads, states):
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        if group["weight_decay"] != 0:
            grads = torch._foreach_add(grads, params, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            for state, grad in zip(states, grads, strict=True):
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            buffers = of_each(states, "momentum_buffer")
            nesterov = group["nesterov"]
            grads = torch._foreach_add(grads, buffers, alpha=momentum) if nesterov else buffers
        torch._foreach_add_(params, grads, alpha=-number(group["lr"]))


def _pass(group, params, grads, buffers, is_first_step=False):
    torch._fused_sgd_(
        params,
        grads,
        buffers,
        weight_decay=group["weight_decay"],
        momentum=group["momentum"],
        lr=group["lr"],
        dampening=group["dampening"],
        nesterov=group["nesterov"],
        maximize=group["maximize"],
        is_first_step=is_first_step,
    )
