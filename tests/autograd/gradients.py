"""Gradients of an op case, by any implementation of torch."""

import numpy as np

from tests.ops.harness import Runtime, as_tuple, map_values


def cotangent(shape, number):
    """Fixed numbers to multiply a gradient by."""
    values = np.random.default_rng(number + 17).uniform(0.5, 1.5, size=shape)
    return np.asarray(values)


class Gradients:
    """The gradients of one call: `first` of its float arguments, `second` of those.

    Entries are arrays, or None where no path leads to an argument.
    """

    def __init__(self, runtime: Runtime, case, arrays, layout, *, order=1, inplace=False):
        torch = runtime.module
        args, kwargs = runtime.arguments(*arrays, layout)
        self.inputs = []

        def leaf(tensor):
            if not tensor.is_floating_point():
                return tensor
            tensor = tensor.detach().requires_grad_()
            self.inputs.append(tensor)
            return tensor

        args = map_values(torch.Tensor, leaf, args)
        kwargs = map_values(torch.Tensor, leaf, kwargs)
        if inplace:
            written = args[0] * 1
            getattr(written, case.inplace_name)(*args[1:], **kwargs)
            results = (written,)
        else:
            results = as_tuple(runtime.call(case, args, kwargs))
        results = [r for r in results if isinstance(r, torch.Tensor)]
        self.requires_grad = [r.requires_grad for r in results]
        self.names = [r.grad_fn.name() if r.grad_fn is not None else None for r in results]
        self.first = self.second = None
        results = [r for r in results if r.requires_grad]
        if not results or not self.inputs:
            return
        grads = torch.autograd.grad(
            results,
            self.inputs,
            [self.weight(runtime, r, i) for i, r in enumerate(results)],
            create_graph=order > 1,
            allow_unused=True,
        )
        self.first = [None if g is None else runtime.to_array(g.detach()) for g in grads]
        grads = [g for g in grads if g is not None and g.requires_grad]
        if order > 1 and grads:
            again = torch.autograd.grad(
                grads,
                self.inputs,
                [self.weight(runtime, g, 50 + i) for i, g in enumerate(grads)],
                allow_unused=True,
            )
            self.second = [None if g is None else runtime.to_array(g) for g in again]

    @staticmethod
    def weight(runtime, tensor, number):
        values = cotangent(tuple(tensor.shape), number)
        made = runtime.module.from_numpy(values).to(tensor.dtype)
        return made if runtime.device == "cpu" else made.to(runtime.device)


def difference(ours, theirs, limits=(1e-9, 1e-10)):
    """What differs between two lists of gradients, or None. Zeros are as good as no path."""
    if ours is None or theirs is None:
        return None if ours is theirs else f"{ours!r:.80} instead of {theirs!r:.80}"
    for number, (got, want) in enumerate(zip(ours, theirs, strict=True)):
        if got is None or want is None:
            present = want if got is None else got
            if present is None or not np.any(present):
                continue
            return f"input {number}: {got!r:.80} instead of {want!r:.80}"
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"input {number}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
        rtol, atol = limits
        wrong = ~np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
        if wrong.any():
            return f"input {number}: {got[wrong][:3]} instead of {want[wrong][:3]}"
    return None
