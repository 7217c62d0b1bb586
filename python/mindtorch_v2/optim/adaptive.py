"""Optimizers that scale every element by the gradients it has had: Adagrad, Adadelta, RMSprop,
Rprop, ASGD, SparseAdam."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.optim.adam import check_adam
from mindtorch_v2.optim.optimizer import (
    ListOptimizer,
    check_not_negative,
    count_steps,
    for_all,
    new_step,
    number,
    of_each,
    read_number,
    write_number,
)

__all__ = ["ASGD", "Adadelta", "Adagrad", "RMSprop", "Rprop", "SparseAdam"]


class _Adaptive(ListOptimizer):
    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def _decayed(self, group, params, grads):
        weight_decay = group["weight_decay"]
        return torch._foreach_add(grads, params, alpha=weight_decay) if weight_decay else grads


def _rows(grad):
    """(where the values of a sparse gradient are, as an index; the values), each place once."""
    grad = grad.coalesce()
    return tuple(grad.indices().unbind(0)), grad.values()


class Adagrad(_Adaptive):
    """Steps by the gradient over the root of the sum of its squares.

    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([3.0])
    >>> torch.optim.Adagrad([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    _maximizes = True
    _has_temporaries = False

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
        if group["differentiable"]:
            return self._update_by_parts(group, params, grads, states)
        steps = of_each(states, "step")
        torch._foreach_add_(steps, 1)
        torch._fused_adagrad_(
            params,
            grads,
            of_each(states, "sum"),
            steps,
            lr=group["lr"],
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )

    def _update_sparse(self, group, parameter, grad, state):
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        (count,) = count_steps([state])
        rate = number(group["lr"]) / (1 + (count - 1) * group["lr_decay"])
        places, values = _rows(grad)
        sums = state["sum"]
        sums.index_put_(places, values * values, accumulate=True)
        sizes = sums[places].sqrt_().add_(group["eps"])
        parameter.index_put_(places, values / sizes * -rate, accumulate=True)

    def _update_by_parts(self, group, params, grads, states):
        lr, counts = number(group["lr"]), count_steps(states)
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        grads = self._decayed(group, params, grads)
        sums = of_each(states, "sum")
        torch._foreach_addcmul_(sums, grads, grads)
        sizes = torch._foreach_add(torch._foreach_sqrt(sums), group["eps"])
        rates = [-lr / (1 + (count - 1) * group["lr_decay"]) for count in counts]
        torch._foreach_addcdiv_(params, grads, sizes, for_all(rates))


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
        count_steps(states)
        grads = self._decayed(group, params, grads)
        squares, moved = of_each(states, "square_avg"), of_each(states, "acc_delta")
        torch._foreach_mul_(squares, rho)
        torch._foreach_addcmul_(squares, grads, grads, 1 - rho)
        sizes = torch._foreach_sqrt(torch._foreach_add(squares, eps))
        deltas = torch._foreach_sqrt(torch._foreach_add(moved, eps))
        deltas = torch._foreach_mul(torch._foreach_div(deltas, sizes), grads)
        torch._foreach_mul_(moved, rho)
        torch._foreach_addcmul_(moved, deltas, deltas, 1 - rho)
        torch._foreach_add_(params, deltas, alpha=-lr)


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
        count_steps(states)
        grads = self._decayed(group, params, grads)
        squares = of_each(states, "square_avg")
        torch._foreach_mul_(squares, alpha)
        torch._foreach_addcmul_(squares, grads, grads, 1 - alpha)
        if group["centered"]:
            means = of_each(states, "grad_avg")
            torch._foreach_lerp_(means, grads, 1 - alpha)
            squares = torch._foreach_addcmul(squares, means, means, -1)
        sizes = torch._foreach_sqrt(squares)
        if group["differentiable"]:
            sizes = torch._foreach_add(sizes, group["eps"])
        else:
            torch._foreach_add_(sizes, group["eps"])
        if momentum > 0:
            buffers = of_each(states, "momentum_buffer")
            torch._foreach_mul_(buffers, momentum)
            torch._foreach_addcdiv_(buffers, grads, sizes)
            torch._foreach_add_(params, buffers, alpha=-lr)
        else:
            torch._foreach_addcdiv_(params, grads, sizes, -lr)


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
        count_steps(states)
        sizes, before = of_each(states, "step_size"), of_each(states, "prev")
        turns = torch._foreach_mul(grads, before)
        torch._foreach_sign_(turns)
        kept, turned = torch._foreach_clamp_min(turns, 0), torch._foreach_clamp_max(turns, 0)
        # grow where the sign stayed, shrink where it turned, else 1
        factors = torch._foreach_mul(kept, grow - 1)
        torch._foreach_add_(factors, turned, alpha=1 - shrink)
        torch._foreach_add_(factors, 1)
        torch._foreach_mul_(sizes, factors)
        torch._foreach_clamp_min_(sizes, smallest)
        torch._foreach_clamp_max_(sizes, largest)
        # Where the sign turned the step is left out, and the next sign decides anew.
        torch._foreach_add_(turned, 1)
        grads = torch._foreach_mul(grads, turned)
        torch._foreach_addcmul_(params, torch._foreach_sign(grads), sizes, -1)
        torch._foreach_copy_(before, grads)


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
        counts = count_steps(states)
        etas = [read_number(eta) for eta in of_each(states, "eta")]
        mus = [read_number(mu) for mu in of_each(states, "mu")]
        grads = self._decayed(group, params, grads)
        torch._foreach_mul_(params, for_all([1 - lambd * eta for eta in etas]))
        torch._foreach_add_(params, torch._foreach_mul(grads, for_all([-eta for eta in etas])))
        means = of_each(states, "ax")
        torch._foreach_lerp_(means, params, for_all(mus))
        for count, state in zip(counts, states, strict=True):
            write_number(state["eta"], lr / ((1 + lambd * lr * count) ** alpha))
            write_number(state["mu"], 1 / max(1, count - group["t0"]))


class SparseAdam(_Adaptive):
    """Adam of sparse gradients: only the places that have one change, and only their means.

    >>> table = torch.nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
    >>> table(torch.tensor([1])).sum().backward()
    >>> torch.optim.SparseAdam(table.parameters(), lr=0.1).step()
    >>> table.weight.data.flatten()
    tensor([1.0000, 0.9000, 1.0000])
    """

    _maximizes = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if not 0.0 < number(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        check_adam(lr, betas, eps, 0)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        sparse = [
            [at, place]
            for at, group in enumerate(self.param_groups)
            for place, parameter in enumerate(group["params"])
            if parameter.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )

    def _new_state(self, parameter, group):
        return {
            "step": 0,
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }

    def _update(self, group, params, grads, states):
        raise RuntimeError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
        )

    def _update_sparse(self, group, parameter, grad, state):
        state["step"] += 1
        places, values = _rows(grad)
        if values.numel() == 0:
            return
        moments = []
        for name, now, beta in zip(
            ("exp_avg", "exp_avg_sq"), (values, values * values), group["betas"], strict=True
        ):
            before = state[name][places]
            moments.append(before + (now - before) * (1 - beta))
            state[name].index_put_(places, moments[-1])
        mean, square = moments
        scale, square_scale = (1 - beta ** state["step"] for beta in group["betas"])
        rate = number(group["lr"]) * math.sqrt(square_scale) / scale
        change = mean / square.sqrt_().add_(group["eps"]) * -rate
        parameter.index_put_(places, change, accumulate=True)
