"""Adam, AdamW, and optimizers derived from Adam: Adamax, NAdam, RAdam."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    ListOptimizer,
    check_not_negative,
    count_step,
    new_step,
    number,
)

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


def check_adam(lr, betas, eps, weight_decay):
    """Refuses options that Adam and its kin cannot use."""
    check_not_negative(lr=lr, eps=eps)
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    check_not_negative(weight_decay=weight_decay)


class _AdamLike(ListOptimizer):
    """Keeps a running mean of the gradient and one more of its size."""

    _second = "exp_avg_sq"

    def _new_state(self, parameter, group):
        return {
            "step": new_step(parameter, group),
            "exp_avg": torch.zeros_like(parameter),
            self._second: torch.zeros_like(parameter),
        }

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for state in self.state.values():
            step = state.get("step")
            if step is not None and not isinstance(step, torch.Tensor):
                state["step"] = torch.tensor(float(step), dtype=torch.float32)

    def _decayed(self, group, param, grad):
        """The gradient with weight decay in it, unless the decay is done at the parameter."""
        if group["weight_decay"] == 0:
            return grad
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - number(group["lr"]) * group["weight_decay"])
            return grad
        return grad.add(param, alpha=group["weight_decay"])


class Adam(_AdamLike):
    """Steps by the running mean of the gradient over the root of that of its square.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adam([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        state = super()._new_state(parameter, group)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = torch.zeros_like(parameter)
        return state

    def _update(self, group, params, grads, states):
        lr, eps = number(group["lr"]), group["eps"]
        beta1, beta2 = (number(beta) for beta in group["betas"])
        for param, grad, state in zip(params, grads, states, strict=True):
            step = count_step(state)
            grad = self._decayed(group, param, grad)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["amsgrad"]:
                square = torch.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
            correction = (1 - beta2**step) ** 0.5
            size = square.sqrt().div_(correction).add_(eps)
            param.addcdiv_(mean, size, value=-(lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam whose weight decay acts on the parameters, not on the gradients.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.zeros(1)
    >>> torch.optim.AdamW([p], lr=0.1, weight_decay=0.5).step()
    >>> p.data
    tensor([0.9500])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(_AdamLike):
    """Adam with the largest gradient instead of the mean of squares.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adamax([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    _second = "exp_inf"

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group, params, grads, states):
        lr, eps = number(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        for param, grad, state in zip(params, grads, states, strict=True):
            step = count_step(state)
            grad = self._decayed(group, param, grad)
            mean, largest = state["exp_avg"], state["exp_inf"]
            mean.lerp_(grad, 1 - beta1)
            torch.maximum(largest.mul_(beta2), grad.abs().add_(eps), out=largest)
            param.addcdiv_(mean, largest, value=-(lr / (1 - beta1**step)))


class NAdam(_AdamLike):
    """Adam with Nesterov's look ahead.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.NAdam([p], lr=0.1).step()
    >>> bool(p.data < 1)
    True
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        check_not_negative(momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        state = super()._new_state(parameter, group)
        product = new_step(parameter, group).add_(1)
        return {"step": state.pop("step"), "mu_product": product, **state}

    def _update(self, group, params, grads, states):
        lr, eps, decay = number(group["lr"]), group["eps"], group["momentum_decay"]
        beta1, beta2 = group["betas"]
        for param, grad, state in zip(params, grads, states, strict=True):
            step = count_step(state)
            grad = self._decayed(group, param, grad)
            mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * decay)))
            mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * decay)))
            state["mu_product"] *= mu
            product = state["mu_product"].item()
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            size = square.div(1 - beta2**step).sqrt_().add_(eps)
            param.addcdiv_(grad, size, value=(-lr * (1.0 - mu) / (1.0 - product)))
            param.addcdiv_(mean, size, value=(-lr * mu_next) / (1.0 - product * mu_next))


class RAdam(_AdamLike):
    """Adam that trusts the mean of squares only once it has seen enough.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.RAdam([p], lr=0.1).step()
    >>> p.data
    tensor([0.7000])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group, params, grads, states):
        lr, eps = number(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        limit = 2 / (1 - beta2) - 1  # of the length of the mean of squares
        for param, grad, state in zip(params, grads, states, strict=True):
            step = count_step(state)
            grad = self._decayed(group, param, grad)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            correction = 1 - beta2**step
            corrected = mean / (1 - beta1**step)
            length = limit - 2 * step * (beta2**step) / correction
            if length > 5.0:
                ratio = (length - 4) * (length - 2) * limit
                ratio /= (limit - 4) * (limit - 2) * length
                size = square.sqrt().add_(eps)
                corrected = corrected.mul_(lr).mul_((correction**0.5) / size).mul_(ratio**0.5)
                param.add_(corrected, alpha=-1.0)
            else:
                param.add_(corrected.mul_(lr), alpha=-1.0)
