"""Limited-memory BFGS."""

import mindtorch_v2 as torch
from mindtorch_v2.optim.line_search import strong_wolfe
from mindtorch_v2.optim.optimizer import Optimizer, number

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last changes of gradient and parameters. step needs a closure
    that computes the loss and the gradients anew.

    >>> x = torch.nn.Parameter(torch.tensor([3.0]))
    >>> def closure():
    ...     x.grad = 2 * (x.data - 1)
    ...     return (x.data - 1).square().sum()
    >>> _ = torch.optim.LBFGS([x], line_search_fn="strong_wolfe").step(closure)
    >>> x.data
    tensor([1.])
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        if not 0.0 <= number(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # --- all parameters as one vector -----------------------------------------------------------

    def _flat_grad(self):
        return torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params]
        )

    def _move(self, length, direction):
        """parameters += length * direction"""
        start = 0
        for p in self._params:
            part = direction[start : start + p.numel()].view_as(p)
            p.add_(part, alpha=length)
            start += p.numel()

    def _evaluate(self, closure, before, length, direction):
        """(loss, gradient) that many steps from `before`, where the parameters are again after."""
        self._move(length, direction)
        loss, grad = float(closure()), self._flat_grad()
        for p, value in zip(self._params, before, strict=True):
            p.copy_(value)
        return loss, grad

    # --- the step -----------------------------------------------------------------------------

    def step(self, closure):
        """Runs up to max_iter iterations; returns the loss at the start."""
        evaluate = _with_grad(closure)
        with torch.no_grad():
            return self._iterate(evaluate)

    def _iterate(self, closure):
        group = self.param_groups[0]
        lr, change = number(group["lr"]), group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        optimal = grad.abs().max() <= group["tolerance_grad"]
        if optimal:
            return first_loss
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            length = lr
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / float(grad.abs().sum())) * lr
            slope = float(grad.dot(direction))
            if slope > -change:
                state["t"] = length
                break
            count = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                before = [p.clone() for p in self._params]

                def probe(length, before=before, direction=direction):
                    return self._evaluate(closure, before, length, direction)

                loss, grad, length, count = strong_wolfe(
                    probe, length, direction, loss, grad, slope
                )
                self._move(length, direction)
                optimal = grad.abs().max() <= group["tolerance_grad"]
            else:
                self._move(length, direction)
                if iterations != group["max_iter"]:
                    loss, count = float(closure()), 1
                    grad = self._flat_grad()
                    optimal = grad.abs().max() <= group["tolerance_grad"]
            state["d"], state["t"] = direction, length
            evaluations += count
            state["func_evals"] += count
            if (
                iterations == group["max_iter"]
                or evaluations >= group["max_eval"]
                or optimal
                or direction.mul(length).abs().max() <= change
                or abs(loss - state["prev_loss"]) < change
            ):
                break
        return first_loss

    def _direction(self, state, grad, history_size):
        """Minus the gradient times the inverse Hessian, as far as the history knows it."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"] = [], [], []
            state["H_diag"], state["al"] = 1, None
            return grad.neg()
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y = grad.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        curvature = y.dot(s)
        if curvature > 1e-10:
            if len(dirs) == history_size:
                for past in (dirs, steps, ro):
                    past.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / y.dot(y)
        q = grad.neg()
        shares = [None] * len(dirs)
        for i in reversed(range(len(dirs))):
            shares[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i] * -shares[i])
        q.mul_(state["H_diag"])
        for i in range(len(dirs)):
            q.add_(steps[i] * (shares[i] - dirs[i].dot(q) * ro[i]))
        state["al"] = shares
        return q


def _with_grad(closure):
    def evaluate():
        with torch.enable_grad():
            return closure()

    return evaluate
