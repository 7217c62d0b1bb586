"""torch.autograd.gradcheck: gradients held against differences.

The Jacobian of an output for an input is computed column by column, as the change of the output
when one element of the input moves (numerical), and row by row, by backward passes (analytical).
In fast mode only u' J v is compared, for two random vectors.
"""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2.autograd import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """What gradcheck and gradgradcheck raise when gradients are wrong."""


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of func for those inputs that require them are what differences of
    width `eps` say. If not, an error, or False without `raise_exception`.

    >>> x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError("there is no forward mode to check: check_forward_ad=True")
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    check.require_usable_inputs()
    try:
        check.values(fast_mode)
        check.reproducible()
        if check_batched_grad:
            check.batched_grads()
        check.zero_grads()
        if check_grad_dtypes:
            check.grad_dtypes()
        if check_undefined_grad:
            check.undefined_grads()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradcheck of the gradients of func: for its inputs, and for the gradients of its outputs,
    which are random if not given.

    >>> x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grad_outputs = tuple(_random_grad(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(inputs)

    def gradients(*args):
        inputs, grads = args[:count], args[count:]
        inputs = tuple(x.requires_grad_() if _wants_grad(x) and x.is_leaf else x for x in inputs)
        wanted = tuple(x for x in inputs if _wants_grad(x))
        found = grad(
            _differentiable(func(*inputs)), wanted, grads, create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _as_tuple(values):
    return (values,) if isinstance(values, torch.Tensor) else tuple(values)


def _wants_grad(value):
    return isinstance(value, torch.Tensor) and value.requires_grad


def _differentiable(outputs):
    return tuple(o for o in _as_tuple(outputs) if o.requires_grad)


def _random_grad(output, non_contiguous):
    is_number = output.dtype.is_floating_point or output.dtype.is_complex
    dtype = output.dtype if is_number else torch.float64
    shape = (*output.shape, 2) if non_contiguous else output.shape
    made = torch.rand(shape, dtype=dtype, device=output.device) * 2 - 1
    return (made[..., 0] if non_contiguous else made).requires_grad_()


class _Check:
    """One function with its inputs, and what gradcheck asks of them."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol):
        self.func, self.inputs, self.eps = func, inputs, eps
        self.atol, self.rtol, self.nondet_tol = atol, rtol, nondet_tol
        self.wanted = [i for i, x in enumerate(inputs) if _wants_grad(x)]

    def require_usable_inputs(self):
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of "
                "them have requires_grad=True."
            )
        for i in self.wanted:
            x = self.inputs[i]
            if x.dtype != torch.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point "
                    "or complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex. ",
                    stacklevel=3,
                )
            if any(n > 1 and step == 0 for n, step in zip(x.shape, x.stride(), strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical "
                    "gradients correctly. You should call .contiguous on the input before passing "
                    "it to gradcheck."
                )

    # --- the two Jacobians ---

    def _outputs(self):
        """(what func gives for copies of the inputs, the copies that gradients are wanted of)"""
        inputs = self._inputs()
        return _as_tuple(self.func(*inputs)), [inputs[i] for i in self.wanted]

    def _inputs(self, moved=None, by=None):
        """Copies of the inputs; `moved` says which of them goes `by` how much."""
        result = []
        for i, x in enumerate(self.inputs):
            if isinstance(x, torch.Tensor):
                copied = _copy(x)
                if i == moved:
                    copied += by.to(x.dtype)
                x = copied.requires_grad_(x.requires_grad)
            result.append(x)
        return result

    def _change(self, i, direction):
        """How much every output changes, per length, as input i moves along `direction`."""
        ends = []
        for sign in (1, -1):
            outputs = _as_tuple(self.func(*self._inputs(i, sign * self.eps * direction)))
            ends.append([_copy(o).double() for o in outputs])
        return [(a - b) / (2 * self.eps) for a, b in zip(*ends, strict=True)]

    def _numerical(self, i):
        """The Jacobians (input elements, output elements) of all outputs for input i."""
        x = self.inputs[i]
        columns = []
        for place in range(x.numel()):
            one = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
            one.view(-1)[place] = 1
            columns.append([change.reshape(-1) for change in self._change(i, one)])
        return [torch.stack(rows) for rows in zip(*columns, strict=True)]

    def _analytical(self, output, inputs):
        """The Jacobians (input elements, output elements) of one output for all inputs."""
        rows = []
        for place in range(output.numel()):
            one = torch.zeros_like(output, memory_format=torch.contiguous_format)
            one.view(-1)[place] = 1
            rows.append(self._backward(output, inputs, one))
        return [
            torch.stack([row.reshape(-1).double() for row in column], 1)
            for column in zip(*rows, strict=True)
        ]

    def _backward(self, output, inputs, weights):
        found = grad(output, inputs, weights, retain_graph=True, allow_unused=True)
        result = []
        for g, x in zip(found, inputs, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            result.append(torch.zeros_like(x) if g is None else g)
        return result

    # --- the checks ---

    def values(self, fast):
        outputs, inputs = self._outputs()
        if not any(o.requires_grad for o in outputs):
            self._values_without_graph(outputs)
        elif fast:
            self._values_along_vectors(outputs, inputs)
        else:
            self._all_values(outputs, inputs)

    def _values_without_graph(self, outputs):
        floating = [o.dtype.is_floating_point for o in outputs]
        for i in self.wanted:
            if not any(floating) or self.inputs[i].numel() == 0:
                continue
            for jacobian, is_floating in zip(self._numerical(i), floating, strict=True):
                if is_floating and bool((jacobian.abs() > self.eps).any()):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def _all_values(self, outputs, inputs):
        numerical = [self._numerical(i) if self.inputs[i].numel() else None for i in self.wanted]
        for o, output in enumerate(outputs):
            if not output.requires_grad or output.numel() == 0:
                continue
            analytical = self._analytical(output, inputs)
            for n, (i, found) in enumerate(zip(self.wanted, analytical, strict=True)):
                if numerical[n] is not None:
                    self._compare(o, i, numerical[n][o], found)

    def _compare(self, o, i, numerical, analytical, more=""):
        if torch.allclose(analytical, numerical, self.rtol, self.atol):
            return
        shown = [t.item() if t.dim() == 0 else t for t in (numerical, analytical)]
        raise GradcheckError(
            f"Jacobian mismatch for output {o} with respect to input {i},\n"
            f"numerical:{shown[0]}\nanalytical:{shown[1]}\n{more}"
        )

    def _values_along_vectors(self, outputs, inputs):
        generator = torch.Generator().manual_seed(0)

        def unit(shape, device):
            made = torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu") * 2 - 1
            return (made / made.norm().clamp_min(1e-12)).to(device)

        along = [unit(x.shape, x.device) for x in inputs]
        changes = [self._change(i, v) for i, v in zip(self.wanted, along, strict=True)]
        for o, output in enumerate(outputs):
            if not output.requires_grad or output.numel() == 0:
                continue
            u = unit(output.shape, output.device)
            found = self._backward(output, inputs, u.to(output.dtype))
            for i, v, change, g in zip(self.wanted, along, changes, found, strict=True):
                if v.numel():
                    numerical, analytical = (u * change[o]).sum(), (v * g.double()).sum()
                    self._compare(o, i, numerical, analytical, _FAST_MODE)

    def reproducible(self):
        outputs, inputs = self._outputs()
        for output in _differentiable(outputs):
            weights = _random_grad(output, False).detach()
            first, second = (self._backward(output, inputs, weights) for _ in range(2))
            for a, b in zip(first, second, strict=True):
                if not torch.allclose(a, b, 0.0, self.nondet_tol, equal_nan=True):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values, although analytical "
                        "gradient matches numerical gradient.The tolerance for nondeterminism "
                        f"was {self.nondet_tol}.\nIf that is expected, pass a larger nondet_tol."
                    )

    def batched_grads(self):
        outputs, inputs = self._outputs()
        for output in _differentiable(outputs):
            weights = [_random_grad(output, False).detach() for _ in range(2)]
            single = [self._backward(output, inputs, w) for w in weights]
            together = grad(
                output,
                inputs,
                torch.stack(weights),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
            for n, found in enumerate(together):
                expected = torch.stack([row[n] for row in single])
                if found is not None and not torch.allclose(found, expected, equal_nan=True):
                    raise GradcheckError(
                        "Gradients for a batch of grad_outputs differ from those for one of them "
                        f"at a time, at input {self.wanted[n]}:\n{found}\n{expected}"
                    )

    def _grads_of_zeros(self):
        outputs, inputs = self._outputs()
        outputs = _differentiable(outputs)
        if not outputs:
            return [], []
        zeros = [torch.zeros_like(output) for output in outputs]
        return grad(outputs, inputs, zeros, allow_unused=True), inputs

    def zero_grads(self):
        for g, x in zip(*self._grads_of_zeros(), strict=True):
            if g is None:
                continue
            if not bool((g == 0).all()):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype != x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.device != x.device:
                raise GradcheckError("grad is incorrect device")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def grad_dtypes(self):
        for g, x in zip(*self._grads_of_zeros(), strict=True):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"the gradient of an input of {x.dtype} has another dtype, {g.dtype}"
                )

    def undefined_grads(self):
        """An output without a gradient counts as one with zeros."""
        outputs, _ = self._outputs()
        count = len(_differentiable(outputs))
        for missing in [*([i] for i in range(count)), list(range(count))]:
            outputs, inputs = self._outputs()
            outputs = _differentiable(outputs)
            grads = _WithoutGrads.apply(tuple(missing), *outputs)
            weights = [torch.zeros_like(output) for output in grads]
            found = grad(grads, inputs, weights, allow_unused=True)
            for g in found:
                if g is not None and not bool((g == 0).all()):
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads "
                        "are undefined or zero. Please check if you need to support undefined "
                        "output grads in your backward function."
                    )


def _copy(tensor):
    """The same values, strides and all, out of the graph."""
    return tensor.detach().clone()


class _WithoutGrads(torch.autograd.function.Function):
    """The identity, whose backward drops the gradients at the given places."""

    @staticmethod
    def forward(ctx, missing, *outputs):
        ctx.missing = missing
        return tuple(output.view_as(output) for output in outputs)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *(None if i in ctx.missing else g for i, g in enumerate(grads)))


_FAST_MODE = (
    "\nThese are u' J v of the Jacobian J and two random vectors (fast_mode=True). "
    "fast_mode=False shows J itself.\n"
)
