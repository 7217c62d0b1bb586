"""Optimizers that scale every element by the gradients it has had: Adagrad, Adadelta, RMSprop,
Rprop, ASGD, SparseAdam."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.adam import check_adam
from mindtorch_v2.optim.optimizer import (
    ListOptimizer,
    check_not_negative,
    count_step,
    new_step,
    number,
)

__all__ = ["ASGD", "Adadelta", "Adagrad", "RMSprop", "Rprop", "SparseAdam"]


class _Adaptive(ListOptimizer):
    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def _decayed(self, group, param, grad):
        weight_decay = group["weight_decay"]
        return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


class Adagrad(_Adaptive):
    """Steps by the gradient over the root of the sum of its squares.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adagrad([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_not_negative(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay)
        check_not_negative(initial_accumulator_value=initial_accumulator_value, eps=eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._state(parameter, group)

    def _new_state(self, parameter, group):
        first = group["initial_accumulator_value"]
        return {"step": new_step(parameter, {}), "sum": torch.full_like(parameter, first)}

    def share_memory(self):
        """Moves the sums to memory that processes share."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _update(self, group, params, grads, states):
        for param, grad, state in zip(params, grads, states, strict=True):
            step = count_step(state)
            grad = self._decayed(group, param, grad)
            state["sum"].addcmul_(grad, grad, value=1)
            rate = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
            param.addcdiv_(grad, state["sum"].sqrt().add_(group["eps"]), value=-rate)


class Adadelta(_Adaptive):
    """Steps of the size that earlier steps had, by the gradient over its running size.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adadelta([p]).step()
    >>> p.data
    tensor([0.9968])
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_not_negative(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        return {
            "step": new_step(parameter, group),
            "square_avg": torch.zeros_like(parameter),
            "acc_delta": torch.zeros_like(parameter),
        }

    def _update(self, group, params, grads, states):
        lr, rho, eps = number(group["lr"]), group["rho"], group["eps"]
        for param, grad, state in zip(params, grads, states, strict=True):
            count_step(state)
            grad = self._decayed(group, param, grad)
            square, moved = state["square_avg"], state["acc_delta"]
            square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
            delta = moved.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
            moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            param.add_(delta, alpha=-lr)


class RMSprop(_Adaptive):
    """Steps by the gradient over the root of the running mean of its square.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.RMSprop([p], lr=0.01).step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_not_negative(
            lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        state = {
            "step": new_step(parameter, group),
            "square_avg": torch.zeros_like(parameter),
        }
        if group["momentum"] > 0:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = torch.zeros_like(parameter)
        return state

    def _update(self, group, params, grads, states):
        lr, alpha, momentum = number(group["lr"]), group["alpha"], group["momentum"]
        for param, grad, state in zip(params, grads, states, strict=True):
            count_step(state)
            grad = self._decayed(group, param, grad)
            square = state["square_avg"]
            square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"].lerp_(grad, 1 - alpha)
                size = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                size = square.sqrt()
            size.add_(group["eps"])
            if momentum > 0:
                buffer = state["momentum_buffer"].mul_(momentum).addcdiv_(grad, size)
                param.add_(buffer, alpha=-lr)
            else:
                param.addcdiv_(grad, size, value=-lr)


class Rprop(_Adaptive):
    """Steps whose size grows while the sign of the gradient stays, and shrinks when it turns.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Rprop([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_not_negative(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        return {
            "step": new_step(parameter, group),
            "prev": torch.zeros_like(parameter),
            "step_size": torch.full_like(parameter, number(group["lr"])),
        }

    def _update(self, group, params, grads, states):
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        for param, grad, state in zip(params, grads, states, strict=True):
            count_step(state)
            turned = grad.mul(state["prev"])
            factor = torch.ones_like(param).masked_fill_(turned > 0, grow)
            factor.masked_fill_(turned < 0, shrink)
            sizes = state["step_size"].mul_(factor).clamp_(smallest, largest)
            # Where the sign turned the step is left out, and the next sign decides anew.
            grad = grad.masked_fill(turned < 0, 0)
            param.addcmul_(grad.sign(), sizes, value=-1)
            state["prev"].copy_(grad)


class ASGD(_Adaptive):
    """Gradient descent with shrinking steps, and the mean of all parameters on the way.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([1.0])
    >>> optimizer = torch.optim.ASGD([p], lr=0.1)
    >>> optimizer.step()
    >>> optimizer.state[p]["ax"]
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_not_negative(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter, group):
        def single(value):
            return torch.tensor(float(value), dtype=torch.float32)

        return {
            "step": single(0),
            "eta": single(number(group["lr"])),
            "mu": single(1),
            "ax": torch.zeros_like(parameter),
        }

    def _update(self, group, params, grads, states):
        lr, lambd, alpha = number(group["lr"]), group["lambd"], group["alpha"]
        for param, grad, state in zip(params, grads, states, strict=True):
            step, eta, mu = count_step(state), state["eta"].item(), state["mu"].item()
            grad = self._decayed(group, param, grad)
            param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
            mean = state["ax"]
            if mu == 1:
                mean.copy_(param)
            else:
                mean.add_(param.sub(mean).mul_(mu))
            state["eta"].fill_(lr / ((1 + lambd * lr * step) ** alpha))
            state["mu"].fill_(1 / max(1, step - group["t0"]))


class SparseAdam(_Adaptive):
    """Adam of sparse gradients. There are none here: step says so.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.ones(1)
    >>> torch.optim.SparseAdam([p]).step()
    Traceback (most recent call last):
    RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if not 0.0 < number(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        check_adam(lr, betas, eps, 0)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)

    def _update(self, group, params, grads, states):
        raise RuntimeError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
        )
