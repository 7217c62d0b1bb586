"""Adam, AdamW, and optimizers derived from Adam: Adamax, NAdam, RAdam."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import (
    ListOptimizer,
    check_not_negative,
    count_steps,
    for_all,
    new_step,
    note_number,
    number,
    of_each,
    read_number,
    takes,
)

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


def check_adam(lr, betas, eps, weight_decay, foreach=False, capturable=False):
    """Refuses options that Adam and its kin cannot use."""
    if isinstance(lr, torch.Tensor) and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
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

    def _decayed(self, group, params, grads):
        """The gradients with weight decay in them, unless the decay is done at the parameters."""
        if group["weight_decay"] == 0:
            return grads
        if group.get("decoupled_weight_decay"):
            torch._foreach_mul_(params, 1 - number(group["lr"]) * group["weight_decay"])
            return grads
        return torch._foreach_add(grads, params, alpha=group["weight_decay"])

    def _means(self, group, grads, states):
        """The running means of the gradients, and of their squares."""
        beta1, beta2 = (number(beta) for beta in group["betas"])
        means, squares = of_each(states, "exp_avg"), of_each(states, "exp_avg_sq")
        torch._foreach_lerp_(means, grads, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        return means, squares


class Adam(_AdamLike):
    """Steps by the running mean of the gradient over the root of that of its square.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adam([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    _maximizes = True
    _has_temporaries = False

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
        check_adam(lr, betas, eps, weight_decay, foreach, capturable)
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

    def _update_sparse(self, group, parameter, grad, state):
        raise RuntimeError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def _update(self, group, params, grads, states):
        decoupled = group["decoupled_weight_decay"]
        name = "_fused_adamw_" if decoupled else "_fused_adam_"
        if group["differentiable"] or not (group["fused"] or takes(name, params[0])):
            return self._update_by_parts(group, params, grads, states)
        steps = of_each(states, "step")
        torch._foreach_add_(steps, 1)
        getattr(torch, name)(
            params,
            grads,
            of_each(states, "exp_avg"),
            of_each(states, "exp_avg_sq"),
            of_each(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            steps,
            lr=group["lr"],
            beta1=number(group["betas"][0]),
            beta2=number(group["betas"][1]),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=group["maximize"],
        )

    def _update_by_parts(self, group, params, grads, states):
        lr, counts = number(group["lr"]), count_steps(states)
        beta1, beta2 = (number(beta) for beta in group["betas"])
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        grads = self._decayed(group, params, grads)
        means, squares = self._means(group, grads, states)
        if group["amsgrad"]:
            largest = of_each(states, "max_exp_avg_sq")
            torch._foreach_maximum_(largest, squares)
            squares = largest
        corrections = for_all([(1 - beta2**count) ** 0.5 for count in counts])
        sizes = torch._foreach_div(torch._foreach_sqrt(squares), corrections)
        torch._foreach_add_(sizes, group["eps"])
        rates = for_all([-(lr / (1 - beta1**count)) for count in counts])
        torch._foreach_addcdiv_(params, means, sizes, rates)


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
        lr, (beta1, beta2), counts = number(group["lr"]), group["betas"], count_steps(states)
        grads = self._decayed(group, params, grads)
        means, largest = of_each(states, "exp_avg"), of_each(states, "exp_inf")
        torch._foreach_lerp_(means, grads, 1 - beta1)
        sizes = torch._foreach_abs(grads)
        torch._foreach_add_(sizes, group["eps"])
        torch._foreach_mul_(largest, beta2)
        torch._foreach_maximum_(largest, sizes)
        rates = for_all([-(lr / (1 - beta1**count)) for count in counts])
        torch._foreach_addcdiv_(params, means, largest, rates)


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
        lr, decay, (beta1, beta2) = number(group["lr"]), group["momentum_decay"], group["betas"]
        counts = count_steps(states)

        def mu(count):
            return beta1 * (1.0 - 0.5 * (0.96 ** (count * decay)))

        products = of_each(states, "mu_product")
        values = [
            read_number(product) * mu(count)
            for product, count in zip(products, counts, strict=True)
        ]
        torch._foreach_mul_(products, for_all([mu(count) for count in counts]))
        for product, value in zip(products, values, strict=True):
            note_number(product, value)
        grads = self._decayed(group, params, grads)
        means, squares = self._means(group, grads, states)
        sizes = torch._foreach_div(squares, for_all([1 - beta2**count for count in counts]))
        sizes = torch._foreach_add(torch._foreach_sqrt(sizes), group["eps"])
        pairs = list(zip(counts, values, strict=True))
        rates = [-lr * (1.0 - mu(count)) / (1.0 - value) for count, value in pairs]
        torch._foreach_addcdiv_(params, grads, sizes, for_all(rates))
        rates = [-lr * mu(count + 1) / (1.0 - value * mu(count + 1)) for count, value in pairs]
        torch._foreach_addcdiv_(params, means, sizes, for_all(rates))


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
        lr, (beta1, beta2), counts = number(group["lr"]), group["betas"], count_steps(states)
        grads = self._decayed(group, params, grads)
        means, squares = self._means(group, grads, states)
        # The step is mean * rate / (root of square + eps), or mean * rate before it is trusted:
        # then the size is 1.
        sizes = torch._foreach_add(torch._foreach_sqrt(squares), group["eps"])
        factors = [_rectification(count, beta2) for count in counts]
        trusted = for_all([float(factor is not None) for factor in factors])
        sizes = torch._foreach_pow(sizes, trusted)
        rates = [
            -lr / (1 - beta1**count) * (1 if factor is None else factor)
            for count, factor in zip(counts, factors, strict=True)
        ]
        torch._foreach_addcdiv_(params, means, sizes, for_all(rates))


def _rectification(count, beta2):
    """What RAdam multiplies a step by; None while the mean of squares is too short."""
    limit = 2 / (1 - beta2) - 1  # of the length of the mean of squares
    correction = 1 - beta2**count
    length = limit - 2 * count * (beta2**count) / correction
    if length <= 5.0:
        return None
    ratio = (length - 4) * (length - 2) * limit
    ratio /= (limit - 4) * (limit - 2) * length
    return (ratio * correction) ** 0.5
